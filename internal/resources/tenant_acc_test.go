package resources_test

import (
	"fmt"
	"strings"
	"testing"

	acc "github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// wholeTenant wires the four resources as the module does.
const wholeTenant = `
resource "tenant_database" "this" {
  tenant_id           = local.tenant_id
  plan                = local.plan
  migrations_path     = local.migrations_path
  deletion_protection = false
}

resource "tenant_domain" "this" {
  tenant_id       = local.tenant_id
  plan            = local.plan
  custom_hostname = local.custom_hostname
}

resource "tenant_identity" "this" {
  tenant_id     = local.tenant_id
  display_name  = "Acme"
  hostnames     = tenant_domain.this.usable_hostnames
  administrator = { email = "ada@acme.example", name = "Ada" }
}

resource "tenant_seed" "this" {
  tenant_id = local.tenant_id
  database = {
    pool      = tenant_database.this.pool
    isolation = tenant_database.this.isolation
    name      = tenant_database.this.name
  }
  tables = [{
    name = "accounts"
    key  = ["code"]
    rows = [{ code = "admin", name = tenant_identity.this.administrator_id }]
  }]
}
`

const knownTenant = `
locals {
  tenant_id       = "acme"
  plan            = "pro"
  migrations_path = "migrations"
  custom_hostname = "portal.acme.example"
}
`

const unknownTenant = `
resource "terraform_data" "tenant" {
  input = { tenant_id = "acme", plan = "pro", migrations_path = "migrations", custom_hostname = "portal.acme.example" }
}

locals {
  tenant_id       = terraform_data.tenant.output.tenant_id
  plan            = terraform_data.tenant.output.plan
  migrations_path = terraform_data.tenant.output.migrations_path
  custom_hostname = terraform_data.tenant.output.custom_hostname
}
`

func redirects(hostnames ...string) plancheck.PlanCheck {
	var uris []knownvalue.Check
	for _, hostname := range hostnames {
		uris = append(uris, text("https://"+hostname+"/auth/callback"))
	}
	return plancheck.ExpectKnownValue(
		identityAddress,
		tfjsonpath.New("redirect_uris"),
		knownvalue.SetExact(uris),
	)
}

func TestAccTenantOfWhichNothingIsKnownBeforehand(t *testing.T) {
	t.Parallel()
	w := seeded(t)
	w.run(t, acc.TestStep{
		Config:           unknownTenant + wholeTenant,
		ConfigPlanChecks: planned(plancheck.ExpectUnknownValue(databaseAddress, tfjsonpath.New("name"))),
	})
}

func TestAccTenantIsVerifiedInOneApply(t *testing.T) {
	t.Parallel()
	w := seeded(t)
	w.run(t,
		acc.TestStep{Config: knownTenant + wholeTenant},
		acc.TestStep{
			PreConfig:        func() { w.prove(t, "acme") },
			Config:           knownTenant + wholeTenant,
			ConfigPlanChecks: planned(plans("verification", text("verified")), redirects(ours, theirs)),
		},
	)
}

func TestAccTenantIsAdoptedWholeAfterALostState(t *testing.T) {
	t.Parallel()
	w := seeded(t)
	addresses := []string{seedAddress, identityAddress, domainAddress, databaseAddress}
	var create []plancheck.PlanCheck
	lost := ""
	for _, address := range addresses {
		create = append(create, action(address, plancheck.ResourceActionCreate))
		lost += forgotten(address)
	}
	var before tenant.Identity
	w.run(t,
		acc.TestStep{Config: knownTenant + wholeTenant, Check: func(*terraformState) (err error) {
			before, err = w.identities.Read(t.Context(), "acme", tenant.IdentityNames{})
			return err
		}},
		acc.TestStep{PreConfig: func() { w.prove(t, "acme") }, Config: knownTenant + wholeTenant},
		acc.TestStep{Config: lost},
		acc.TestStep{
			Config: knownTenant + wholeTenant, ConfigPlanChecks: planned(create...),
			Check: func(*terraformState) error {
				after, err := w.identities.Read(t.Context(), "acme", tenant.IdentityNames{})
				require.NoError(t, err)
				require.Equal(t, before.OrganizationID, after.OrganizationID)
				require.Equal(t, before.AdministratorID, after.AdministratorID)
				claim, err := w.bindings.ReadClaim(t.Context(), "acme", theirs)
				require.Equal(t, tenant.ClaimVerified, claim.State)
				return err
			},
		},
	)
}

func TestAccTenantWhosePoolIsOpenUntilTheApply(t *testing.T) {
	t.Parallel()
	w := seeded(t)
	pool := w.meta.Backends.Pools[0]
	second := w.pool(t, "second", w.meta.Backends.Keyring)
	other := tenant.Pool{Name: "second", Isolation: pool.Isolation, Databases: second, Seeds: second.Seeds()}
	w.meta.Backends.Pools = tenant.Pools{pool, other}
	w.run(t,
		acc.TestStep{Config: knownTenant + wholeTenant},
		acc.TestStep{
			PreConfig: func() {
				w.migration(t, "00002_more.sql", "CREATE TABLE more (id INTEGER)")
			},
			Config:           knownTenant + wholeTenant,
			ConfigPlanChecks: planned(action(seedAddress, plancheck.ResourceActionNoop)),
		},
	)
}

func TestAccTenantWhoseProviderIsKnownLate(t *testing.T) {
	t.Parallel()
	w := seeded(t)
	late := func(input, rest string) string {
		return fmt.Sprintf(`
resource "terraform_data" "server" {
  input            = %q
  triggers_replace = %q
}

provider "tenant" {
  wait_for = terraform_data.server.output
}
%s`, input, input, rest)
	}
	changed := strings.NewReplacer(
		`"Acme"`,
		`"Acme Corp"`,
		"= local.custom_hostname",
		"= local.custom_hostname\n  ttl = 60",
	)
	w.run(t,
		acc.TestStep{
			Config:           late("one", knownTenant+wholeTenant),
			ConfigPlanChecks: planned(plancheck.ExpectUnknownValue(databaseAddress, tfjsonpath.New("name"))),
		},
		acc.TestStep{
			PreConfig: func() {
				w.meta.Backends.Upstreams = map[string]string{"": "app:80"}
			},
			Config: late("two", knownTenant+changed.Replace(wholeTenant)),
			ConfigPlanChecks: planned(
				action(databaseAddress, plancheck.ResourceActionNoop),
				action(domainAddress, plancheck.ResourceActionUpdate),
				action(identityAddress, plancheck.ResourceActionUpdate),
			),
		},
	)
}
