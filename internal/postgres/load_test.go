package postgres_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/postgres"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

// atOnce runs n calls together.
func atOnce(n int, call func(n int) error) []error {
	var group sync.WaitGroup
	out := make([]error, n)
	for i := range n {
		group.Go(func() { out[i] = tenant.Guard("a call", func() error { return call(i) }) })
	}
	group.Wait()
	return out
}

// TestFifty makes fifty tenants at once from two processes, on a server with room and on one with 20 connections.
func TestFifty(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"15", "18", "SMALL"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, isolation := range all() {
				t.Run(string(isolation), func(t *testing.T) {
					w := newWorld(t, name, isolation)
					w.maxConnections = 7 // for each of two processes: the small server has 17 for us
					x := newTenants(t, w, w.product())
					pools := []*postgres.Backend{x.pool, w.backend(t, w.ours)}
					fifty(t, x, pools)
				})
			}
		})
	}
}

func fifty(t *testing.T, x *tenants, pools []*postgres.Backend) {
	t.Helper()
	const many = 50
	specs := make([]tenant.DatabaseSpec, many)
	for n := range specs {
		specs[n] = x.spec(t, tenant.ID("t"+strconv.Itoa(n)))
	}
	for _, err := range atOnce(many, func(n int) error {
		_, err := pools[n%2].Ensure(t.Context(), specs[n], &tenanttest.Journal{})
		return err
	}) {
		require.NoError(t, err)
	}
	listed, err := x.pool.ListDatabases(t.Context())
	require.NoError(t, err)
	require.Len(t, listed, many)
	for id, database := range listed {
		require.Empty(t, database.Drift, id)
		require.Len(t, database.Applied, 2, id)
	}
	require.Empty(t, x.leftovers(t))
	require.Empty(t, x.memberships(t), "the administrator is a member of no tenant's role")
	for _, err := range atOnce(many, func(n int) error {
		return pools[n%2].Delete(t.Context(), specs[n].Tenant, specs[n].Place, tenant.Disposal{How: tenant.Drop}, &tenanttest.Journal{})
	}) {
		require.NoError(t, err)
	}
	require.Empty(t, x.pick(t, false))
	require.Empty(t, x.leftovers(t))
}

// memberships are the tenants' roles that the administrator may act as.
func (w *world) memberships(tb testing.TB) []string {
	tb.Helper()
	return w.named(
		tb,
		`SELECT rolname FROM pg_roles WHERE pg_has_role('tenant_admin', oid, 'USAGE') AND rolname NOT LIKE '%\_\_%' AND`,
		"rolname",
	)
}
