package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlite"
	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

// world is one pool with the specs of its tenants.
type world struct {
	dir  string
	pool *sqlite.Backend
}

func newWorld(tb testing.TB) world {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "pool")
	return world{dir, backend(tb, dir)}
}

func (w world) spec(tb testing.TB, id tenant.ID, files map[string]string) tenant.DatabaseSpec {
	tb.Helper()
	name, err := w.pool.DatabaseName(id, tenant.IsolationDatabase)
	require.NoError(tb, err)
	place := tenant.Place{Pool: "embedded", Isolation: tenant.IsolationDatabase, Name: name}
	return tenant.DatabaseSpec{Tenant: id, Place: place, Migrations: tenanttest.Migrations(tb, files)}
}

func (w world) path(spec tenant.DatabaseSpec) string {
	return filepath.Join(w.dir, spec.Place.Name+".db")
}

func (w world) ensure(tb testing.TB, spec tenant.DatabaseSpec) tenant.Database {
	tb.Helper()
	out, err := w.pool.Ensure(tb.Context(), spec, tenant.NoJournal{})
	require.NoError(tb, err)
	return out
}

func requireCode(tb testing.TB, code tenant.Code, err error) {
	tb.Helper()
	require.Truef(tb, tenant.HasCode(err, code), "want %s, got: %v", code, err)
}

func oneFile(statements string) map[string]string {
	return map[string]string{"00001_a.sql": "-- +goose Up\n" + statements + "\n"}
}

func one(tb testing.TB, path, query string) string {
	tb.Helper()
	db := application(tb, path)
	var out sql.NullString
	require.NoError(tb, db.QueryRowContext(tb.Context(), query).Scan(&out))
	require.NoError(tb, db.Close())
	return out.String
}

func run(tb testing.TB, path, statements string) {
	tb.Helper()
	db := application(tb, path)
	_, err := db.ExecContext(tb.Context(), statements)
	require.NoError(tb, err)
	require.NoError(tb, db.Close())
}

func TestNames(t *testing.T) {
	t.Parallel()
	pool := newWorld(t).pool
	name, err := pool.DatabaseName("acme", tenant.IsolationDatabase)
	require.NoError(t, err)
	require.Equal(t, "test-eu_acme", name)
	long, _ := tenanttest.LongIDs()
	name, err = pool.DatabaseName(long, tenant.IsolationDatabase)
	require.NoError(t, err)
	require.Len(t, name, tenant.DatabaseNameMax)
	for _, isolation := range []tenant.Isolation{tenant.IsolationSchema, tenant.IsolationRow, ""} {
		_, err = pool.DatabaseName("acme", isolation)
		requireCode(t, tenant.CodeInvalidConfig, err)
		require.ErrorContains(t, err, `"database"`)
	}
}

// TestForeignKinds puts all sorts of things in the way; each is refused by name and stays as it is.
func TestForeignKinds(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(t *testing.T, w world, path string){
		"text":       func(t *testing.T, _ world, path string) { write(t, path, "notes of mine") },
		"empty":      func(t *testing.T, _ world, path string) { write(t, path, "") },
		"a folder":   func(t *testing.T, _ world, path string) { require.NoError(t, os.Mkdir(path, 0o700)) },
		"a database": func(t *testing.T, _ world, path string) { plant(t, path, "CREATE TABLE a (id INTEGER)") },
		"a database with a log": func(t *testing.T, _ world, path string) {
			plant(t, path, "PRAGMA journal_mode = WAL; CREATE TABLE a (id INTEGER)")
		},
		"a table of our name": func(t *testing.T, _ world, path string) {
			plant(t, path, "CREATE TABLE tenantry_meta (id INTEGER, brand TEXT)")
		},
		"an empty table of our name": func(t *testing.T, _ world, path string) {
			plant(t, path, "CREATE TABLE tenantry_meta (id INTEGER, mark TEXT)")
		},
		"a rewritten mark": func(t *testing.T, _ world, path string) {
			plant(t, path, "CREATE TABLE tenantry_meta (id INTEGER, mark TEXT)")
			plant(t, path, "INSERT INTO tenantry_meta VALUES (1, 'tenantry1:test-eu:acme:k1:AAAA')")
		},
		"a copy of another tenant's": func(t *testing.T, w world, path string) {
			other := w.spec(t, "globex", nil)
			w.ensure(t, other)
			contents, err := os.ReadFile(w.path(other))
			require.NoError(t, err)
			write(t, path, string(contents))
		},
		"a link to another tenant's": func(t *testing.T, w world, path string) {
			other := w.spec(t, "globex", nil)
			w.ensure(t, other)
			require.NoError(t, os.Symlink(w.path(other), path))
		},
		"a link to nowhere": func(t *testing.T, _ world, path string) {
			require.NoError(t, os.Symlink("/nowhere/at all", path))
		},
	}
	for name, put := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			spec := w.spec(t, "acme", oneFile("CREATE TABLE a (id INTEGER);"))
			require.NoError(t, os.MkdirAll(w.dir, 0o700))
			put(t, w, w.path(spec))
			before, journal := printOf(t, w.path(spec)), &tenanttest.Journal{}
			_, err := w.pool.Ensure(t.Context(), spec, journal)
			requireCode(t, tenant.CodeForeign, err)
			require.ErrorIs(t, err, tenant.ErrForeign)
			require.ErrorContains(t, err, w.path(spec))
			_, err = w.pool.Read(t.Context(), "acme", spec.Place)
			requireCode(t, tenant.CodeForeign, err)
			for _, how := range []tenant.OnDestroy{tenant.Drop, tenant.Archive} {
				requireCode(
					t,
					tenant.CodeForeign,
					w.pool.Delete(t.Context(), "acme", spec.Place, tenant.Disposal{How: how}, journal),
				)
			}
			require.Equal(t, before, printOf(t, w.path(spec)))
			require.Empty(t, journal.Events)
		})
	}
}

func write(tb testing.TB, path, contents string) {
	tb.Helper()
	require.NoError(tb, os.WriteFile(path, []byte(contents), 0o600))
}

func TestUnknownKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.spec(t, "acme", nil)
	w.ensure(t, spec)
	ring := func(ids ...string) *tenant.Keyring {
		var keys []tenant.Key
		for _, id := range ids {
			keys = append(
				keys,
				tenant.Key{ID: id, Secret: bytes.Repeat([]byte{id[1] - '0' + 6}, tenant.MinKeyLen)},
			)
		}
		out, err := tenant.NewKeyring(tenanttest.Installation, keys)
		require.NoError(t, err)
		return out
	}
	forgotten := sqlite.New(sqlite.Config{Dir: w.dir, Keyring: ring("k2")})
	_, err := forgotten.Read(t.Context(), "acme", spec.Place)
	requireCode(t, tenant.CodeUnknownKey, err)
	_, err = forgotten.Ensure(t.Context(), spec, tenant.NoJournal{})
	requireCode(t, tenant.CodeUnknownKey, err)
	requireCode(
		t,
		tenant.CodeUnknownKey,
		forgotten.Delete(
			t.Context(),
			"acme",
			spec.Place,
			tenant.Disposal{How: tenant.Drop},
			tenant.NoJournal{},
		),
	)
	listed, err := forgotten.ListDatabases(t.Context())
	requireCode(t, tenant.CodeUnknownKey, err)
	require.Empty(t, listed)

	rotated := sqlite.New(sqlite.Config{Dir: w.dir, Keyring: ring("k2", "k1")})
	_, err = rotated.Read(t.Context(), "acme", spec.Place)
	require.NoError(t, err, "a key that stands behind still proves what it marked")
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.spec(t, "acme", nil)
	w.ensure(t, spec)
	mode := func(path string) os.FileMode {
		info, err := os.Stat(path)
		require.NoError(t, err)
		return info.Mode().Perm()
	}
	require.Equal(t, os.FileMode(0o700), mode(w.dir))
	require.Equal(t, os.FileMode(0o600), mode(w.path(spec)))
	require.Equal(t, "wal", one(t, w.path(spec), "PRAGMA journal_mode"))

	// Somebody opens the file for writing behind our back: it is seen, and mended.
	spec.ReadOnly = true
	w.ensure(t, spec)
	require.Equal(t, os.FileMode(0o400), mode(w.path(spec)))
	require.NoError(t, os.Chmod(w.path(spec), 0o600))
	seen, err := w.pool.Read(t.Context(), "acme", spec.Place)
	require.NoError(t, err)
	require.False(t, seen.ReadOnly)
	w.ensure(t, spec)
	require.Equal(t, os.FileMode(0o400), mode(w.path(spec)))

	require.NoError(
		t,
		w.pool.Delete(
			t.Context(),
			"acme",
			spec.Place,
			tenant.Disposal{How: tenant.Archive},
			tenant.NoJournal{},
		),
	)
	archives := glob(t, filepath.Join(w.dir, "archive"), "*")
	require.Equal(t, []string{"test-eu_acme-20260301T120000Z.db"}, archives)
	require.Equal(t, os.FileMode(0o400), mode(filepath.Join(w.dir, "archive", archives[0])))
}

// TestLogOfAnApplication has an application that was killed: its last writes are in the log beside the file.
func TestLogOfAnApplication(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.spec(t, "acme", oneFile("CREATE TABLE a (id INTEGER);"))
	w.ensure(t, spec)
	db := application(t, w.path(spec))
	_, err := db.ExecContext(t.Context(), "INSERT INTO a VALUES (1)")
	require.NoError(t, err)
	require.FileExists(t, w.path(spec)+"-wal")

	closed := spec
	closed.ReadOnly = true
	require.True(t, w.ensure(t, closed).ReadOnly, "closing does not wait for the application")
	require.False(t, w.ensure(t, spec).ReadOnly)

	err = w.pool.Delete(
		t.Context(),
		"acme",
		spec.Place,
		tenant.Disposal{How: tenant.Archive},
		tenant.NoJournal{},
	)
	requireCode(t, tenant.CodeBusy, err)
	require.NoError(t, db.Close())
	require.NoError(
		t,
		w.pool.Delete(
			t.Context(),
			"acme",
			spec.Place,
			tenant.Disposal{How: tenant.Archive},
			tenant.NoJournal{},
		),
	)
	archived := filepath.Join(w.dir, "archive", glob(t, filepath.Join(w.dir, "archive"), "*")[0])
	require.Equal(t, "1", one(t, archived, "SELECT count(*) FROM a"))

	w.ensure(t, spec)
	db = application(t, w.path(spec))
	_, err = db.ExecContext(t.Context(), "INSERT INTO a VALUES (1)")
	require.NoError(t, err)
	require.NoError(
		t,
		w.pool.Delete(t.Context(), "acme", spec.Place, tenant.Disposal{How: tenant.Drop}, tenant.NoJournal{}),
	)
	require.NoError(t, db.Close())
	require.Empty(t, leftovers(t, w.dir))
	w.ensure(t, spec)
	require.Equal(
		t,
		"0",
		one(t, w.path(spec), "SELECT count(*) FROM a"),
		"nothing of the dropped one comes back",
	)
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	templates := func() []string { return glob(t, filepath.Join(w.dir, ".templates"), "*") }
	files := oneFile("CREATE TABLE a (id INTEGER);")
	w.ensure(t, w.spec(t, "acme", files))
	first := templates()
	require.Len(t, first, 1)
	w.ensure(t, w.spec(t, "globex", files))
	require.Equal(t, first, templates(), "built once")

	for n := range 8 {
		files["0000"+strconv.Itoa(n+2)+"_more.sql"] = "-- +goose Up\nINSERT INTO a VALUES (1);\n"
		spec := w.spec(t, tenant.ID("t"+strconv.Itoa(n)), files)
		w.ensure(t, spec)
		require.Equal(t, strconv.Itoa(n+1), one(t, w.path(spec), "SELECT count(*) FROM a"))
	}
	require.LessOrEqual(t, len(templates()), 5, "those of past releases go")
	w.ensure(t, w.spec(t, "initech", oneFile("CREATE TABLE a (id INTEGER);")))
}

// TestChance has a migration make a secret: no two tenants may get the same one.
func TestChance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secrets := map[string]bool{}
	for _, id := range []tenant.ID{"acme", "globex", "initech"} {
		spec := w.spec(
			t,
			id,
			oneFile("CREATE TABLE a (secret TEXT); INSERT INTO a VALUES (hex(RandomBlob(16)));"),
		)
		require.Len(t, w.ensure(t, spec).Applied, 1)
		secrets[one(t, w.path(spec), "SELECT secret FROM a")] = true
	}
	require.Len(t, secrets, 3)
}

// TestPoolCountsTenants has files in the folder that are no tenants and take no place.
func TestPoolCountsTenants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.spec(t, "acme", nil), w.spec(t, "globex", nil)
	first.MaxTenants, second.MaxTenants = 1, 1
	require.NoError(t, os.MkdirAll(w.dir, 0o700))
	write(t, filepath.Join(w.dir, "test-eu_theirs.db"), "something else")
	write(t, filepath.Join(w.dir, "prod_acme.db"), "a neighbour's")
	w.ensure(t, first)
	_, err := w.pool.Ensure(t.Context(), second, tenant.NoJournal{})
	requireCode(t, tenant.CodePoolFull, err)
	require.ErrorContains(t, err, "1 of 1")
}

// TestListDespiteDamage has one file that can't be read: the others are listed.
func TestListDespiteDamage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range []tenant.ID{"acme", "globex"} {
		w.ensure(t, w.spec(t, id, oneFile("CREATE TABLE a (id INTEGER);")))
	}
	damaged := w.path(w.spec(t, "globex", nil))
	contents, err := os.ReadFile(damaged)
	require.NoError(t, err)
	write(t, damaged, string(contents[:100])+string(bytes.Repeat([]byte{0xff}, len(contents)-100)))
	listed, err := w.pool.ListDatabases(t.Context())
	requireCode(t, tenant.CodeCorrupt, err)
	require.ErrorContains(t, err, damaged)
	require.Len(t, listed, 1)
	require.Contains(t, listed, tenant.ID("acme"))
}

func TestStorage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	write(t, w.dir, "a file where the folder should be")
	spec := w.spec(t, "acme", nil)
	_, err := w.pool.Ensure(t.Context(), spec, tenant.NoJournal{})
	requireCode(t, tenant.CodeStorage, err)
	_, err = w.pool.Read(t.Context(), "acme", spec.Place)
	requireCode(t, tenant.CodeStorage, err)
	_, err = w.pool.ListDatabases(t.Context())
	requireCode(t, tenant.CodeStorage, err)
}

// TestDiskFull bounds the file, which SQLite reports as it does a full disk.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	files := oneFile("CREATE TABLE a (id INTEGER);")
	w.ensure(t, w.spec(t, "acme", files))
	files["00002_b.sql"] = "-- +goose Up\nPRAGMA max_page_count = 1;\nCREATE TABLE b (id INTEGER);\nCREATE TABLE c (id INTEGER);\n"
	_, err := w.pool.Ensure(t.Context(), w.spec(t, "acme", files), tenant.NoJournal{})
	requireCode(t, tenant.CodeStorage, err)
	require.Equal(t, tenant.Retryable, tenant.FailureOf(err).Class)
}

// TestTenantBusy has another process work on the tenant for longer than anybody waits.
func TestTenantBusy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.spec(t, "acme", nil)
	lock, err := sqlitefile.Acquire(t.Context(), filepath.Join(w.dir, ".locks", spec.Place.Name+".lock"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = w.pool.Ensure(ctx, spec, tenant.NoJournal{})
	requireCode(t, tenant.CodeCanceled, err)
	w.ensure(t, w.spec(t, "globex", nil)) // the others go on
	require.NoError(t, lock.Release())
	w.ensure(t, spec)
}
