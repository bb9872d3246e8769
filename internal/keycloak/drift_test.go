package keycloak_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// TestDrift changes one thing after the other by hand: a read tells it, and an apply puts it back.
func TestDrift(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	backend := r.backend(t)
	spec := specOf("acme")
	spec.Enabled = yes()
	first := ensure(t, backend, spec)
	organization := r.in("/organizations/%s", first.OrganizationID)
	client, user := r.in("/clients/%s", first.ApplicationID), r.in("/users/%s", first.AdministratorID)
	set := func(path, key string, value any) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			r.change(t, path, func(whole object) { whole[key] = value })
		}
	}
	setAttribute := func(key string, value any) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			r.change(t, client, func(whole object) { whole["attributes"] = object{key: value} })
		}
	}
	for name, alter := range map[string]func(*testing.T){
		"display name":                set(organization, "description", "Somebody's Ltd"),
		"disabled organization":       set(organization, "enabled", false),
		"redirect URI":                set(client, "redirectUris", []string{"https://evil.example.com/*"}),
		"one redirect URI more":       set(client, "redirectUris", append([]string{"https://b.example.com/x"}, spec.RedirectURIs...)),
		"web origins":                 set(client, "webOrigins", []string{"*"}),
		"disabled client":             set(client, "enabled", false),
		"public client":               set(client, "publicClient", true),
		"implicit flow":               set(client, "implicitFlowEnabled", true),
		"no code flow":                set(client, "standardFlowEnabled", false),
		"password grants":             set(client, "directAccessGrantsEnabled", true),
		"full scope":                  set(client, "fullScopeAllowed", true),
		"no PKCE":                     setAttribute("pkce.code.challenge.method", ""),
		"plain PKCE":                  setAttribute("pkce.code.challenge.method", "plain"),
		"administrator's name":        set(user, "lastName", "King"),
		"administrator's address":     set(user, "email", "eve@example.com"),
		"role gone":                   func(t *testing.T) { r.removed(t, client+"/roles/reader") },
		"role more":                   func(t *testing.T) { r.made(t, client+"/roles", object{"name": "root"}) },
		"organization scope gone":     func(t *testing.T) { r.removed(t, client+"/optional-client-scopes/"+r.scope(t)) },
		"domain that nobody asked of": set(organization, "domains", []object{{"name": "x.example.com", "verified": true}}),
	} {
		t.Run(name, func(t *testing.T) {
			alter(t)
			seen, err := backend.Read(t.Context(), "acme", tenant.IdentityNames{})
			require.NoError(t, err)
			require.NotEqual(t, first, seen, "a read tells it")
			for _, drift := range seen.Drift {
				require.NotEmpty(t, drift.What)
				require.Empty(t, drift.Loss)
			}
			require.Equal(t, first, ensure(t, backend, spec), "an apply puts it back")
		})
	}
}

// TestNoDrift is what the product, its people and the realm's administrators may do.
func TestNoDrift(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	backend := r.backend(t)
	spec := specOf("acme")
	first := ensure(t, backend, spec)
	organization := r.in("/organizations/%s", first.OrganizationID)
	client, user := r.in("/clients/%s", first.ApplicationID), r.in("/users/%s", first.AdministratorID)

	r.change(t, organization, func(whole object) {
		attributes, ok := whole["attributes"].(object)
		require.True(t, ok)
		attributes["billing"] = []string{"1234"}
	})
	r.change(t, client, func(whole object) {
		whole["name"], whole["attributes"] = "Acme's books", object{"access.token.lifespan": "600"}
	})
	r.change(t, user, func(whole object) {
		whole["emailVerified"], whole["requiredActions"] = true, []string{"CONFIGURE_TOTP"}
		attributes, ok := whole["attributes"].(object)
		require.True(t, ok)
		attributes["costcentre"] = []string{"17"}
	})
	r.change(t, user, func(whole object) { whole["enabled"] = false }) // nobody's lock is lifted
	r.setPassword(t, spec.Administrator.Email)
	r.plant(t, tenant.KindUser, "bob@acme.example.com")
	r.join(t, "acme", "bob@acme.example.com")
	seen, err := backend.Read(t.Context(), "acme", tenant.IdentityNames{})
	require.NoError(t, err)
	require.Equal(t, first, seen)

	// And a change of ours keeps it.
	spec.DisplayName, spec.Roles = "Acme & Co", []string{"reader"}
	spec.RedirectURIs = append(spec.RedirectURIs, "https://books.acme.example/auth/callback")
	spec.Administrator.Name, spec.SecretVersion = "Ada King", 2
	ensure(t, backend, spec)
	var whole object
	r.get(t, organization, &whole)
	require.Contains(t, whole["attributes"], "billing")
	r.get(t, client, &whole)
	require.Equal(t, "Acme's books", whole["name"])
	require.Contains(t, whole["attributes"], "access.token.lifespan")
	r.get(t, user, &whole)
	require.Equal(t, true, whole["emailVerified"])
	require.Equal(t, false, whole["enabled"])
	require.Equal(t, []any{"CONFIGURE_TOTP"}, whole["requiredActions"])
	require.Contains(t, whole["attributes"], "costcentre")
	r.get(t, user+"/credentials", &[]object{})
	require.Contains(t, r.memberOf(t, text(r.user(t, "bob@acme.example.com"), "id")), named("acme"))
}

func (r *realm) removed(tb testing.TB, path string) {
	tb.Helper()
	require.True(tb, r.admin(tb, http.MethodDelete, path, nil, nil))
}

func (r *realm) made(tb testing.TB, path string, body any) {
	tb.Helper()
	require.True(tb, r.admin(tb, http.MethodPost, path, body, nil))
}

// scope returns the id of the client scope organization.
func (r *realm) scope(tb testing.TB) string {
	tb.Helper()
	var scopes []object
	r.get(tb, r.in("/client-scopes"), &scopes)
	for _, scope := range scopes {
		if text(scope, "name") == "organization" {
			return text(scope, "id")
		}
	}
	require.Fail(tb, "the realm has no scope organization")
	return ""
}
