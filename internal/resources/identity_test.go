package resources

import (
	"bytes"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func madeIdentity() tenant.Identity {
	return tenant.Identity{
		OrganizationID:  "o1",
		ApplicationID:   "a1",
		ClientID:        "c1",
		AdministratorID: "u1",
		Organization:    "test-eu_acme",
		DisplayName:     "Acme",
		RedirectURIs: []string{
			"https://acme.app.localhost/auth/callback",
		},
		Roles:         []string{"admin", "viewer"},
		Administrator: tenant.Administrator{Email: "ada@acme.example", Name: "Ada"},
		Enabled:       true,
		Secret:        tenant.SecretState{KeyID: "k1", Version: 1, Fingerprint: "f1"},
	}
}

func wantedIdentity() identityModel {
	return identityModel{
		TenantID:    types.StringValue("acme"),
		DisplayName: types.StringValue("Acme"),
		Hostnames: textList(
			[]string{"acme.app.localhost"},
		),
		RedirectPath: types.StringValue("/auth/callback"),
		Roles: textSet(
			[]string{"viewer", "admin"},
		),
		CredentialsVersion: types.Int64Value(1),
		Enabled:            types.BoolNull(),
		Administrator:      administratorValue(tenant.Administrator{}, madeIdentity().Administrator),
		Public:             types.BoolValue(false),
		Domains:            types.SetNull(types.StringType),
		SingleSignOn:       types.ObjectNull(singleSignOnType()),
		Drift:              textSet(nil),
		Missing:            textSet(nil),
		Altered:            textSet(nil),
	}
}

// planIdentity is what ModifyPlan makes of a configuration.
func planIdentity(wanted identityModel, prior *identityModel) identityModel {
	wanted.RedirectURIs = wanted.redirects()
	if prior == nil {
		return wanted.created()
	}
	return wanted.after(*prior)
}

func livingIdentity() identityModel { return planIdentity(wantedIdentity(), nil).with(madeIdentity()) }

func TestTheSecondPlanOfAnIdentityIsEmpty(t *testing.T) {
	t.Parallel()
	refreshed := livingIdentity().seen(madeIdentity())
	require.Equal(t, livingIdentity(), refreshed)
	require.Equal(t, refreshed, planIdentity(wantedIdentity(), &refreshed))
}

func TestRedirectURIsWaitForTheirHostnames(t *testing.T) {
	t.Parallel()
	wanted := wantedIdentity()
	require.Equal(t, textSet([]string{"https://acme.app.localhost/auth/callback"}), wanted.redirects())
	wanted.Hostnames = types.ListUnknown(types.StringType)
	require.True(t, wanted.redirects().IsUnknown())
	wanted.Hostnames = types.ListValueMust(types.StringType, []attr.Value{types.StringUnknown()})
	require.True(t, wanted.redirects().IsUnknown())
}

func TestOnlyAConfiguredEnabledIsWanted(t *testing.T) {
	t.Parallel()
	created := planIdentity(wantedIdentity(), nil)
	require.True(t, created.Enabled.IsUnknown())
	require.Nil(t, created.desired(identityModel{}).Enabled)
	disabled := madeIdentity()
	disabled.Enabled = false
	adopted := created.with(disabled)
	require.False(t, adopted.Enabled.ValueBool())
	planned := planIdentity(wantedIdentity(), &adopted)
	require.False(t, planned.Enabled.ValueBool())
	require.Nil(t, planned.desired(identityModel{}).Enabled)
	require.True(t, *planned.desired(identityModel{Enabled: types.BoolValue(true)}).Enabled)
}

func TestDriftOfAnIdentityIsAPlannedChange(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		drift   func(*tenant.Identity)
		unknown func(identityModel) []attr.Value
	}{
		"name": {drift: func(i *tenant.Identity) { i.DisplayName = "Evil" }},
		"role": {drift: func(i *tenant.Identity) { i.Roles = []string{"admin"} }},
		"redirect": {
			drift: func(i *tenant.Identity) { i.RedirectURIs = append(i.RedirectURIs, "https://evil.example/x") },
		},
		"person": {drift: func(i *tenant.Identity) { i.Administrator.Name = "Eve" }},
		"membership": {
			drift: func(i *tenant.Identity) { i.Missing = []string{"membership"} },
		},
		"administrator": {
			drift: func(i *tenant.Identity) {
				i.Missing, i.AdministratorID, i.Administrator = []string{
					"administrator",
				}, "", tenant.Administrator{}
			},
			unknown: func(m identityModel) []attr.Value { return []attr.Value{m.AdministratorID} },
		},
		"another administrator": {
			drift:   func(i *tenant.Identity) { i.AdministratorID = "u2" },
			unknown: func(m identityModel) []attr.Value { return []attr.Value{m.AdministratorID} },
		},
		"application": {
			drift: func(i *tenant.Identity) {
				i.Missing, i.ApplicationID, i.ClientID, i.RedirectURIs = []string{"application"}, "", "", nil
				i.Secret = tenant.SecretState{}
			},
			unknown: func(m identityModel) []attr.Value { return []attr.Value{m.ApplicationID, m.Credentials} },
		},
		"another secret": {
			drift:   func(i *tenant.Identity) { i.Secret.Fingerprint = "f2" },
			unknown: func(m identityModel) []attr.Value { return []attr.Value{m.Credentials} },
		},
		"another organization": {
			drift: func(i *tenant.Identity) { i.OrganizationID = "o2" },
			unknown: func(m identityModel) []attr.Value {
				return []attr.Value{m.OrganizationID, m.ApplicationID, m.AdministratorID, m.Credentials}
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := madeIdentity()
			c.drift(&seen)
			refreshed := livingIdentity().seen(seen)
			require.NotEqual(t, livingIdentity(), refreshed)
			require.Equal(t, "u1", refreshed.AdministratorID.ValueString(), "a refresh moves no id")
			planned := planIdentity(wantedIdentity(), &refreshed)
			require.NotEqual(t, refreshed, planned)
			if c.unknown == nil {
				require.Equal(t, livingIdentity(), planned)
				return
			}
			for _, value := range c.unknown(planned) {
				require.True(t, value.IsUnknown())
			}
			require.True(t, planned.Enabled.ValueBool())
		})
	}
}

func TestARaisedVersionIsAPlannedSecret(t *testing.T) {
	t.Parallel()
	prior, wanted := livingIdentity(), wantedIdentity()
	wanted.CredentialsVersion = types.Int64Value(2)
	planned := planIdentity(wanted, &prior)
	require.True(t, planned.Credentials.IsUnknown())
	require.Equal(t, prior.ClientID, planned.ClientID)
	require.Equal(t, int64(2), planned.desired(identityModel{}).SecretVersion)
}

func TestAnotherAddressMayBeAnotherPerson(t *testing.T) {
	t.Parallel()
	prior, wanted := livingIdentity(), wantedIdentity()
	wanted.Administrator = administratorValue(tenant.Administrator{},
		tenant.Administrator{Email: "grace@acme.example", Name: "Ada"})
	require.True(t, planIdentity(wanted, &prior).AdministratorID.IsUnknown())
}

func TestALowerCasedAddressIsNoDrift(t *testing.T) {
	t.Parallel()
	is := administratorValue(tenant.Administrator{Email: "Ada@Acme.example"},
		tenant.Administrator{Email: "ada@acme.example", Name: "Ada"})
	require.Equal(t, "Ada@Acme.example", administratorOf(is).Email)
}

func TestTheStatesSecretCanBeDerived(t *testing.T) {
	t.Parallel()
	ring, err := tenant.NewKeyring(
		"test",
		[]tenant.Key{{ID: "k2", Secret: bytes.Repeat([]byte{1}, tenant.MinKeyLen)}},
	)
	require.NoError(t, err)
	r := &identityResource{configured{&Meta{Backends: &tenant.Backends{Keyring: ring}}}}
	var diags diag.Diagnostics
	r.checkSecret(livingIdentity(), livingIdentity(), &diags)
	requireCode(t, tenant.CodeUnknownKey, diags)

	prior, wanted := livingIdentity(), livingIdentity()
	prior.CredentialsVersion, prior.Credentials = types.Int64Value(
		3,
	), secretValue(
		tenant.SecretState{KeyID: "k2"},
	)
	diags = nil
	r.checkSecret(wanted, prior, &diags)
	requireCode(t, tenant.CodeInvalidConfig, diags)
}

func TestIdentityRules(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/auth/callback", "/a?b=c"} {
		require.NoError(t, checkRedirectPath(path), path)
	}
	for _, path := range []string{"", "auth", "//evil.example/", "/a*", "/a#b", "/a b", "/\x00"} {
		require.Error(t, checkRedirectPath(path), path)
	}
	require.NoError(t, checkName("Acme & Sons"))
	for _, name := range []string{"", " ", "\t", " Acme", "Acme\n"} {
		require.Error(t, checkName(name), name)
	}
	require.NoError(t, checkEmail("ada@acme.example"))
	for _, address := range []string{"", "ada", "Ada <ada@acme.example>", "a@b@c", " ada@acme.example"} {
		require.Error(t, checkEmail(address), address)
	}
	for _, window := range []string{"", "72", "-1h", "0s"} {
		require.Error(t, checkWindow(window), window)
	}
	require.NoError(t, checkWindow("72h"))
}
