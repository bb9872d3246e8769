package sqlite_test

import (
	"fmt"
	"strconv"
	"syscall"
	"testing"
	"time"

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
			"CREATE TABLE t%d (id INTEGER PRIMARY KEY, name TEXT NOT NULL, amount NUMERIC(12,2), parent INTEGER REFERENCES t0 (id));",
			n,
		)
	}
	for n := range 5 {
		add("CREATE INDEX t%d_name ON t%d (name);", n, n)
		add("INSERT INTO t%d (name) VALUES ('a'), ('b'), ('c');", n)
	}
	return files
}

// chart is a chart of accounts of fifty rows.
func chart() tenant.SeedTable {
	table := tenant.SeedTable{Name: "t0", Key: []string{"id"}}
	for n := range 50 {
		id, name, amount := strconv.Itoa(1000+n), "Account "+strconv.Itoa(n), "0.10"
		table.Rows = append(table.Rows, tenant.Row{"id": &id, "name": &name, "amount": &amount})
	}
	return table
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// measure reports CPU beside wall time and prints the one line that a benchmark of this project ends with.
func measure(b *testing.B, name string, work func(n int)) {
	b.Helper()
	before, n := cpu(b), 0
	for b.Loop() {
		work(n)
		n++
	}
	spent := float64(cpu(b)-before) / float64(n) / float64(time.Millisecond)
	b.ReportMetric(spent, "cpu-ms/op")
	b.Logf("bench %s %.2f ms", name, spent)
}

func BenchmarkEnsure(b *testing.B) {
	pool, files := backend(b, b.TempDir()), tenanttest.Migrations(b, release())
	spec := func(n int) tenant.DatabaseSpec {
		id := tenant.ID("t" + strconv.Itoa(n+1))
		name, err := pool.DatabaseName(id, tenant.IsolationDatabase)
		require.NoError(b, err)
		place := tenant.Place{Pool: "embedded", Isolation: tenant.IsolationDatabase, Name: name}
		return tenant.DatabaseSpec{Tenant: id, Place: place, Migrations: files}
	}
	ensure := func(n int) {
		database, err := pool.Ensure(b.Context(), spec(n), tenant.NoJournal{})
		require.NoError(b, err)
		require.Len(b, database.Applied, 20)
	}
	seed := func(n int) {
		at := spec(n)
		_, err := pool.Seeds().Apply(b.Context(), tenant.SeedSpec{
			Tenant: at.Tenant, Place: at.Place, Tables: []tenant.SeedTable{chart()}, OnEdit: tenant.KeepEdits,
		}, tenant.NoJournal{})
		require.NoError(b, err)
	}
	ensure(-1)
	created := 0
	b.Run("create", func(b *testing.B) {
		measure(b, "sqlite_create_cpu", func(int) {
			ensure(created)
			created++
		})
	})
	seeded := 0
	b.Run("seed", func(b *testing.B) {
		measure(b, "sqlite_seed_cpu", func(int) {
			if seeded == created {
				ensure(created)
				created++
			}
			seed(seeded)
			seeded++
		})
	})
	b.Run("again", func(b *testing.B) { measure(b, "sqlite_ensure_again_cpu", func(int) { ensure(-1) }) })
	b.Run("seed again", func(b *testing.B) { measure(b, "sqlite_seed_again_cpu", func(int) { seed(0) }) })
	b.Run("read", func(b *testing.B) {
		measure(b, "sqlite_read_cpu", func(int) {
			_, err := pool.Read(b.Context(), spec(-1).Tenant, spec(-1).Place)
			require.NoError(b, err)
		})
	})
	b.Run("read seed", func(b *testing.B) {
		measure(b, "sqlite_read_seed_cpu", func(int) {
			_, err := pool.Seeds().Read(b.Context(), spec(0).Tenant, spec(0).Place)
			require.NoError(b, err)
		})
	})
}
