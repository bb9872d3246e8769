package migrations_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/migrations"
	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

func load(tb testing.TB, files map[string]string) tenant.Migrations {
	tb.Helper()
	out, err := migrations.Load(folder(tb, files))
	require.NoError(tb, err)
	return out
}

func target(tb testing.TB) migrations.Target {
	tb.Helper()
	db, err := sqlitefile.Open(filepath.Join(tb.TempDir(), "a.db"))
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	return migrations.Target{
		DB:       db,
		Dialect:  migrations.SQLite(),
		Name:     "the database test-eu_acme",
		Classify: sqlitefile.Classify,
	}
}

func applied(tb testing.TB, target migrations.Target) []tenant.Migration {
	tb.Helper()
	out, err := migrations.Applied(tb.Context(), target.DB, target.Dialect)
	require.NoError(tb, err)
	return out
}

func count(tb testing.TB, db *sql.DB, query string) int {
	tb.Helper()
	var out int
	require.NoError(tb, db.QueryRowContext(tb.Context(), query).Scan(&out))
	return out
}

const tables = `SELECT count(*) FROM sqlite_master`

func three() map[string]string {
	return map[string]string{
		"00001_a.sql": "-- +goose Up\nCREATE TABLE a (id INTEGER PRIMARY KEY, name TEXT);\n",
		"00002_b.sql": "-- +goose NO TRANSACTION\n-- +goose Up\nCREATE INDEX IF NOT EXISTS a_name ON a (name);\n",
		"00003_c.sql": "-- +goose Up\nINSERT INTO a (name) VALUES ('x');\n",
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	to, files := target(t), load(t, three())
	require.Empty(t, applied(t, to))
	require.Zero(t, count(t, to.DB, tables), "reading writes nothing")

	got, err := migrations.Apply(t.Context(), to, files)
	require.NoError(t, err)
	require.Equal(t, files.Files, got)
	require.Equal(t, files.Files, applied(t, to))
	require.Equal(t, 1, count(t, to.DB, `SELECT count(*) FROM a`))

	again, err := migrations.Apply(t.Context(), to, files)
	require.NoError(t, err)
	require.Equal(t, files.Files, again)
	require.Equal(t, 1, count(t, to.DB, `SELECT count(*) FROM a`))

	more := three()
	more["00004_d.sql"] = "-- +goose Up\nINSERT INTO a (name) VALUES ('y');\n"
	got, err = migrations.Apply(t.Context(), to, load(t, more))
	require.NoError(t, err)
	require.Len(t, got, 4)
	require.Equal(t, 2, count(t, to.DB, `SELECT count(*) FROM a`))
}

func TestApplyRefusesBeforeAnyChange(t *testing.T) {
	t.Parallel()
	to := target(t)
	_, err := migrations.Apply(t.Context(), to, load(t, three()))
	require.NoError(t, err)
	before := applied(t, to)

	edited := three()
	edited["00002_b.sql"] += "-- a remark\n"
	edited["00004_d.sql"] = "-- +goose Up\nDELETE FROM a;\n"
	_, err = migrations.Apply(t.Context(), to, load(t, edited))
	require.Truef(t, tenant.HasCode(err, tenant.CodeMigrationEdited), "%v", err)
	require.ErrorContains(t, err, "00002_b.sql")
	require.Equal(t, before, applied(t, to))
	require.Equal(t, 1, count(t, to.DB, `SELECT count(*) FROM a`))
}

func TestApplyNamesTheFailedFile(t *testing.T) {
	t.Parallel()
	to, bad := target(t), three()
	bad["00003_c.sql"] = "-- +goose Up\nINSERT INTO a (name) VALUES ('x');\nINSERT INTO nowhere VALUES (1);\n"
	got, err := migrations.Apply(t.Context(), to, load(t, bad))
	require.Truef(t, tenant.HasCode(err, tenant.CodeMigrationFailed), "%v", err)
	require.ErrorContains(t, err, "00003_c.sql")
	require.ErrorContains(t, err, "the database test-eu_acme")
	require.ErrorContains(t, err, "00001_a.sql, 00002_b.sql")
	require.Len(t, got, 2)
	require.Equal(t, got, applied(t, to), "those before it stay applied")
	require.Zero(t, count(t, to.DB, `SELECT count(*) FROM a`), "the failed one left nothing")

	got, err = migrations.Apply(t.Context(), to, load(t, three()))
	require.NoError(t, err, "mended, it goes on")
	require.Len(t, got, 3)
}

func TestApplyKeepsTheCodeOfWhatIsNoFaultOfTheFile(t *testing.T) {
	t.Parallel()
	to := target(t)
	ctx, cancel := context.WithCancel(t.Context())
	ctx = tenant.WithFailpoint(ctx, func(string) { cancel() })
	_, err := migrations.Apply(ctx, to, load(t, three()))
	require.Truef(t, tenant.HasCode(err, tenant.CodeCanceled), "%v", err)
	require.Len(t, applied(t, to), 1)
}

func TestApplyAfterGooseByHand(t *testing.T) {
	t.Parallel()
	to, files := target(t), load(t, three())
	byHand, err := goose.NewProvider(goose.DialectSQLite3, to.DB, files.FS)
	require.NoError(t, err)
	_, err = byHand.UpTo(t.Context(), 2)
	require.NoError(t, err)
	seen := applied(t, to)
	require.Len(t, seen, 2)
	require.Empty(t, seen[0].SHA256, "nobody knows what was applied")

	got, err := migrations.Apply(t.Context(), to, files)
	require.NoError(t, err)
	require.Equal(t, files.Files, got)
	require.Equal(t, files.Files, applied(t, to))

	_, err = byHand.Down(t.Context())
	require.NoError(t, err)
	require.Len(t, applied(t, to), 2, "what goose has taken back is not applied")
	_, err = migrations.Apply(t.Context(), to, files)
	require.NoError(t, err)
	require.Equal(t, files.Files, applied(t, to))
}

func TestApplyCutAnywhere(t *testing.T) {
	t.Parallel()
	tenanttest.CrashEverywhere(t, func(t *testing.T, _ int) (func(context.Context) error, func(*testing.T)) {
		to, files := target(t), load(t, three())
		work := func(ctx context.Context) error {
			_, err := migrations.Apply(ctx, to, files)
			return err
		}
		return work, func(t *testing.T) {
			require.Equal(t, files.Files, applied(t, to))
			require.Equal(t, 1, count(t, to.DB, `SELECT count(*) FROM a`))
		}
	})
}
