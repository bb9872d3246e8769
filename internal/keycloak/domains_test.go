package keycloak_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func TestDomains(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	backend := r.backend(t)
	spec := specOf("acme")
	spec.Domains = []tenant.IdentityDomain{{Name: "b.acme.example"}, {Name: "a.acme.example", Verified: true}}
	want := []tenant.IdentityDomain{{Name: "a.acme.example", Verified: true}, {Name: "b.acme.example"}}
	first := ensure(t, backend, spec)
	require.Equal(t, want, first.Domains)
	require.Equal(t, first, ensure(t, backend, spec))

	rival := specOf("globex")
	rival.Domains = []tenant.IdentityDomain{{Name: "b.acme.example"}}
	_, err := backend.Ensure(t.Context(), rival, tenant.NoJournal{})
	require.True(t, tenant.HasCode(err, tenant.CodeHostnameTaken), "of %v", err)
	require.ErrorContains(t, err, "b.acme.example")
	require.Equal(t, first, ensure(t, backend, spec))

	spec.Domains = spec.Domains[1:]
	require.Equal(t, want[:1], ensure(t, backend, spec).Domains)
	require.Equal(t, rival.Domains, ensure(t, backend, rival).Domains, "a domain that was given up is free")
	spec.Domains = nil
	require.Empty(t, ensure(t, backend, spec).Domains)
}

// TestDomainRace has eight tenants ask for one domain at once, half of them through another process: one gets it, the
// server stores it once, and nobody's later look at it fails.
func TestDomainRace(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	backends := []tenant.Identities{r.backend(t), r.backend(t)}
	const rivals = 8
	spec := func(n int) tenant.IdentitySpec {
		out := specOf(fleetID(n))
		out.Domains = []tenant.IdentityDomain{{Name: "wanted.example.com"}}
		return out
	}
	winners := 0
	for n, one := range atOnce(rivals, rivals, func(n int) (tenant.Identity, error) {
		return backends[n%2].Ensure(t.Context(), spec(n), tenant.NoJournal{})
	}) {
		if one.err == nil {
			winners++
			continue
		}
		failure := tenant.FailureOf(one.err)
		require.Contains(t, []tenant.Code{
			tenant.CodeHostnameTaken, tenant.CodeConflict, tenant.CodeUnavailable,
		}, failure.Code, "of %s: %v", fleetID(n), one.err)
	}
	require.LessOrEqual(t, winners, 1)
	// Where two gave way to each other, the next apply of either settles it.
	for n := 0; winners == 0 && n < rivals; n++ {
		if _, err := backends[0].Ensure(t.Context(), spec(n), tenant.NoJournal{}); err == nil {
			winners++
		}
	}
	require.Equal(t, 1, winners)
	var owners []object
	r.get(t, r.in("/organizations?exact=true&search=%s", "wanted.example.com"), &owners)
	require.Len(t, owners, 1)
}

// TestSingleSignOn has another realm of the server stand for the tenant's own provider.
func TestSingleSignOn(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	backend := r.backend(t)
	theirs := r.url + "/realms/" + r.name
	spec := specOf("acme")
	spec.SingleSignOn = &tenant.SingleSignOn{
		Issuer: theirs, ClientID: "saas", ClientSecret: tenant.NewSecret("their secret 91f2"),
	}
	first := ensure(t, backend, spec)
	require.Equal(t, spec.SingleSignOn.Issuer, first.SingleSignOn.Issuer)
	require.Equal(t, spec.SingleSignOn.ClientID, first.SingleSignOn.ClientID)
	require.Empty(t, first.SingleSignOn.ClientSecret.Reveal())
	require.NotContains(t, fmt.Sprintf("%+v", first), "91f2")
	provider := r.linked(t, first.OrganizationID)
	require.NotNil(t, provider)

	// The secret is kept where none is given, and a second apply changes nothing.
	spec.SingleSignOn.ClientSecret = tenant.Secret{}
	require.Equal(t, first, ensure(t, backend, spec))
	require.Equal(t, provider, r.linked(t, first.OrganizationID))

	spec.SingleSignOn.Issuer = r.url + "/realms/master"
	second := ensure(t, backend, spec)
	require.Equal(t, spec.SingleSignOn.Issuer, second.SingleSignOn.Issuer)

	// Somebody removes it: told, and made again once there is a secret to make it with.
	require.True(t, r.admin(t, http.MethodDelete,
		r.in("/identity-provider/instances/%s", text(r.linked(t, first.OrganizationID), "alias")), nil, nil))
	seen, err := backend.Read(t.Context(), "acme", tenant.IdentityNames{})
	require.NoError(t, err)
	require.Nil(t, seen.SingleSignOn)
	spec.SingleSignOn.ClientSecret = tenant.NewSecret("their secret 91f2")
	require.Equal(t, second, ensure(t, backend, spec))

	spec.SingleSignOn = nil
	require.Nil(t, ensure(t, backend, spec).SingleSignOn)
	require.Nil(t, r.linked(t, first.OrganizationID))
	require.Empty(t, r.providers(t))

	// It goes with the tenant.
	spec.SingleSignOn = &tenant.SingleSignOn{
		Issuer: theirs, ClientID: "saas", ClientSecret: tenant.NewSecret("their secret 91f2"),
	}
	ensure(t, backend, spec)
	require.NoError(t, backend.Delete(t.Context(), "acme", tenant.IdentityNames{}, tenant.NoJournal{}))
	require.Empty(t, r.providers(t))
}

// linked is the identity provider of an organization, or nil.
func (r *realm) linked(tb testing.TB, organizationID string) object {
	tb.Helper()
	return r.one(tb, r.in("/organizations/%s/identity-providers", organizationID))
}

func (r *realm) providers(tb testing.TB) []object {
	tb.Helper()
	var all []object
	r.get(tb, r.in("/identity-provider/instances"), &all)
	return all
}
