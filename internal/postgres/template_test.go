package postgres_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

func (w *world) templates(tb testing.TB) []string {
	tb.Helper()
	return w.named(tb, "SELECT datname FROM pg_database WHERE datistemplate AND", "datname")
}

// TestTemplates makes one template for many tenants, keeps a few old ones and removes the others.
func TestTemplates(t *testing.T) {
	t.Parallel()
	everywhere(
		t,
		[]tenant.Isolation{tenant.IsolationDatabase},
		func(t *testing.T, makeWorld func(*testing.T) *world) {
			w := makeWorld(t)
			x := newTenants(t, w, w.product())
			config, clock := w.config(t, w.ours), now()
			config.Now = func() time.Time { return clock }
			x.pool = w.open(t, config)
			for n := range 3 {
				x.ensure(t, x.spec(t, tenant.ID("t"+strconv.Itoa(n))))
			}
			first := w.templates(t)
			require.Len(t, first, 1)
			require.Equal(
				t,
				[]string{"false"},
				x.texts(t, "postgres", "SELECT datallowconn FROM pg_database WHERE datname = $1", first[0]),
			)
			files := w.product()
			for n := range 6 {
				clock = clock.Add(time.Hour)
				files["0001"+strconv.Itoa(n)+"_more.sql"] = "-- +goose Up\nSELECT 1;\n"
				spec := x.spec(t, tenant.ID("u"+strconv.Itoa(n)))
				spec.Migrations = tenanttest.Migrations(t, files)
				x.ensure(t, spec)
			}
			left := w.templates(t)
			require.Len(t, left, 5)
			require.NotContains(t, left, first[0], "the oldest goes first")
			x.ensure(t, x.spec(t, "t9")) // and is built again if it is needed
			require.Contains(t, w.templates(t), first[0])
			require.Empty(t, w.leftovers(t))
		},
	)
}

// TestPersonalMigrations are run in each database, because what they write by chance must not be the same for all.
func TestPersonalMigrations(t *testing.T) {
	t.Parallel()
	everywhere(
		t,
		[]tenant.Isolation{tenant.IsolationDatabase},
		func(t *testing.T, makeWorld func(*testing.T) *world) {
			w := makeWorld(t)
			files := w.product()
			files["00003_key.sql"] = "-- +goose Up\nCREATE TABLE keys (id uuid PRIMARY KEY DEFAULT gen_random_uuid());\n"
			x := newTenants(t, w, files)
			notes, err := x.pool.PlanDatabase(t.Context(), x.spec(t, "acme"))
			require.NoError(t, err)
			require.Empty(t, notes, "a random default is none before somebody writes")
			files["00004_key.sql"] = "-- +goose Up\nINSERT INTO keys DEFAULT VALUES;\n"
			x.files = tenanttest.Migrations(t, files)
			notes, err = x.pool.PlanDatabase(t.Context(), x.spec(t, "acme"))
			require.NoError(t, err)
			require.Len(t, notes, 1)
			require.Contains(t, notes[0], "00003_key.sql")
			keys := map[string]bool{}
			for _, id := range []tenant.ID{"acme", "globex"} {
				require.Empty(t, x.ensure(t, x.spec(t, id)).Drift)
				keys[x.texts(t, x.spec(t, id).Place.Name, "SELECT id::text FROM keys")[0]] = true
			}
			require.Len(t, keys, 2)
		},
	)
}

// TestForeignTemplate finds somebody else's database where a template would be.
func TestForeignTemplate(t *testing.T) {
	t.Parallel()
	everywhere(
		t,
		[]tenant.Isolation{tenant.IsolationDatabase},
		func(t *testing.T, makeWorld func(*testing.T) *world) {
			w := makeWorld(t)
			x := newTenants(t, w, w.product())
			x.ensure(t, x.spec(t, "acme"))
			name := w.templates(t)[0]
			w.rootExec(
				t,
				"postgres",
				"ALTER DATABASE "+quoted(name)+" IS_TEMPLATE false",
				"DROP DATABASE "+quoted(name),
				"CREATE DATABASE "+quoted(name),
			)
			_, err := x.pool.Ensure(t.Context(), x.spec(t, "globex"), &tenanttest.Journal{})
			wantCode(t, err, tenant.CodeForeign, name)
			require.NotEmpty(t, x.texts(t, "postgres", "SELECT 1 FROM pg_database WHERE datname = $1", name))
		},
	)
}
