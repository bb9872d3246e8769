package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

func (w *world) fixture(t *testing.T) tenanttest.DatabaseFixture {
	t.Helper()
	return tenanttest.DatabaseFixture{
		Databases: w.backend(t, w.ours),
		Again:     w.backend(t, w.ours),
		Neighbour: w.backend(t, w.theirs),
		Isolation: w.isolation,
		Plant:     func(t *testing.T, _ tenant.ID, place tenant.Place) { t.Helper(); w.plant(t, place) },
		Print:     func(t *testing.T, _ tenant.ID, place tenant.Place) string { t.Helper(); return w.print(t, place) },
		Objects:   func(t *testing.T) []string { t.Helper(); return w.pick(t, false) },
		Archives:  func(t *testing.T) []string { t.Helper(); return w.pick(t, true) },
		Leftovers: func(t *testing.T) []string { t.Helper(); return w.leftovers(t) },
		Exec: func(t *testing.T, id tenant.ID, place tenant.Place, statements string) error {
			t.Helper()
			conn, err := w.application(t, id, place)
			require.NoError(t, err)
			defer hangUp(t, conn)
			_, err = conn.Exec(t.Context(), statements)
			return err
		},
		Query: func(t *testing.T, id tenant.ID, place tenant.Place, query string) string {
			t.Helper()
			conn, err := w.application(t, id, place)
			require.NoError(t, err)
			defer hangUp(t, conn)
			results, err := conn.PgConn().Exec(t.Context(), query).ReadAll()
			require.NoError(t, err)
			require.Len(t, results[0].Rows, 1)
			if results[0].Rows[0][0] == nil {
				return "NULL"
			}
			return string(results[0].Rows[0][0])
		},
	}
}

// plant makes what the administrator owns and nobody has marked.
func (w *world) plant(tb testing.TB, place tenant.Place) {
	tb.Helper()
	database := w.databaseOf(place)
	if w.isolation == tenant.IsolationDatabase {
		w.exec(tb, w.url, "CREATE DATABASE "+quoted(place.Name))
		w.exec(
			tb,
			at(tb, w.url, database, nil),
			"CREATE TABLE theirs (id INTEGER)",
			"INSERT INTO theirs VALUES (1)",
		)
		return
	}
	w.exec(
		tb,
		at(tb, w.url, database, nil),
		"CREATE SCHEMA "+quoted(place.Name),
		"CREATE TABLE "+quoted(
			place.Name,
		)+".theirs (id INTEGER)",
		"INSERT INTO "+quoted(place.Name)+".theirs VALUES (1)",
	)
}

// everywhere runs a suite for the isolations on the servers.
func everywhere(t *testing.T, isolations []tenant.Isolation, test func(*testing.T, func(*testing.T) *world)) {
	t.Helper()
	for _, version := range versions() {
		for _, isolation := range isolations {
			t.Run(version+" "+string(isolation), func(t *testing.T) {
				t.Parallel()
				test(t, func(t *testing.T) *world { t.Helper(); return newWorld(t, version, isolation) })
			})
		}
	}
}

func separate() []tenant.Isolation {
	return []tenant.Isolation{tenant.IsolationDatabase, tenant.IsolationSchema}
}

func TestDatabases(t *testing.T) {
	t.Parallel()
	everywhere(t, separate(), func(t *testing.T, makeWorld func(*testing.T) *world) {
		tenanttest.Databases(
			t,
			func(t *testing.T) tenanttest.DatabaseFixture { t.Helper(); return makeWorld(t).fixture(t) },
		)
	})
}

func TestDatabaseClaims(t *testing.T) {
	t.Parallel()
	everywhere(t, separate(), func(t *testing.T, makeWorld func(*testing.T) *world) {
		tenanttest.DatabaseClaims(
			t,
			func(t *testing.T) tenanttest.DatabaseFixture { t.Helper(); return makeWorld(t).fixture(t) },
		)
	})
}

func TestSeeds(t *testing.T) {
	t.Parallel()
	everywhere(t, separate(), func(t *testing.T, makeWorld func(*testing.T) *world) {
		tenanttest.Seeds(t, func(t *testing.T) tenanttest.SeedFixture {
			t.Helper()
			w := makeWorld(t)
			return tenanttest.SeedFixture{
				DatabaseFixture: w.fixture(t),
				Seeds:           w.backend(t, w.ours).Seeds(),
				SeedsAgain:      w.backend(t, w.ours).Seeds(),
				SeedsNeighbour:  w.backend(t, w.theirs).Seeds(),
			}
		})
	})
}
