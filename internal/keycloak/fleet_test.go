package keycloak_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

const (
	fleetSize   = 100
	fleetAtOnce = 8
)

// TestFleet onboards a hundred tenants, eight at once: one of each, and no error. It is more than the server's lists have
// on a page.
func TestFleet(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	backend := r.backend(t)
	made := atOnce(fleetSize, fleetAtOnce, func(n int) (tenant.Identity, error) {
		return backend.Ensure(t.Context(), specOf(fleetID(n)), tenant.NoJournal{})
	})
	want := map[tenant.ID]tenant.Identity{}
	for n, one := range made {
		require.NoError(t, one.err)
		want[fleetID(n)] = one.got
	}
	listed, err := backend.ListIdentities(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, listed)
	var organizations, clients, users []object
	r.get(t, r.in("/organizations?max=1000"), &organizations)
	r.get(t, r.in("/clients?max=1000&search=true&clientId=%s", named("fleet")), &clients)
	r.get(t, r.in("/users?max=1000&search=%s", "ada@fleet"), &users)
	require.Len(t, organizations, fleetSize)
	require.Len(t, clients, fleetSize)
	require.Len(t, users, fleetSize)
	for n, gone := range atOnce(fleetSize, fleetAtOnce, func(n int) (struct{}, error) {
		return struct{}{}, backend.Delete(t.Context(), fleetID(n), tenant.IdentityNames{}, tenant.NoJournal{})
	}) {
		require.NoError(t, gone.err, "of %s", fleetID(n))
	}
	r.get(t, r.in("/organizations?max=1000"), &organizations)
	require.Empty(t, organizations)
}

func fleetID(n int) tenant.ID { return tenant.ID(fmt.Sprintf("fleet-%03d", n)) }

type result[T any] struct {
	got T
	err error
}

// atOnce does work for 0 to n-1, width at a time.
func atOnce[T any](n, width int, work func(n int) (T, error)) []result[T] {
	out := make([]result[T], n)
	next := make(chan int)
	var group sync.WaitGroup
	for range width {
		group.Go(func() {
			for i := range next {
				out[i].got, out[i].err = work(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	return out
}

// TestManyPeople has more members in an organization, and a person in more organizations, than the server puts on a page.
// The members are the product's: a suspension ends their sessions and keeps them out, and writes nothing of theirs.
func TestManyPeople(t *testing.T) {
	t.Parallel()
	const many = 12
	r := newRealm(t)
	backend := r.backend(t)
	spec := specOf("acme")
	ensure(t, backend, spec)
	var sessions []tokens
	for n := range many {
		r.plant(t, tenant.KindUser, member(n))
		r.join(t, "acme", member(n))
		r.setPassword(t, member(n))
		sessions = append(sessions, r.login(t, backend, "acme", member(n)))
		other := specOf(fleetID(n))
		other.Administrator = spec.Administrator
		ensure(t, backend, other)
	}
	first := ensure(t, backend, spec)
	require.Empty(t, first.Missing)
	app := r.application("acme", secretOf(t, backend, tenanttest.Keyring(t), "acme"))
	before := r.people(t, many)
	spec.Enabled = no()
	ensure(t, backend, spec)
	require.Equal(t, before, r.people(t, many))
	for n := range many {
		r.refused(t, app, member(n))
		require.NotEqual(t, http.StatusOK, r.userInfo(t, sessions[n].Access))
	}
	spec.Enabled = yes()
	require.Equal(t, first, ensure(t, backend, spec))
	require.Equal(t, before, r.people(t, many))
	for n := range many {
		require.NotEqual(
			t,
			http.StatusOK,
			r.userInfo(t, sessions[n].Access),
			"an ended session comes back to nobody",
		)
		require.NotEmpty(t, app.refresh(t, sessions[n].Refresh).Error)
		require.NoError(
			t,
			backend.Delete(t.Context(), fleetID(n), tenant.IdentityNames{}, tenant.NoJournal{}),
		)
	}
	r.login(t, backend, "acme", member(0))
	require.NotNil(t, r.user(t, spec.Administrator.Email))
	require.NoError(t, backend.Delete(t.Context(), "acme", tenant.IdentityNames{}, tenant.NoJournal{}))
	require.Nil(t, r.user(t, spec.Administrator.Email))
	require.NotNil(t, r.user(t, member(0)), "the product's people outlive the tenant")
}

func member(n int) string { return fmt.Sprintf("person-%02d@acme.example.com", n) }

func (r *realm) people(tb testing.TB, many int) []string {
	tb.Helper()
	var all []string
	for n := range many {
		all = append(all, r.snapshot(tb, tenant.KindUser, member(n)))
	}
	return all
}
