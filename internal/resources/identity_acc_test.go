package resources_test

import (
	"fmt"
	"strings"
	"testing"

	acc "github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const identityAddress = "tenant_identity.this"

type terraformState = terraform.State

func identityConfig(arguments string) string {
	return fmt.Sprintf(`
resource "tenant_identity" "this" {
  tenant_id     = "acme"
  display_name  = "Acme"
  hostnames     = ["acme.app.localhost"]
  administrator = { email = "ada@acme.example", name = "Ada" }
  roles         = ["viewer", "accountant"]
  %s
}
`, arguments)
}

func changedIdentity(t *testing.T, w *world, change func(*tenant.IdentitySpec)) {
	t.Helper()
	spec := tenant.IdentitySpec{
		Tenant:        "acme",
		DisplayName:   "Acme",
		RedirectURIs:  []string{"https://acme.app.localhost/auth/callback"},
		Roles:         []string{"accountant", "viewer"},
		SecretVersion: 1,
		Administrator: tenant.Administrator{Email: "ada@acme.example", Name: "Ada"},
	}
	change(&spec)
	_, err := w.identities.Ensure(t.Context(), spec, tenant.NoJournal{})
	require.NoError(t, err)
}

func TestAccIdentity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	update := planned(action(identityAddress, plancheck.ResourceActionUpdate))
	var first tenant.Identity
	remember := func(*terraformState) (err error) {
		first, err = w.identities.Read(ctx, "acme", tenant.IdentityNames{})
		return err
	}
	same := func(*terraformState) error {
		seen, err := w.identities.Read(ctx, "acme", tenant.IdentityNames{})
		require.Equal(t, first, seen)
		return err
	}
	w.run(t,
		acc.TestStep{
			Config: identityConfig(""),
			Check:  remember,
			ConfigPlanChecks: planned(
				plancheck.ExpectKnownValue(
					identityAddress,
					tfjsonpath.New("redirect_uris"),
					knownvalue.SetExact(
						[]knownvalue.Check{text("https://acme.app.localhost/auth/callback")},
					),
				),
			),
		},
		acc.TestStep{
			PreConfig: func() {
				changedIdentity(t, w, func(spec *tenant.IdentitySpec) {
					spec.DisplayName, spec.Roles = "Evil", []string{"root"}
					spec.RedirectURIs = append(spec.RedirectURIs, "https://evil.example/cb")
					spec.Administrator.Name = "Eve"
				})
			},
			Config: identityConfig(""), ConfigPlanChecks: update, Check: same,
		},
		acc.TestStep{
			PreConfig: func() {
				changedIdentity(
					t,
					w,
					func(spec *tenant.IdentitySpec) { spec.Administrator.Email = "eve@evil.example" },
				)
			},
			Config: identityConfig(""), ConfigPlanChecks: update,
		},
		acc.TestStep{
			PreConfig: func() {
				no := false
				changedIdentity(t, w, func(spec *tenant.IdentitySpec) { spec.Enabled = &no })
			},
			Config: identityConfig(
				"",
			),
			ConfigPlanChecks: planned(action(identityAddress, plancheck.ResourceActionNoop)),
		},
		forget(identityAddress),
		acc.TestStep{
			Config: identityConfig(""),
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue(
					identityAddress,
					tfjsonpath.New("enabled"),
					knownvalue.Bool(false),
				),
			},
		},
		acc.TestStep{Config: identityConfig("enabled = true"), ConfigPlanChecks: update},
		acc.TestStep{
			PreConfig: func() {
				require.NoError(
					t,
					w.identities.Delete(ctx, "acme", tenant.IdentityNames{}, tenant.NoJournal{}),
				)
			},
			Config: identityConfig(
				"",
			),
			ConfigPlanChecks: planned(action(identityAddress, plancheck.ResourceActionCreate)),
		},
		acc.TestStep{
			Config:           identityConfig("redirect_path = \"/cb\""),
			ConfigPlanChecks: update,
		},
		acc.TestStep{
			Config: `resource "tenant_identity" "this" {
  tenant_id     = "globex"
  display_name  = "Acme"
  hostnames     = ["acme.app.localhost"]
  administrator = { email = "ada@acme.example", name = "Ada" }
}
`,
			PlanOnly: true, ExpectError: failsWith(tenant.CodeTenantIDChanged, "acme"),
		},
	)
}

func TestAccIdentitySecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := func(key string, version int64) []statecheck.StateCheck {
		return []statecheck.StateCheck{
			statecheck.ExpectKnownValue(identityAddress, tfjsonpath.New("credentials"),
				knownvalue.ObjectPartial(map[string]knownvalue.Check{
					"key_id": text(key), "version": knownvalue.Int64Exact(version),
				})),
		}
	}
	rotated := planned(plancheck.ExpectUnknownValue(identityAddress, tfjsonpath.New("credentials")))
	k1, k2 := key("k1", 7), key("k2", 8)
	rekey := func(keys ...tenant.Key) func() {
		return func() {
			ring := keyring(t, keys...)
			w.open(t, ring)
			w.meta.Backends = w.backends(ring)
		}
	}
	w.run(t,
		acc.TestStep{Config: identityConfig(""), ConfigStateChecks: secret("k1", 1)},
		acc.TestStep{
			PreConfig: func() {
				changedIdentity(t, w, func(spec *tenant.IdentitySpec) { spec.SecretVersion = 2 })
			},
			Config: identityConfig(
				"credentials_version = 2",
			),
			ConfigPlanChecks:  rotated,
			ConfigStateChecks: secret("k1", 2),
		},
		acc.TestStep{
			Config: identityConfig(
				"credentials_version = 3",
			),
			ConfigPlanChecks:  rotated,
			ConfigStateChecks: secret("k1", 3),
		},
		acc.TestStep{
			Config: identityConfig("credentials_version = 2"), PlanOnly: true,
			ExpectError: failsWith(tenant.CodeInvalidConfig, "credentials_version"),
		},
		acc.TestStep{
			PreConfig: rekey(
				k2,
				k1,
			),
			Config:            identityConfig("credentials_version = 3"),
			ConfigStateChecks: secret("k1", 3),
			ConfigPlanChecks:  planned(action(identityAddress, plancheck.ResourceActionNoop)),
		},
		acc.TestStep{
			PreConfig: rekey(k2), Config: identityConfig("credentials_version = 3"), PlanOnly: true,
			ExpectError: failsWith(tenant.CodeUnknownKey, "k1"),
		},
		acc.TestStep{
			PreConfig: rekey(
				k2,
				k1,
			),
			Config:            identityConfig("credentials_version = 4"),
			ConfigPlanChecks:  rotated,
			ConfigStateChecks: secret("k2", 4),
		},
	)
}

func TestAccIdentityPartsAreMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	unknown := func(attribute string) acc.ConfigPlanChecks {
		return planned(
			action(identityAddress, plancheck.ResourceActionUpdate),
			plancheck.ExpectUnknownValue(identityAddress, tfjsonpath.New(attribute)),
			plancheck.ExpectKnownValue(
				identityAddress,
				tfjsonpath.New("missing"),
				knownvalue.SetSizeExact(0),
			),
		)
	}
	w.run(t,
		acc.TestStep{Config: identityConfig("")},
		acc.TestStep{
			PreConfig: func() { w.exec(t, "identity.db", "DELETE FROM memberships; DELETE FROM users") },
			Config:    identityConfig(""), ConfigPlanChecks: unknown("administrator_id"),
		},
		acc.TestStep{
			PreConfig: func() {
				w.exec(t, "identity.db", "UPDATE applications SET secret_hash = printf('%064d', 0)")
			},
			Config: identityConfig(""), ConfigPlanChecks: unknown("credentials"),
		},
		acc.TestStep{
			PreConfig: func() { w.exec(t, "identity.db", "DELETE FROM applications") },
			Config:    identityConfig(""), ConfigPlanChecks: unknown("application_id"),
		},
	)
}

func TestAccIdentityRefusesAForeignOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rogue := w.rogue(t)
	changedIdentity(t, rogue, func(*tenant.IdentitySpec) {})
	before, err := rogue.identities.Read(t.Context(), "acme", tenant.IdentityNames{})
	require.NoError(t, err)
	w.run(
		t,
		acc.TestStep{
			Config:      identityConfig(""),
			PlanOnly:    true,
			ExpectError: failsWith(tenant.CodeForeign, "acme"),
		},
	)
	after, err := rogue.identities.Read(t.Context(), "acme", tenant.IdentityNames{})
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestAccIdentityFailedCreateLeavesNoState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rogue := w.rogue(t)
	spec := tenant.IdentitySpec{
		Tenant: "globex", DisplayName: "Globex", RedirectURIs: []string{"https://globex.app.localhost/"},
		Administrator: tenant.Administrator{Email: "ada@acme.example", Name: "Ada"},
	}
	_, err := rogue.identities.Ensure(t.Context(), spec, tenant.NoJournal{})
	require.NoError(t, err)
	w.run(
		t,
		acc.TestStep{
			Config:      identityConfig(""),
			ExpectError: failsWith(tenant.CodeForeign, "ada@acme.example"),
		},
		acc.TestStep{
			PreConfig: func() {
				require.NoError(
					t,
					rogue.identities.Delete(
						t.Context(),
						"globex",
						tenant.IdentityNames{},
						tenant.NoJournal{},
					),
				)
			},
			Config: identityConfig(
				"",
			),
			ConfigPlanChecks: planned(action(identityAddress, plancheck.ResourceActionCreate)),
		},
	)
}

func TestAccIdentityIsChecked(t *testing.T) {
	t.Parallel()
	config := identityConfig("")
	for at, change := range map[string][2]string{
		"display_name":        {`"Acme"`, `" Acme "`},
		"administrator.email": {`"ada@acme.example"`, `"ada"`},
		"administrator.name":  {`"Ada"`, `""`},
		"roles":               {`"viewer"`, `""`},
	} {
		wrong := strings.Replace(config, change[0], change[1], 1)
		require.NotEqual(t, config, wrong)
		newWorld(t).run(t, acc.TestStep{
			Config: wrong, PlanOnly: true, ExpectError: failsWith(tenant.CodeInvalidConfig, at),
		})
	}
}
