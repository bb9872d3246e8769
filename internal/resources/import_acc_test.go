package resources_test

import (
	"fmt"
	"testing"

	acc "github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// importing is a resource as it is imported: Terraform compares each attribute of the imported state with that of the
// applied one, but those that only a configuration knows.
func importing(address string, onlyConfigured ...string) acc.TestStep {
	return acc.TestStep{
		ResourceName: address, ImportState: true, ImportStateId: "acme", ImportStateVerify: true,
		ImportStateVerifyIgnore: onlyConfigured,
	}
}

func TestAccImportDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.migration(t, "00001_one.sql", "CREATE TABLE one (id INTEGER)")
	config := databaseConfig(`plan = "pro"`)
	w.run(t,
		acc.TestStep{Config: config},
		importing(databaseAddress, "plan", "migrations_path", "deletion_protection", "on_destroy"),
		acc.TestStep{
			ResourceName: databaseAddress, ImportState: true, ImportStateId: "globex",
			ExpectError: failsWith(tenant.CodeNotFound, "globex"),
		},
		acc.TestStep{
			ResourceName: databaseAddress, ImportState: true, ImportStateId: "No label",
			ExpectError: failsWith(tenant.CodeInvalidTenantID, "No label"),
		},
	)
}

func TestAccImportDomain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(t,
		acc.TestStep{Config: domainConfig(`custom_hostname = "books.acme.example"`)},
		importing(domainAddress, "plan"),
	)
}

func TestAccImportIdentity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := identityConfig("")
	w.run(t, acc.TestStep{Config: config}, importing(identityAddress))
}

func TestAccImportSeed(t *testing.T) {
	t.Parallel()
	w := seeded(t)
	w.run(t, acc.TestStep{Config: seedConfig("keep", twoAccounts)}, importing(seedAddress))
}

// TestAccClaimDatabase takes over a database that was there before, under a name of its own.
func TestAccClaimDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.migration(t, "00001_theirs.sql", "CREATE TABLE theirs (id INTEGER)")
	w.migration(t, "00002_ours.sql", "CREATE TABLE ours (id INTEGER)")
	write(t, w.path("databases/.keep"))
	w.exec(t, "databases/acme-prod.db", "CREATE TABLE theirs (id INTEGER); INSERT INTO theirs VALUES (7)")
	claim := func(extra string) string {
		return databaseConfig(fmt.Sprintf("plan = \"pro\"\nname = \"acme-prod\"\n%s", extra))
	}
	w.run(
		t,
		acc.TestStep{
			Config:      claim(""),
			PlanOnly:    true,
			ExpectError: failsWith(tenant.CodeForeign, "acme-prod"),
		},
		acc.TestStep{
			Config: databaseConfig("plan = \"pro\"\nname = \"nothing-there\"\nclaim = true"), PlanOnly: true,
			ExpectError: failsWith(tenant.CodeNotFound, "nothing-there"),
		},
		acc.TestStep{
			Config: claim("claim = true\nbaseline_version = 1"),
			Check: func(*terraformState) error {
				warned := w.warned()
				require.Contains(t, warned, "carries nobody's mark")
				require.Contains(t, warned, "00002_ours.sql will be run")
				require.NotContains(t, warned, "00001_theirs.sql will be run")
				return nil
			},
		},
		importing(
			databaseAddress,
			"plan",
			"claim",
			"baseline_version",
			"migrations_path",
			"deletion_protection",
			"on_destroy",
		),
		acc.TestStep{
			Config: claim(""),
			ConfigPlanChecks: planned(
				plancheck.ExpectResourceAction(databaseAddress, plancheck.ResourceActionUpdate),
			),
		},
		acc.TestStep{
			Config: databaseConfig("plan = \"pro\"\nname = \"another\""), PlanOnly: true,
			ExpectError: failsWith(tenant.CodePlacementChange, "another"),
		},
	)
}
