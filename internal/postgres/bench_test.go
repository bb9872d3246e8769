//go:build bench

package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

// release is twenty migrations: ten tables, five indexes, five times data.
func release() map[string]string {
	files := map[string]string{}
	add := func(format string, args ...any) {
		n := len(files) + 1
		files[fmt.Sprintf("%05d_m.sql", n)] = "-- +goose Up\n" + fmt.Sprintf(
			format,
			args...) + "\n-- +goose Down\nSELECT 1;\n"
	}
	for n := range 10 {
		add(
			"CREATE TABLE t%d (id SERIAL PRIMARY KEY, name TEXT NOT NULL, amount NUMERIC(12,2), parent INTEGER REFERENCES t0 (id));",
			n,
		)
	}
	for n := range 5 {
		add("CREATE INDEX t%d_name ON t%d (name);", n, n)
		add("INSERT INTO t%d (name) VALUES ('a'), ('b'), ('c');", n)
	}
	return files
}

// took is the median of the times in milliseconds.
func took(times []time.Duration) float64 {
	sorted := slices.Sorted(slices.Values(times))
	return float64(sorted[len(sorted)/2]) / float64(time.Millisecond)
}

func timed(t *testing.T, n int, work func(n int)) []time.Duration {
	t.Helper()
	out := make([]time.Duration, 0, n)
	for i := range n {
		start := time.Now()
		work(i)
		out = append(out, time.Since(start))
	}
	return out
}

// gooseUp is what a person would run by hand, as the administrator.
func (w *world) gooseUp(t *testing.T, database, schema string, files tenant.Migrations) {
	t.Helper()
	config, err := pgx.ParseConfig(at(t, w.url, database, nil))
	require.NoError(t, err)
	if schema != "" {
		config.RuntimeParams["search_path"] = quoted(schema)
	}
	db := stdlib.OpenDB(*config)
	defer func(db *sql.DB) { require.NoError(t, db.Close()) }(db)
	runner, err := goose.NewProvider(
		goose.DialectPostgres,
		db,
		files.FS,
		goose.WithDisableGlobalRegistry(true),
	)
	require.NoError(t, err)
	_, err = runner.Up(context.Background())
	require.NoError(t, err)
}

// TestBenchDatabases prints what a database with twenty migrations costs beside a bare CREATE DATABASE and beside one that
// goose migrates, in the same run. It asserts no time.
//
//nolint:paralleltest // what it measures is what the machine does meanwhile
func TestBenchDatabases(t *testing.T) {
	const rounds = 30
	w := newWorld(t, "15", tenant.IsolationDatabase)
	x := newTenants(t, w, release())
	x.ensure(t, x.spec(t, "warm-up"))
	admin := w.connect(t, w.url)
	defer hangUp(t, admin)
	var bare, gooses, ours []time.Duration
	for n := range rounds { // interleaved, so that all three meet the same machine
		name := w.ours + "_bare" + strconv.Itoa(n)
		bare = append(bare, timed(t, 1, func(int) {
			_, err := admin.Exec(t.Context(), "CREATE DATABASE "+quoted(name))
			require.NoError(t, err)
		})...)
		gooses = append(gooses, timed(t, 1, func(int) {
			_, err := admin.Exec(t.Context(), "CREATE DATABASE "+quoted(name+"_goose"))
			require.NoError(t, err)
			w.gooseUp(t, name+"_goose", "", x.files)
		})...)
		spec := x.spec(t, tenant.ID("t"+strconv.Itoa(n)))
		ours = append(ours, timed(t, 1, func(int) {
			_, err := x.pool.Ensure(t.Context(), spec, tenant.NoJournal{})
			require.NoError(t, err)
		})...)
	}
	fmt.Printf(
		"bare CREATE DATABASE %.1f ms, with goose %.1f ms, ours %.1f ms\n",
		took(bare),
		took(gooses),
		took(ours),
	)
	fmt.Printf("bench database_create_ratio %.2f ratio\n", took(ours)/took(bare))
	fmt.Printf("bench database_create_goose_ratio %.2f ratio\n", took(ours)/took(gooses))
}

// TestBenchSchemas compares a schema with twenty migrations with one that goose migrates by hand.
//
//nolint:paralleltest // what it measures is what the machine does meanwhile
func TestBenchSchemas(t *testing.T) {
	const rounds = 30
	w := newWorld(t, "15", tenant.IsolationSchema)
	x := newTenants(t, w, release())
	x.ensure(t, x.spec(t, "warm-up"))
	admin := w.connect(t, at(t, w.url, w.shared[w.ours], nil))
	defer hangUp(t, admin)
	var gooses, ours []time.Duration
	for n := range rounds {
		name := w.ours + "_bare" + strconv.Itoa(n)
		gooses = append(gooses, timed(t, 1, func(int) {
			_, err := admin.Exec(t.Context(), "CREATE SCHEMA "+quoted(name))
			require.NoError(t, err)
			w.gooseUp(t, w.shared[w.ours], name, x.files)
		})...)
		spec := x.spec(t, tenant.ID("t"+strconv.Itoa(n)))
		ours = append(ours, timed(t, 1, func(int) {
			_, err := x.pool.Ensure(t.Context(), spec, tenant.NoJournal{})
			require.NoError(t, err)
		})...)
	}
	fmt.Printf("schema with goose %.1f ms, ours %.1f ms\n", took(gooses), took(ours))
	fmt.Printf("bench schema_create_ratio %.2f ratio\n", took(ours)/took(gooses))
}

// TestBenchFlat makes 500 tenants and compares the last fifty with the first.
//
//nolint:paralleltest // what it measures is what the machine does meanwhile
func TestBenchFlat(t *testing.T) {
	const many = 500
	w := newWorld(t, "15", tenant.IsolationDatabase)
	x := newTenants(t, w, release())
	x.ensure(t, x.spec(t, "warm-up"))
	times := timed(t, many, func(n int) {
		_, err := x.pool.Ensure(t.Context(), x.spec(t, tenant.ID("t"+strconv.Itoa(n))), tenant.NoJournal{})
		require.NoError(t, err)
	})
	fmt.Printf("first fifty %.1f ms, last fifty %.1f ms\n", took(times[:50]), took(times[many-50:]))
	fmt.Printf("bench database_flat_ratio %.2f ratio\n", took(times[many-50:])/took(times[:50]))

	files := release()
	files["00021_m.sql"] = "-- +goose Up\nALTER TABLE t0 ADD COLUMN more TEXT;\n"
	more := tenanttest.Migrations(t, files)
	start := time.Now()
	for _, err := range atOnce(200, func(n int) error {
		spec := x.spec(t, tenant.ID("t"+strconv.Itoa(n)))
		spec.Migrations = more
		_, err := x.pool.Ensure(t.Context(), spec, tenant.NoJournal{})
		return err
	}) {
		require.NoError(t, err)
	}
	fmt.Printf("bench migrate_200_s %.2f s\n", time.Since(start).Seconds())
}
