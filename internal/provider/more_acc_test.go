package provider_test

import (
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-testing/echoprovider"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/acctest"
	"github.com/tenantry/terraform-provider-tenant/internal/localid"
	"github.com/tenantry/terraform-provider-tenant/internal/provider"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const acmeCredentials = `
ephemeral "tenant_identity_credentials" "this" {
  tenant_id   = "acme"
  client_id   = tenant_identity.this.client_id
  credentials = tenant_identity.this.credentials
}

provider "echo" {
  data = ephemeral.tenant_identity_credentials.this
}

resource "echo" "this" {}
`

// TestAccCredentials has the application's secret derived by the ephemeral resource: it is the one that the identity
// system accepts, before and after a rotation with another key.
func TestAccCredentials(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	project := acctest.NewProject(t)
	factories := project.Factories(t, provider.Options{})
	factories["echo"] = echoprovider.NewProviderServer()
	backends := project.Backends(t)
	secretIs := func() resource.TestStep {
		return resource.TestStep{
			Config: acctest.ProviderBlock + acme + acmeCredentials,
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue(
					"echo.this",
					tfjsonpath.New("data").
						AtMapKey("client_secret"),
					knownvalue.StringFunc(func(secret string) error {
						store, ok := backends.Identities.(*localid.Store)
						require.True(t, ok)
						return store.AuthenticateApplication(
							t.Context(),
							"test-eu_acme",
							tenant.NewSecret(secret),
						)
					}),
				),
			},
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories,
		Steps: []resource.TestStep{
			secretIs(),
			{
				PreConfig: func() {
					project.WriteKeys(t, acctest.KeyText("k2", 8), acctest.KeyText(acctest.KeyID, 7))
				},
				Config: acctest.ProviderBlock + acme + acmeCredentials, PlanOnly: true,
			},
			{
				PreConfig: func() { project.WriteKeys(t, acctest.KeyText(acctest.KeyID, 6)) },
				Config:    acctest.ProviderBlock + acme + acmeCredentials, PlanOnly: true,
				ExpectError: failsWith(tenant.CodeUnknownKey, "acme"),
			},
			{
				PreConfig: func() { project.WriteKeys(t, acctest.KeyText(acctest.KeyID, 7)) },
				Config:    acctest.ProviderBlock + acme, PlanOnly: true, ExpectNonEmptyPlan: true,
			},
		},
	})
}

// TestAccFunctionsAndDataSources compares what is computed and what is looked up with what was made.
func TestAccFunctionsAndDataSources(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	project := acctest.NewProject(t)
	project.Write(t, "migrations/00001_one.sql", "-- +goose Up\nCREATE TABLE one (id INTEGER);\n")
	output := func(name string, want knownvalue.Check) statecheck.StateCheck {
		return statecheck.ExpectKnownOutputValue(name, want)
	}
	same := knownvalue.Bool(true)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: project.Factories(t, provider.Options{}),
		Steps: []resource.TestStep{
			{
				Config:      acctest.ProviderBlock + `output "x" { value = provider::tenant::database_name("UP", "acme") }`,
				ExpectError: failsWithWords("UP"),
			},
			{Config: acctest.ProviderBlock + acme},
			{
				Config: acctest.ProviderBlock + acme + `
data "tenant_tenant" "acme" {
  tenant_id = "acme"
}
data "tenant_tenant" "nobody" {
  tenant_id = "nobody"
}
data "tenant_pools" "all" {}
data "tenant_migrations" "ours" {
  path = "migrations"
}
output "hostname" {
  value = provider::tenant::default_hostname("app.localhost.", "acme") == tenant_domain.this.default_hostname
}
output "client_id" {
  value = provider::tenant::identity_name("test-eu", "acme") == data.tenant_tenant.acme.client_id
}
output "database" {
  value = provider::tenant::database_name("test-eu", "acme")
}
output "good" {
  value = provider::tenant::is_tenant_id("acme")
}
output "bad" {
  value = provider::tenant::is_tenant_id("www")
}
output "seen" {
  value = data.tenant_tenant.acme.default_hostname
}
output "nobody" {
  value = data.tenant_tenant.nobody.organization_id == null
}
output "pools" {
  value = keys(data.tenant_pools.all.pools)
}
output "version" {
  value = data.tenant_migrations.ours.version
}
`,
				ConfigStateChecks: []statecheck.StateCheck{
					output(
						"hostname",
						same,
					),
					output("client_id", same),
					output("nobody", same),
					output("good", same),
					output("bad", knownvalue.Bool(false)),
					output("database", knownvalue.StringExact("test-eu_acme")),
					output("seen", knownvalue.StringExact("acme.app.localhost")),
					output(
						"pools",
						knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("embedded")}),
					),
					output("version", knownvalue.Int64Exact(1)),
				},
			},
		},
	})
}

// TestAccListAndAction asks for what only Terraform 1.14 and newer ask for, over the protocol.
func TestAccListAndAction(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	project := acctest.NewProject(t, acctest.ProviderBlock, acme)
	project.Apply(t, provider.Options{})
	server, ok := provider.NewServer(provider.Options{BaseDir: project.Dir}).(interface {
		tfprotov6.ProviderServer
		tfprotov6.ListResourceServer
		tfprotov6.ActionServer
	})
	require.True(t, ok)
	configured, err := server.ConfigureProvider(t.Context(), acctest.Config(
		`{"installation": "test-eu", "embedded": {"path": ".tenant", "zone": "app.localhost"}}`))
	require.NoError(t, err)
	require.Empty(t, configured.Diagnostics)

	empty := tftypes.Object{AttributeTypes: map[string]tftypes.Type{}}
	config, err := tfprotov6.NewDynamicValue(empty, tftypes.NewValue(empty, map[string]tftypes.Value{}))
	require.NoError(t, err)
	listed, err := server.ListResource(t.Context(), &tfprotov6.ListResourceRequest{
		TypeName: "tenant_identity", Config: &config, IncludeResource: true, Limit: 10,
	})
	require.NoError(t, err)
	results := slices.Collect(listed.Results)
	require.Len(t, results, 1)
	require.Empty(t, results[0].Diagnostics)
	require.Equal(t, "acme", results[0].DisplayName)
	require.NotNil(t, results[0].Resource)

	argument := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"tenant_id": tftypes.String}}
	config, err = tfprotov6.NewDynamicValue(argument, tftypes.NewValue(argument, map[string]tftypes.Value{
		"tenant_id": tftypes.NewValue(tftypes.String, "acme"),
	}))
	require.NoError(t, err)
	invoked, err := server.InvokeAction(t.Context(), &tfprotov6.InvokeActionRequest{
		ActionType: "tenant_resend_invitation", Config: &config,
	})
	require.NoError(t, err)
	events := slices.Collect(invoked.Events)
	completed, ok := events[len(events)-1].Type.(tfprotov6.CompletedInvokeActionEventType)
	require.True(t, ok)
	require.Len(t, completed.Diagnostics, 1)
	require.Contains(t, completed.Diagnostics[0].Detail, "tenantctl mail --resend acme")
}
