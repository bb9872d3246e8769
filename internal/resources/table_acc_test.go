package resources_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	acc "github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// column is what a resource owes: each resource in each case, without a hole.
type column struct {
	address string
	world   func(*testing.T) *world
	config  string
	updated string
	// configured are the attributes that only a configuration knows, so that an import leaves them at their defaults.
	configured []string
	vanish     func(*testing.T, *world)
	drift      func(*testing.T, *world)
	drifted    string // the configuration under which drift is a planned change
	foreign    func(*testing.T, *world)
}

func columns() []column {
	return []column{
		{
			address: databaseAddress, world: seeded, config: databaseConfig(`plan = "pro"`),
			updated:    databaseConfig("plan = \"pro\"\nread_only = true"),
			configured: []string{"plan", "migrations_path", "deletion_protection", "on_destroy"},
			vanish: func(t *testing.T, w *world) {
				t.Helper()
				drop := tenant.Disposal{How: tenant.Drop}
				require.NoError(
					t,
					w.databases.Delete(t.Context(), "acme", embeddedPlace, drop, tenant.NoJournal{}),
				)
			},
			drift: func(t *testing.T, w *world) {
				t.Helper()
				w.edit(t, "DELETE FROM goose_db_version WHERE version_id = 1; DROP TABLE accounts")
			},
			drifted: databaseConfig(`plan = "pro"`),
			foreign: func(t *testing.T, w *world) {
				t.Helper()
				_, err := w.rogue(t).databases.Ensure(t.Context(),
					tenant.DatabaseSpec{Tenant: "acme", Place: embeddedPlace}, tenant.NoJournal{})
				require.NoError(t, err)
			},
		},
		{
			address: domainAddress,
			world:   newWorld,
			config:  domainConfig(""),
			updated: domainConfig("ttl = 60"),
			vanish: func(t *testing.T, w *world) {
				t.Helper()
				require.NoError(t, w.meta.Backends.Domains.Delete(t.Context(), "acme", tenant.NoJournal{}))
			},
			drift: func(t *testing.T, w *world) {
				t.Helper()
				require.NoError(t, w.records.Delete(t.Context(), "acme", ours, "CNAME", tenant.NoJournal{}))
			},
			drifted: domainConfig(""),
			foreign: func(t *testing.T, w *world) {
				t.Helper()
				record := tenant.Record{
					Name:   ours,
					Type:   "A",
					Values: []string{"192.0.2.1"},
					TTL:    tenant.DefaultTTL,
				}
				require.NoError(t, w.rogue(t).records.Ensure(t.Context(), "acme", record, tenant.NoJournal{}))
			},
		},
		{
			address: identityAddress,
			world:   newWorld,
			config:  identityConfig(""),
			updated: identityConfig(`redirect_path = "/cb"`),
			vanish: func(t *testing.T, w *world) {
				t.Helper()
				require.NoError(
					t,
					w.identities.Delete(t.Context(), "acme", tenant.IdentityNames{}, tenant.NoJournal{}),
				)
			},
			drift:   func(t *testing.T, w *world) { t.Helper(); w.exec(t, "identity.db", "DELETE FROM applications") },
			drifted: identityConfig(""),
			foreign: func(t *testing.T, w *world) {
				t.Helper()
				changedIdentity(t, w.rogue(t), func(*tenant.IdentitySpec) {})
			},
		},
		{
			address: seedAddress, world: seeded, config: seedConfig("keep", twoAccounts),
			updated: seedConfig("keep", `{ code = "1000", name = "Bank", note = null }`),
			vanish: func(t *testing.T, w *world) {
				t.Helper()
				require.NoError(t,
					w.databases.Seeds().Delete(t.Context(), "acme", embeddedPlace, tenant.NoJournal{}))
			},
			drift: func(t *testing.T, w *world) {
				t.Helper()
				w.edit(t, "UPDATE accounts SET name = 'x' WHERE code = '1000'")
			},
			drifted: seedConfig("restore", twoAccounts),
			foreign: func(t *testing.T, w *world) {
				t.Helper()
				rogue := w.rogue(t)
				_, err := rogue.databases.Ensure(t.Context(),
					tenant.DatabaseSpec{Tenant: "acme", Place: embeddedPlace}, tenant.NoJournal{})
				require.NoError(t, err)
			},
		},
	}
}

// rows are the cases. Each applies in a world of its own.
func rows() map[string]func(*testing.T, column) {
	does := func(c column, what plancheck.ResourceActionType) acc.ConfigPlanChecks {
		return planned(plancheck.ExpectResourceAction(c.address, what))
	}
	return map[string]func(*testing.T, column){
		"1 create": func(t *testing.T, c column) {
			t.Helper()
			c.world(t).
				run(t, acc.TestStep{Config: c.config, ConfigPlanChecks: does(c, plancheck.ResourceActionCreate)})
		},
		"2 second plan empty": func(t *testing.T, c column) {
			t.Helper()
			c.world(t).run(t, acc.TestStep{Config: c.config},
				acc.TestStep{Config: c.config, ConfigPlanChecks: planned(plancheck.ExpectEmptyPlan())})
		},
		"3 update": func(t *testing.T, c column) {
			t.Helper()
			c.world(t).run(t, acc.TestStep{Config: c.config},
				acc.TestStep{Config: c.updated, ConfigPlanChecks: does(c, plancheck.ResourceActionUpdate)})
		},
		"4 import": func(t *testing.T, c column) {
			t.Helper()
			c.world(t).run(t, acc.TestStep{Config: c.config}, importing(c.address, c.configured...))
		},
		"5 disappears": func(t *testing.T, c column) {
			t.Helper()
			w := c.world(t)
			w.run(t, acc.TestStep{Config: c.config}, acc.TestStep{
				PreConfig: func() { c.vanish(t, w) }, Config: c.config,
				ConfigPlanChecks: does(c, plancheck.ResourceActionCreate),
			})
		},
		"6 drift": func(t *testing.T, c column) {
			t.Helper()
			w := c.world(t)
			w.run(t, acc.TestStep{Config: c.drifted}, acc.TestStep{
				PreConfig: func() { c.drift(t, w) }, Config: c.drifted,
				ConfigPlanChecks: does(c, plancheck.ResourceActionUpdate),
			})
		},
		"7 foreign refused": func(t *testing.T, c column) {
			t.Helper()
			w := c.world(t)
			c.foreign(t, w)
			w.run(
				t,
				acc.TestStep{Config: c.config, PlanOnly: true, ExpectError: failsWith(tenant.CodeForeign)},
			)
		},
	}
}

// TestAccTable runs every resource through every case and prints the table.
func TestAccTable(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	passed := map[string]bool{}
	t.Run("cells", func(t *testing.T) {
		for name, run := range rows() {
			for _, c := range columns() {
				cell := name + " " + c.address
				t.Run(cell, func(t *testing.T) {
					t.Parallel()
					run(t, c)
					mu.Lock()
					defer mu.Unlock()
					passed[cell] = !t.Failed()
				})
			}
		}
	})
	t.Log("\n" + table(passed))
	require.Len(t, passed, len(rows())*len(columns()), "the table has no hole")
}

func table(passed map[string]bool) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%-22s", "")
	for _, c := range columns() {
		fmt.Fprintf(&out, "%-18s", strings.TrimSuffix(c.address, ".this"))
	}
	for _, name := range slices.Sorted(maps.Keys(rows())) {
		fmt.Fprintf(&out, "\n%-22s", name)
		for _, c := range columns() {
			mark := "FAILED"
			if passed[name+" "+c.address] {
				mark = "ok"
			}
			fmt.Fprintf(&out, "%-18s", mark)
		}
	}
	return out.String()
}
