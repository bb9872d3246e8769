package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/postgres"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

// product is a small product that fits every isolation: two tables, one pointing at the other, and a sequence.
func (w *world) product() map[string]string {
	table := func(name, columns string) string {
		if w.isolation == tenant.IsolationRow {
			return protected(name, columns)
		}
		return "CREATE TABLE " + name + " (" + columns + ");"
	}
	return map[string]string{
		"00001_notes.sql": "-- +goose Up\n" + table("notes", "id SERIAL PRIMARY KEY, body TEXT") + "\n",
		"00002_lines.sql": "-- +goose Up\n" + table(
			"lines",
			"id INTEGER PRIMARY KEY, note INTEGER REFERENCES notes (id)",
		) + "\n",
	}
}

// tenants is a pool with files that its tenants have.
type tenants struct {
	*world

	pool  *postgres.Backend
	files tenant.Migrations
}

func newTenants(tb testing.TB, w *world, files map[string]string) *tenants {
	tb.Helper()
	out := &tenants{w, w.backend(tb, w.ours), tenanttest.Migrations(tb, files)}
	out.migratePool(tb)
	return out
}

func (x *tenants) migratePool(tb testing.TB) {
	tb.Helper()
	if x.isolation == tenant.IsolationRow {
		_, err := x.pool.MigratePool(tb.Context(), x.files)
		require.NoError(tb, err)
	}
}

func (x *tenants) spec(tb testing.TB, id tenant.ID) tenant.DatabaseSpec {
	tb.Helper()
	name, err := x.pool.DatabaseName(id, x.isolation)
	require.NoError(tb, err)
	return tenant.DatabaseSpec{
		Tenant:     id,
		Place:      tenant.Place{Pool: "the-pool", Isolation: x.isolation, Name: name},
		Migrations: x.files,
	}
}

func (x *tenants) ensure(tb testing.TB, spec tenant.DatabaseSpec) tenant.Database {
	tb.Helper()
	out, err := x.pool.Ensure(tb.Context(), spec, &tenanttest.Journal{})
	require.NoError(tb, err)
	require.Equal(tb, out, x.read(tb, spec), "what Ensure says is what Read sees")
	return out
}

func (x *tenants) read(tb testing.TB, spec tenant.DatabaseSpec) tenant.Database {
	tb.Helper()
	out, err := x.pool.Read(tb.Context(), spec.Tenant, spec.Place)
	require.NoError(tb, err)
	return out
}

// as connects as the tenant's application.
func (x *tenants) as(tb testing.TB, id tenant.ID) *pgx.Conn {
	tb.Helper()
	conn, err := x.application(tb, id, x.spec(tb, id).Place)
	require.NoError(tb, err)
	tb.Cleanup(func() { hangUp(tb, conn) })
	return conn
}

func wantCode(tb testing.TB, err error, code tenant.Code, parts ...string) {
	tb.Helper()
	require.Truef(tb, tenant.HasCode(err, code), "want %s, got: %v", code, err)
	for _, part := range parts {
		require.ErrorContains(tb, err, part)
	}
}

func all() []tenant.Isolation {
	return []tenant.Isolation{tenant.IsolationDatabase, tenant.IsolationSchema, tenant.IsolationRow}
}

// forAll runs a test for each isolation, on each server.
func forAll(t *testing.T, isolations []tenant.Isolation, test func(*testing.T, *tenants)) {
	t.Helper()
	everywhere(t, isolations, func(t *testing.T, makeWorld func(*testing.T) *world) {
		w := makeWorld(t)
		test(t, newTenants(t, w, w.product()))
	})
}
