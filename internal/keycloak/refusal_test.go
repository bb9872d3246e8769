package keycloak_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/keycloak"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// TestPreflight breaks what the backend needs, one thing at a time: the plan names it, and nothing was written.
func TestPreflight(t *testing.T) {
	t.Parallel()
	on := newServer(t)
	without := func(role string) []string {
		roles := accountRoles()
		for i, one := range roles {
			if one == role {
				return append(roles[:i:i], roles[i+1:]...)
			}
		}
		return roles
	}
	for name, broken := range map[string]struct {
		roles   []string
		profile object
		change  func(object)
		names   string
	}{
		"organizations off": {change: func(r object) { r["organizationsEnabled"] = false }, names: "organization"},
		"no resets":         {change: func(r object) { r["resetPasswordAllowed"] = false }, names: "resetPasswordAllowed"},
		"no mail server":    {change: func(r object) { delete(r, "smtpServer") }, names: "smtpServer"},
		"closed profile":    {profile: closedProfile(), names: "unmanagedAttributePolicy"},
		"realm disabled":    {change: func(r object) { r["enabled"] = false }, names: ""},

		"no organizations role": {roles: without("manage-organizations"), names: "manage-organizations"},
		"no clients role":       {roles: without("manage-clients"), names: "manage-clients"},
		"no users role":         {roles: without("manage-users"), names: "manage-users"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			profile, roles := broken.profile, broken.roles
			if profile == nil {
				profile = defaultProfile()
			}
			if roles == nil {
				roles = accountRoles()
			}
			change := broken.change
			if change == nil {
				change = func(object) {}
			}
			r := makeRealm(t, on, profile, roles, change)
			notes, err := r.backend(t).PlanIdentity(t.Context(), specOf("acme"))
			require.Error(t, err, "notes: %q", notes)
			require.Equal(t, tenant.CodeInvalidConfig, tenant.FailureOf(err).Code, "of %v", err)
			require.ErrorContains(t, err, broken.names)
			require.Nil(t, r.client(t, named("acme")))
			require.Nil(t, r.user(t, specOf("acme").Administrator.Email))
		})
	}
}

func closedProfile() object {
	profile := defaultProfile()
	delete(profile, "unmanagedAttributePolicy")
	return profile
}

// TestDeclaredAttribute is the other way to let the marks be kept: the realm's profile declares their attribute.
func TestDeclaredAttribute(t *testing.T) {
	t.Parallel()
	profile := closedProfile()
	attributes, ok := profile["attributes"].([]object)
	require.True(t, ok)
	profile["attributes"] = append(attributes, object{
		"name": "tenantry", "permissions": object{"view": []string{"admin"}, "edit": []string{"admin"}},
	})
	r := makeRealm(t, newServer(t), profile, accountRoles())
	backend, spec := r.backend(t), specOf("acme")
	_, err := backend.PlanIdentity(t.Context(), spec)
	require.NoError(t, err)
	first := ensure(t, backend, spec)
	require.Equal(t, first, ensure(t, backend, spec))
	require.NoError(t, backend.Delete(t.Context(), "acme", tenant.IdentityNames{}, tenant.NoJournal{}))
	require.Nil(t, r.user(t, spec.Administrator.Email))
}

// TestPlan looks at a ready realm: it says how the first administrator comes in, and writes nothing.
func TestPlan(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	backend := r.backend(t)
	notes, err := backend.PlanIdentity(t.Context(), specOf("acme"))
	require.NoError(t, err)
	require.Contains(t, strings.Join(notes, "\n"), "Forgot password?")
	require.Nil(t, r.organization(t, named("acme")))
	require.Nil(t, r.client(t, named("acme")))
	require.Nil(t, r.user(t, specOf("acme").Administrator.Email))
	ensure(t, backend, specOf("acme"))
	_, err = backend.PlanIdentity(t.Context(), specOf("acme"))
	require.NoError(t, err)

	for kind, name := range map[tenant.Kind]string{
		tenant.KindOrganization: named("globex"), tenant.KindApplication: named("initech"),
		tenant.KindUser: specOf("umbrella").Administrator.Email,
	} {
		r.plant(t, kind, name)
	}
	for _, id := range []tenant.ID{"globex", "initech", "umbrella"} {
		_, err = backend.PlanIdentity(t.Context(), specOf(id))
		require.True(t, tenant.HasCode(err, tenant.CodeForeign), "of %s: %v", id, err)
	}
}

// TestAccountRefused has the service account's own secret, client or realm wrong.
func TestAccountRefused(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	for name, change := range map[string]func(*keycloak.Config){
		"secret": func(c *keycloak.Config) { c.ClientSecret = tenant.NewSecret("a wrong one 7c1d") },
		"client": func(c *keycloak.Config) { c.ClientID = "nobody" },
		"realm":  func(c *keycloak.Config) { c.Realm = "no-such-realm" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := r.backend(t, change)
			_, err := backend.Ensure(t.Context(), specOf("acme"), tenant.NoJournal{})
			require.True(t, tenant.HasCode(err, tenant.CodeInvalidConfig), "of %v", err)
			require.NotContains(t, err.Error(), "7c1d")
			require.NotContains(t, err.Error(), accountSecret)
			_, err = backend.Read(t.Context(), "acme", tenant.IdentityNames{})
			require.Error(t, err)
			require.NotErrorIs(t, err, tenant.ErrAbsent, "what can't be seen is not absent")
		})
	}
}

// TestBlindAccount sees nothing of the organizations: that is an error, never "absent".
func TestBlindAccount(t *testing.T) {
	t.Parallel()
	r := makeRealm(t, newServer(t), defaultProfile(), []string{"view-realm"})
	_, err := r.backend(t).Read(t.Context(), "acme", tenant.IdentityNames{})
	require.True(t, tenant.HasCode(err, tenant.CodeInvalidConfig), "of %v", err)
	require.NotErrorIs(t, err, tenant.ErrAbsent)
}
