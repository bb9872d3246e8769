package keycloak_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	tenanttest.Identities(t, newFixture)
}

func newFixture(t *testing.T) tenanttest.IdentityFixture {
	t.Helper()
	r := newRealm(t)
	ring := tenanttest.RotatedKeyring(t)
	rotated := r.backend(t, with(ring))
	return tenanttest.IdentityFixture{
		NoOverlap:    "a client has one secret; a second one is a preview feature, client-secret-rotation",
		ClearSecrets: "the admin interface shows a client's secret, because applications are set up from there",

		Identities: r.backend(t),
		Another:    r.backend(t),
		Neighbour:  r.backend(t, with(tenanttest.KeyringOf(t, "test-us"))),
		Rotated:    rotated,
		Names:      func(id tenant.ID) (string, string) { return named(id), named(id) },
		Plant: func(t *testing.T, kind tenant.Kind, name string) {
			t.Helper()
			r.plant(t, kind, name)
		},
		Snapshot: func(t *testing.T, kind tenant.Kind, name string) string {
			t.Helper()
			return r.snapshot(t, kind, name)
		},
		Join: func(t *testing.T, id tenant.ID, email string) {
			t.Helper()
			r.join(t, id, email)
		},
		Break: func(t *testing.T, id tenant.ID, part tenanttest.IdentityPart, email string) {
			t.Helper()
			r.damage(t, id, part, email)
		},
		Secret: func(t *testing.T, id tenant.ID) tenant.Secret {
			t.Helper()
			return secretOf(t, rotated, ring, id)
		},
		Accepts: func(t *testing.T, clientID string, secret tenant.Secret) bool {
			t.Helper()
			return r.accepts(t, clientID, secret)
		},
		Follow: func(t *testing.T, link string) error {
			t.Helper()
			return r.follow(t, link)
		},
		Dump: func(t *testing.T) []byte {
			t.Helper()
			return r.dump(t)
		},
	}
}

// secretOf derives the secret with which the tenant's application should authenticate.
func secretOf(tb testing.TB, on tenant.Identities, ring *tenant.Keyring, id tenant.ID) tenant.Secret {
	tb.Helper()
	seen, err := on.Read(tb.Context(), id, tenant.IdentityNames{})
	require.NoError(tb, err)
	secret, err := ring.Derive(seen.Secret.Ref(id, tenant.ApplicationSecret))
	require.NoError(tb, err)
	return secret
}
