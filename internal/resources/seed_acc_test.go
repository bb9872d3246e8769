package resources_test

import (
	"database/sql"
	"fmt"
	"testing"

	acc "github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver that edits rows behind the seed's back

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const seedAddress = "tenant_seed.this"

const twoAccounts = `{ code = "1000", name = "Cash", note = null }, { code = "2000", name = "Debt", note = "old" }`

func seedConfig(onEdit, rows string) string {
	return databaseConfig(`plan = "pro"`) + fmt.Sprintf(`
resource "tenant_seed" "this" {
  tenant_id = "acme"
  on_edit   = %q
  database = {
    pool      = tenant_database.this.pool
    isolation = tenant_database.this.isolation
    name      = tenant_database.this.name
  }
  tables = [{ name = "accounts", key = ["code"], rows = [%s] }]
}
`, onEdit, rows)
}

func seeded(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.migration(
		t,
		"00001_accounts.sql",
		"CREATE TABLE accounts (code TEXT PRIMARY KEY, name TEXT NOT NULL, note TEXT)",
	)
	return w
}

// edit runs a statement in the tenant's database, as its application would.
func (w *world) edit(t *testing.T, statement string) {
	t.Helper()
	w.exec(t, "databases/"+databaseName+".db", statement)
}

// exec runs a statement in one of the world's files, behind its owner's back.
func (w *world) exec(t *testing.T, file, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", w.path(file))
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), statement)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

func (w *world) name(t *testing.T, code string) string {
	t.Helper()
	db, err := sql.Open("sqlite", w.path("databases/"+databaseName+".db"))
	require.NoError(t, err)
	var name string
	require.NoError(
		t,
		db.QueryRowContext(t.Context(), "SELECT name FROM accounts WHERE code = ?", code).Scan(&name),
	)
	require.NoError(t, db.Close())
	return name
}

func edited(lines ...string) []statecheck.StateCheck {
	return []statecheck.StateCheck{
		statecheck.ExpectKnownValue(seedAddress, tfjsonpath.New("edited_rows"), texts(lines...)),
	}
}

func TestAccSeed(t *testing.T) {
	t.Parallel()
	w := seeded(t)
	noop := planned(action(seedAddress, plancheck.ResourceActionNoop))
	w.run(t,
		acc.TestStep{Config: seedConfig("keep", twoAccounts), ConfigStateChecks: edited()},
		acc.TestStep{
			PreConfig: func() {
				w.warned()
				w.edit(t, "UPDATE accounts SET name = 'Petty cash' WHERE code = '1000'")
			},
			Config: seedConfig("keep", twoAccounts), ConfigPlanChecks: noop,
			Check: func(*terraformState) error {
				require.Contains(t, w.warned(), "accounts[code=1000]: name")
				require.Equal(t, "Petty cash", w.name(t, "1000"))
				return nil
			},
		},
		acc.TestStep{
			Config: seedConfig("error", twoAccounts), PlanOnly: true,
			ExpectError: failsWith(tenant.CodeSeedEdited, "accounts[code=1000]: name"),
		},
		acc.TestStep{
			Config: seedConfig(
				"keep",
				twoAccounts+`, { code = "3000", name = "Sales", note = null }`,
			),
			ConfigPlanChecks: planned(action(seedAddress, plancheck.ResourceActionUpdate)),
			Check: func(*terraformState) error {
				require.Equal(t, "Petty cash", w.name(t, "1000"))
				require.Equal(t, "Sales", w.name(t, "3000"))
				return nil
			},
			ConfigStateChecks: edited("accounts[code=1000]: name"),
		},
		acc.TestStep{
			Config: seedConfig(
				"restore",
				twoAccounts+`, { code = "3000", name = "Sales", note = null }`,
			),
			ConfigPlanChecks: planned(
				plancheck.ExpectKnownValue(seedAddress, tfjsonpath.New("edited_rows"), texts()),
			),
			Check: func(*terraformState) error {
				require.Equal(t, "Cash", w.name(t, "1000"))
				return nil
			},
		},
		acc.TestStep{
			Config:            seedConfig("restore", `{ code = "2000", name = "Debt", note = "old" }`),
			ConfigStateChecks: edited(),
		},
		forget(seedAddress),
	)
}

func TestAccSeedIsAdoptedAndDisappears(t *testing.T) {
	t.Parallel()
	w := seeded(t)
	config := seedConfig("keep", twoAccounts)
	create := planned(action(seedAddress, plancheck.ResourceActionCreate))
	w.run(t,
		acc.TestStep{Config: config},
		acc.TestStep{Config: databaseConfig(`plan = "pro"`) + forgotten(seedAddress)},
		acc.TestStep{
			PreConfig: func() { w.edit(t, "DELETE FROM accounts WHERE code = '2000'") },
			Config:    config, ConfigPlanChecks: create,
			ConfigStateChecks: edited("accounts[code=2000]: deleted"),
		},
		acc.TestStep{
			PreConfig: func() {
				require.NoError(
					t,
					w.databases.Seeds().Delete(t.Context(), "acme", embeddedPlace, tenant.NoJournal{}),
				)
			},
			Config: config, ConfigPlanChecks: create, ConfigStateChecks: edited(),
		},
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
			Config: config, ConfigPlanChecks: create,
		},
		acc.TestStep{Config: databaseConfig(`plan = "pro"`), Check: func(*terraformState) error {
			require.Equal(t, "Cash", w.name(t, "1000"), "a destroyed seed leaves the tenant's rows")
			return nil
		}},
	)
}

func TestAccSeedWithAnAdministratorWhoIsNotYetKnown(t *testing.T) {
	t.Parallel()
	w := seeded(t)
	config := identityConfig("") + seedConfig("keep",
		twoAccounts+`, { code = "admin", name = tenant_identity.this.administrator_id, note = null }`)
	w.run(t,
		acc.TestStep{Config: config, Check: func(*terraformState) error {
			seen, err := w.identities.Read(t.Context(), "acme", tenant.IdentityNames{})
			require.Equal(t, seen.AdministratorID, w.name(t, "admin"))
			return err
		}},
		acc.TestStep{Config: config, ConfigPlanChecks: planned(plancheck.ExpectEmptyPlan())},
	)
}

func TestAccSeedIsChecked(t *testing.T) {
	t.Parallel()
	w := seeded(t)
	for _, rows := range []string{
		`{ code = "1", name = "a" }, { code = "1", name = "b" }`, `{ name = "a" }`, `{ code = null, name = "a" }`,
	} {
		w.run(t, acc.TestStep{
			Config: seedConfig(
				"keep",
				rows,
			),
			PlanOnly:    true,
			ExpectError: failsWith(tenant.CodeSeedInvalid, "accounts"),
		})
	}
	w.run(
		t,
		acc.TestStep{
			Config:      seedConfig("keep", `{ code = "1", nonsense = "a" }`),
			ExpectError: failsWith(tenant.CodeSeedInvalid, "nonsense"),
		},
		acc.TestStep{
			Config: seedConfig(
				"keep",
				twoAccounts,
			),
			ConfigPlanChecks: planned(action(seedAddress, plancheck.ResourceActionCreate)),
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue(
					seedAddress,
					tfjsonpath.New("kept_rows"),
					knownvalue.ListSizeExact(0),
				),
			},
		},
	)
}

func TestAccSeedRefusesAForeignOne(t *testing.T) {
	t.Parallel()
	w := seeded(t)
	w.run(t,
		acc.TestStep{Config: seedConfig("keep", twoAccounts)},
		acc.TestStep{
			Config: fmt.Sprintf(`
resource "tenant_seed" "this" {
  tenant_id = "globex"
  tables    = []
  database  = { pool = "embedded", isolation = "database", name = %q }
}
`, databaseName) + databaseConfig(`plan = "pro"`),
			PlanOnly: true, ExpectError: failsWith(tenant.CodeTenantIDChanged, "acme"),
		},
		acc.TestStep{
			Config: seedConfig("keep", twoAccounts) + fmt.Sprintf(`
resource "tenant_seed" "thief" {
  tenant_id = "globex"
  tables    = []
  database  = { pool = "embedded", isolation = "database", name = %q }
}
`, databaseName),
			PlanOnly: true, ExpectError: failsWith(tenant.CodeForeign, databaseName),
		},
	)
}
