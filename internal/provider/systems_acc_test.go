package provider_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/acctest"
	"github.com/tenantry/terraform-provider-tenant/internal/provider"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// TestAccZoneServers makes, changes, repairs and removes a tenant's hostname on real name servers, without embedded
// files but the edge's table.
func TestAccZoneServers(t *testing.T) {
	t.Parallel()
	for name, fresh := range map[string]func(*testing.T) (zone, dns string){
		"BIND": acctest.BINDZone, "PowerDNS": acctest.PowerDNSZone,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.Acceptance(t)
			zone, dns := fresh(t)
			project := acctest.NewProject(t)
			var backends *tenant.Backends
			options := provider.Options{
				Capture: func(captured provider.Captured) { backends = captured.Backends },
			}
			config := func(ttl int) string {
				return fmt.Sprintf(`
provider "tenant" {
  installation = "test-eu"
  dns = %s
  embedded = { path = ".tenant", zone = %q }
}
resource "tenant_domain" "this" {
  tenant_id = "acme"
  ttl       = %d
}
`, dns, zone, ttl)
			}
			there := func(*terraform.State) error {
				record, err := backends.Domains.Records.Read(
					context.Background(),
					"acme",
					"acme."+zone,
					"CNAME",
				)
				require.Equal(t, []string{"edge." + zone}, record.Values)
				return err
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: project.Factories(t, options),
				Steps: []resource.TestStep{
					{Config: config(60), Check: there},
					{Config: config(120), Check: there},
					{
						PreConfig: func() {
							require.NoError(t, backends.Domains.Records.Delete(
								context.Background(), "acme", "acme."+zone, "CNAME", tenant.NoJournal{}))
						},
						Config: config(120), Check: there,
						ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
							plancheck.ExpectResourceAction(
								"tenant_domain.this",
								plancheck.ResourceActionUpdate,
							),
						}},
					},
				},
				CheckDestroy: func(*terraform.State) error {
					_, err := backends.Domains.Records.Read(
						context.Background(),
						"acme",
						"acme."+zone,
						"CNAME",
					)
					require.ErrorIs(t, err, tenant.ErrAbsent)
					return nil
				},
			})
		})
	}
}
