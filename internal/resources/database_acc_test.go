package resources_test

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	acc "github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	databaseAddress = "tenant_database.this"
	databaseName    = installation + "_acme"
)

var (
	sha256Form    = regexp.MustCompile(`^[0-9a-f]{64}$`)
	embeddedPlace = tenant.Place{Pool: "embedded", Isolation: tenant.IsolationDatabase, Name: databaseName}
)

func databaseConfig(arguments string) string { return databaseFrom("migrations", arguments) }

func databaseFrom(folder, arguments string) string {
	return fmt.Sprintf(`
resource "tenant_database" "this" {
  tenant_id           = "acme"
  migrations_path     = %q
  deletion_protection = false
  on_destroy          = "drop"
  %s
}
`, folder, arguments)
}

func (w *world) migration(t *testing.T, name, statement string) {
	t.Helper()
	write(t, w.path("migrations/"+name), "-- +goose Up", statement+";")
}

func migrations(names ...string) plancheck.PlanCheck {
	want := map[string]knownvalue.Check{}
	for _, name := range names {
		want[name] = knownvalue.StringRegexp(sha256Form)
	}
	return plancheck.ExpectKnownValue(
		databaseAddress,
		tfjsonpath.New("migrations"),
		knownvalue.MapExact(want),
	)
}

func action(address string, action plancheck.ResourceActionType) plancheck.PlanCheck {
	return plancheck.ExpectResourceAction(address, action)
}

func TestAccDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.migration(t, "00010_ten.sql", "CREATE TABLE ten (id INTEGER)")
	plain := databaseConfig(`plan = "pro"`)
	w.run(t,
		acc.TestStep{
			Config: plain,
			ConfigPlanChecks: planned(
				migrations("00010_ten.sql"),
				plancheck.ExpectKnownValue(
					databaseAddress,
					tfjsonpath.New("pool"),
					knownvalue.StringExact("embedded"),
				),
				plancheck.ExpectKnownValue(
					databaseAddress,
					tfjsonpath.New("name"),
					knownvalue.StringExact(databaseName),
				),
			),
		},
		acc.TestStep{
			PreConfig: func() { w.migration(t, "00020_twenty.sql", "CREATE TABLE twenty (id INTEGER)") },
			Config:    plain,
			ConfigPlanChecks: planned(
				migrations("00010_ten.sql", "00020_twenty.sql"),
				action(databaseAddress, plancheck.ResourceActionUpdate),
			),
		},
		acc.TestStep{
			PreConfig: func() { w.migration(t, "00010_ten.sql", "CREATE TABLE ten (id TEXT)") },
			Config:    plain, PlanOnly: true,
			ExpectError: failsWith(tenant.CodeMigrationEdited, "00010_ten.sql"),
		},
		acc.TestStep{
			PreConfig: func() {
				w.migration(t, "00010_ten.sql", "CREATE TABLE ten (id INTEGER)")
				w.migration(t, "00015_fifteen.sql", "CREATE TABLE fifteen (id INTEGER)")
			},
			Config: plain, PlanOnly: true,
			ExpectError: failsWith(tenant.CodeMigrationOrder, "00015_fifteen.sql"),
		},
		acc.TestStep{
			PreConfig: func() {
				require.NoError(t, os.Remove(w.path("migrations/00015_fifteen.sql")))
				require.NoError(t, os.Rename(w.path("migrations"), w.path("elsewhere")))
			},
			Config:           databaseFrom("elsewhere", `plan = "pro"`),
			ConfigPlanChecks: planned(migrations("00010_ten.sql", "00020_twenty.sql")),
		},
	)
}

func TestAccDatabaseFailedCreateLeavesNoState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.migration(t, "00001_good.sql", "CREATE TABLE good (id INTEGER)")
	w.migration(t, "00002_bad.sql", "CREATE TABLE bad")
	w.run(
		t,
		acc.TestStep{
			Config:      databaseConfig(`plan = "pro"`),
			ExpectError: failsWith(tenant.CodeMigrationFailed, "00002_bad.sql"),
		},
		acc.TestStep{
			PreConfig:        func() { w.migration(t, "00002_bad.sql", "CREATE TABLE bad (id INTEGER)") },
			Config:           databaseConfig(`plan = "pro"`),
			ConfigPlanChecks: planned(action(databaseAddress, plancheck.ResourceActionCreate)),
		},
		acc.TestStep{
			PreConfig: func() {
				w.migration(t, "00003_good.sql", "CREATE TABLE three (id INTEGER)")
				w.migration(t, "00004_bad.sql", "CREATE TABLE four")
			},
			Config:      databaseConfig(`plan = "pro"`),
			ExpectError: failsWith(tenant.CodeMigrationFailed, "00004_bad.sql"),
		},
		acc.TestStep{
			PreConfig: func() { w.migration(t, "00004_bad.sql", "CREATE TABLE four (id INTEGER)") },
			Config:    databaseConfig(`plan = "pro"`),
			ConfigPlanChecks: planned(
				migrations("00001_good.sql", "00002_bad.sql", "00003_good.sql", "00004_bad.sql"),
				action(databaseAddress, plancheck.ResourceActionUpdate),
			),
		},
	)
}

func TestAccDatabaseIsProtected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.migration(t, "00001_one.sql", "CREATE TABLE one (id INTEGER)")
	protected := `
resource "tenant_database" "this" {
  tenant_id       = "acme"
  plan            = "pro"
  migrations_path = "migrations"
}
`
	w.run(
		t,
		acc.TestStep{Config: protected},
		acc.TestStep{
			Config:      protected,
			Destroy:     true,
			ExpectError: failsWith(tenant.CodeProtected, databaseName),
		},
		acc.TestStep{
			Config:      "locals {}\n",
			PlanOnly:    true,
			ExpectError: failsWith(tenant.CodeProtected, databaseName),
		},
		acc.TestStep{
			PreConfig: func() {
				_, err := w.databases.Read(t.Context(), "acme", embeddedPlace)
				require.NoError(t, err)
				require.NoError(t, os.RemoveAll(w.path("migrations")), "no destroy reads the folder")
				w.meta.LiftProtection = true
			},
			Config: "locals {}\n",
		},
		acc.TestStep{PreConfig: func() {
			_, err := w.databases.Read(t.Context(), "acme", embeddedPlace)
			require.ErrorIs(t, err, tenant.ErrAbsent)
		}, Config: "locals {}\n"},
	)
}

func TestAccDatabaseDisappearsAndIsAdopted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.migration(t, "00001_one.sql", "CREATE TABLE one (id INTEGER)")
	plain := databaseConfig(`plan = "pro"`)
	w.run(
		t,
		acc.TestStep{Config: plain},
		acc.TestStep{
			PreConfig: func() {
				require.NoError(
					t,
					w.databases.Delete(
						t.Context(),
						"acme",
						embeddedPlace,
						tenant.Disposal{How: tenant.Drop},
						tenant.NoJournal{},
					),
				)
			},
			Config: plain, ConfigPlanChecks: planned(action(databaseAddress, plancheck.ResourceActionCreate)),
		},
		forget(databaseAddress),
		acc.TestStep{
			Config:           plain,
			ConfigPlanChecks: planned(action(databaseAddress, plancheck.ResourceActionCreate)),
		},
		acc.TestStep{
			Config: databaseConfig("plan = \"pro\"\nread_only = true"),
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue(
					databaseAddress,
					tfjsonpath.New("read_only"),
					knownvalue.Bool(true),
				),
			},
		},
		acc.TestStep{
			Config: `
resource "tenant_database" "this" {
  tenant_id           = "globex"
  plan                = "pro"
  deletion_protection = false
}
`, PlanOnly: true, ExpectError: failsWith(tenant.CodeTenantIDChanged, "acme"),
		},
	)
}

func TestAccDatabaseRefusesAForeignOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.migration(t, "00001_one.sql", "CREATE TABLE one (id INTEGER)")
	rogue := w.rogue(t)
	_, err := rogue.databases.Ensure(
		t.Context(),
		tenant.DatabaseSpec{Tenant: "acme", Place: embeddedPlace},
		tenant.NoJournal{},
	)
	require.NoError(t, err)
	before, err := os.ReadFile(w.path("databases/" + databaseName + ".db"))
	require.NoError(t, err)
	w.run(t, acc.TestStep{
		Config: databaseConfig(`plan = "pro"`), PlanOnly: true,
		ExpectError: failsWith(tenant.CodeForeign, databaseName),
	})
	after, err := os.ReadFile(w.path("databases/" + databaseName + ".db"))
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestAccDatabaseRefusesAForeignOneInItsPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.migration(t, "00001_one.sql", "CREATE TABLE one (id INTEGER)")
	rogue := w.rogue(t)
	swap := func(from, to *world) {
		require.NoError(
			t,
			from.databases.Delete(
				t.Context(),
				"acme",
				embeddedPlace,
				tenant.Disposal{How: tenant.Drop},
				tenant.NoJournal{},
			),
		)
		_, err := to.databases.Ensure(
			t.Context(),
			tenant.DatabaseSpec{Tenant: "acme", Place: embeddedPlace},
			tenant.NoJournal{},
		)
		require.NoError(t, err)
	}
	w.run(t,
		acc.TestStep{Config: databaseConfig(`plan = "pro"`)},
		acc.TestStep{
			PreConfig: func() { swap(w, rogue) }, Config: databaseConfig(`plan = "pro"`), PlanOnly: true,
			ExpectError: failsWith(tenant.CodeForeign, databaseName),
		},
		acc.TestStep{PreConfig: func() { swap(rogue, w) }, Config: databaseConfig(`plan = "pro"`)},
	)
}

func TestAccDatabasePlacement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.migration(t, "00001_one.sql", "CREATE TABLE one (id INTEGER)")
	ring := w.meta.Backends.Keyring
	small, large := w.pool(t, "small", ring), w.pool(t, "large", ring)
	w.meta.Backends.Pools = tenant.Pools{
		{
			Name:       "a",
			Isolation:  tenant.IsolationDatabase,
			MaxTenants: 1,
			Plans:      []string{"pro"},
			Databases:  small,
			Seeds:      small.Seeds(),
		},
		{
			Name:       "b",
			Isolation:  tenant.IsolationDatabase,
			MaxTenants: 1,
			Plans:      []string{"pro", "basic"},
			Databases:  large,
			Seeds:      large.Seeds(),
		},
		{
			Name:      "c",
			Isolation: tenant.IsolationDatabase,
			Plans:     []string{"enterprise"},
			Databases: w.databases,
			Seeds:     w.databases.Seeds(),
		},
	}
	occupy := func(pool string) {
		found, err := w.meta.Backends.Pools.Find(pool)
		require.NoError(t, err)
		_, err = found.Databases.Ensure(t.Context(), tenant.DatabaseSpec{
			Tenant: "globex",
			Place: tenant.Place{
				Pool:      pool,
				Isolation: tenant.IsolationDatabase,
				Name:      installation + "_globex",
			},
		}, tenant.NoJournal{})
		require.NoError(t, err)
	}
	occupy("a")
	inB := []statecheck.StateCheck{
		statecheck.ExpectKnownValue(databaseAddress, tfjsonpath.New("pool"), knownvalue.StringExact("b")),
	}
	w.run(t,
		acc.TestStep{
			Config: databaseConfig(`plan = "pro"`), ConfigStateChecks: inB,
			ConfigPlanChecks: planned(plancheck.ExpectUnknownValue(databaseAddress, tfjsonpath.New("pool"))),
		},
		acc.TestStep{Config: databaseConfig(`plan = "basic"`), ConfigStateChecks: inB},
		acc.TestStep{
			Config: databaseConfig(`plan = "enterprise"`), PlanOnly: true,
			ExpectError: failsWith(tenant.CodePlacementChange, `"b"`, `"c"`),
		},
		acc.TestStep{
			Config: databaseConfig("plan = \"pro\"\npool = \"a\""), PlanOnly: true,
			ExpectError: failsWith(tenant.CodePlacementChange, `"b"`, `"a"`),
		},
		acc.TestStep{Config: databaseConfig("plan = \"pro\"\npool = \"b\"")},
		forget(databaseAddress),
		acc.TestStep{Config: databaseConfig(`plan = "pro"`), ConfigStateChecks: inB},
		acc.TestStep{Config: "locals {}\n"},
		acc.TestStep{
			PreConfig: func() { occupy("b") },
			Config:    databaseConfig(`plan = "pro"`), ExpectError: failsWith(tenant.CodePoolFull, "acme"),
		},
		acc.TestStep{
			Config: databaseConfig(
				`plan = "unheard-of"`,
			),
			PlanOnly:    true,
			ExpectError: failsWith(tenant.CodeNoPool, "unheard-of"),
		},
	)
}

func TestAccTenantIDIsChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range []string{"www", "Acme", "-a", "a_b"} {
		w.run(t, acc.TestStep{
			Config:      fmt.Sprintf("resource \"tenant_domain\" \"this\" {\n  tenant_id = %q\n}\n", id),
			PlanOnly:    true,
			ExpectError: failsWith(tenant.CodeInvalidTenantID),
		})
	}
}
