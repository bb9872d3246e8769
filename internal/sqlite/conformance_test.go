package sqlite_test

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlite"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

func now() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func backend(tb testing.TB, dir string) *sqlite.Backend {
	tb.Helper()
	out := sqlite.New(sqlite.Config{Dir: dir, Keyring: tenanttest.Keyring(tb), Now: now})
	tb.Cleanup(func() { require.NoError(tb, out.Close()) })
	return out
}

func fixture(t *testing.T) tenanttest.DatabaseFixture {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a pool? 100%#")
	at := func(place tenant.Place) string { return filepath.Join(dir, place.Name+".db") }
	return tenanttest.DatabaseFixture{
		Databases: backend(t, dir),
		Again:     backend(t, dir),
		Neighbour: sqlite.New(
			sqlite.Config{Dir: dir, Keyring: tenanttest.KeyringOf(t, "neighbour"), Now: now},
		),
		Isolation: tenant.IsolationDatabase,
		Plant: func(t *testing.T, _ tenant.ID, place tenant.Place) {
			t.Helper()
			require.NoError(t, os.MkdirAll(dir, 0o700))
			plant(t, at(place), "CREATE TABLE theirs (id INTEGER); INSERT INTO theirs VALUES (1)")
		},
		Print: func(t *testing.T, _ tenant.ID, place tenant.Place) string {
			t.Helper()
			return printOf(t, at(place))
		},
		Objects: func(t *testing.T) []string {
			t.Helper()
			return glob(t, dir, "*.db")
		},
		Archives: func(t *testing.T) []string {
			t.Helper()
			return glob(t, filepath.Join(dir, "archive"), "*")
		},
		Leftovers: func(t *testing.T) []string {
			t.Helper()
			return leftovers(t, dir)
		},
		Exec: func(t *testing.T, _ tenant.ID, place tenant.Place, statements string) error {
			t.Helper()
			db := application(t, at(place))
			_, err := db.ExecContext(t.Context(), statements)
			return errors.Join(err, db.Close())
		},
		Query: func(t *testing.T, _ tenant.ID, place tenant.Place, query string) string {
			t.Helper()
			db := application(t, at(place))
			var out sql.NullString
			require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&out))
			require.NoError(t, db.Close())
			if !out.Valid {
				return "NULL"
			}
			return out.String
		},
	}
}

// application opens the file as a process without special rights would: the tests may run as root, whom no file mode
// stops.
func application(tb testing.TB, path string) *sql.DB {
	tb.Helper()
	info, err := os.Stat(path)
	require.NoError(tb, err)
	mode := "rw"
	if info.Mode()&0o200 == 0 {
		mode = "ro"
	}
	escaped := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	db, err := sql.Open(
		"sqlite",
		"file:"+escaped+"?mode="+mode+"&_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)",
	)
	require.NoError(tb, err)
	db.SetMaxOpenConns(1)
	return db
}

func plant(tb testing.TB, path, statements string) {
	tb.Helper()
	db, err := sql.Open(
		"sqlite",
		"file:"+strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path),
	)
	require.NoError(tb, err)
	_, err = db.ExecContext(tb.Context(), statements)
	require.NoError(tb, err)
	require.NoError(tb, db.Close())
}

// printOf is everything about the database's file and those beside it.
func printOf(tb testing.TB, path string) string {
	tb.Helper()
	out := ""
	paths, err := filepath.Glob(strings.NewReplacer("?", `\?`).Replace(path) + "*")
	require.NoError(tb, err)
	for _, path := range paths {
		info, err := os.Lstat(path)
		require.NoError(tb, err)
		out += fmt.Sprint(filepath.Base(path), info.Mode(), info.ModTime())
		if info.Mode().IsRegular() {
			contents, err := os.ReadFile(path)
			require.NoError(tb, err)
			out += fmt.Sprintf(" %x", sha256.Sum256(contents))
		}
		out += "\n"
	}
	return out
}

func glob(tb testing.TB, dir, pattern string) []string {
	tb.Helper()
	entries, err := os.ReadDir(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(tb, err)
	}
	var out []string
	for _, entry := range entries {
		if matched, err := filepath.Match(pattern, entry.Name()); err == nil && matched {
			out = append(out, entry.Name())
		}
	}
	return out
}

// leftovers are half-made files, logs of databases that nobody has open, and locks of databases that are gone.
func leftovers(tb testing.TB, dir string) []string {
	tb.Helper()
	var out []string
	require.NoError(tb, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if path == dir || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		require.NoError(tb, err)
		within, err := filepath.Rel(dir, path)
		require.NoError(tb, err)
		name := strings.TrimSuffix(entry.Name(), ".lock")
		switch filepath.Dir(within) {
		case ".":
			if !strings.HasSuffix(name, ".db") && !strings.HasPrefix(name, ".") && name != "archive" {
				out = append(out, within)
			}
		case ".locks":
			_, err := os.Lstat(filepath.Join(dir, name+".db"))
			if err != nil && !strings.HasPrefix(name, ".") {
				out = append(out, within)
			}
		case "archive", ".templates":
			if !strings.HasSuffix(name, ".db") {
				out = append(out, within)
			}
		default:
			out = append(out, within)
		}
		return nil
	}))
	return out
}

func TestDatabases(t *testing.T) {
	t.Parallel()
	tenanttest.Databases(t, fixture)
}

func TestDatabaseClaims(t *testing.T) {
	t.Parallel()
	tenanttest.DatabaseClaims(t, fixture)
}

func TestSeeds(t *testing.T) {
	t.Parallel()
	tenanttest.Seeds(t, func(t *testing.T) tenanttest.SeedFixture {
		t.Helper()
		databases := fixture(t)
		seeds := func(of tenant.Databases) tenant.Seeds {
			pool, ok := of.(*sqlite.Backend)
			require.True(t, ok)
			return pool.Seeds()
		}
		return tenanttest.SeedFixture{
			DatabaseFixture: databases,
			Seeds:           seeds(databases.Databases),
			SeedsAgain:      seeds(databases.Again),
			SeedsNeighbour:  seeds(databases.Neighbour),
		}
	})
}
