package sqlitefile_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a folder", "50% ? #.db")
	_, err := sqlitefile.OpenExisting(path)
	require.ErrorIs(t, err, tenant.ErrAbsent)
	_, err = sqlitefile.OpenAsIs(path)
	require.ErrorIs(t, err, tenant.ErrAbsent)

	db, err := sqlitefile.Open(path)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE TABLE a (id INTEGER)")
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	require.Equal(t, int64(10_000), sqlitefile.BusyTimeout.Milliseconds())
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "10000",
	} {
		var got string
		require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got))
		require.Equal(t, want, got, pragma)
	}
	require.NoError(t, db.Close())

	for _, open := range []func(string) error{
		func(path string) error {
			db, err := sqlitefile.Open(path)
			require.NoError(t, err)
			return db.PingContext(t.Context())
		},
		func(path string) error {
			db, err := sqlitefile.OpenExisting(path)
			require.NoError(t, err)
			return db.PingContext(t.Context())
		},
	} {
		require.NoError(t, open(path))
	}
}

// TestOpenTwice holds a lock by one pool of this process while another is opened: a descriptor that is closed in between
// would drop it.
func TestOpenTwice(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	one, err := sqlitefile.Open(path)
	require.NoError(t, err)
	_, err = one.ExecContext(t.Context(), "CREATE TABLE a (n INTEGER); INSERT INTO a VALUES (0)")
	require.NoError(t, err)
	const writers, times = 4, 25
	var group sync.WaitGroup
	failed := make([]error, writers)
	for n := range writers {
		group.Go(func() {
			for range times {
				if failed[n] == nil {
					failed[n] = increment(t.Context(), path)
				}
			}
		})
	}
	group.Wait()
	for _, err := range failed {
		require.NoError(t, err)
	}
	var sum int
	require.NoError(t, one.QueryRowContext(t.Context(), "SELECT n FROM a").Scan(&sum))
	require.Equal(t, writers*times, sum)
	require.NoError(t, one.Close())
}

func increment(ctx context.Context, path string) error {
	db, err := sqlitefile.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var n int
	if err := tx.QueryRowContext(ctx, "SELECT n FROM a").Scan(&n); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE a SET n = $1", n+1); err != nil {
		return err
	}
	return tx.Commit()
}

// TestOpenAsIs opens and reads a file of another making, which stays byte for byte as it is.
func TestOpenAsIs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	db, err := sqlitefile.OpenScratch(path)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE TABLE a (n INTEGER)")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	before, err := os.ReadFile(path)
	require.NoError(t, err)

	db, err = sqlitefile.OpenAsIs(path)
	require.NoError(t, err)
	var count int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM a").Scan(&count))
	require.NoError(t, db.Close())
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)
	left, err := filepath.Glob(path + "-*")
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	notAFolder := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(notAFolder, nil, 0o600))
	_, err := sqlitefile.Open(filepath.Join(notAFolder, "a.db"))
	require.Truef(t, tenant.HasCode(err, tenant.CodeStorage), "%v", err)
	_, err = sqlitefile.OpenExisting(filepath.Join(notAFolder, "a.db"))
	require.Truef(t, tenant.HasCode(err, tenant.CodeStorage), "%v", err)

	garbage := filepath.Join(dir, "garbage.db")
	require.NoError(t, os.WriteFile(garbage, make([]byte, 4096), 0o600))
	require.NoError(
		t,
		os.WriteFile(garbage, []byte("this is no database, however long it may be read for"), 0o600),
	)
	db, err := sqlitefile.OpenExisting(garbage)
	require.NoError(t, err)
	err = sqlitefile.Classify("reading", db.PingContext(t.Context()))
	require.Truef(t, tenant.HasCode(err, tenant.CodeCorrupt), "%v", err)
	require.NoError(t, db.Close())
}

func TestClassify(t *testing.T) {
	t.Parallel()
	require.NoError(t, sqlitefile.Classify("x", nil))
	known := tenant.Fail(tenant.CodeForeign, "y", tenant.ErrForeign)
	require.True(t, tenant.HasCode(sqlitefile.Classify("x", known), tenant.CodeForeign))
	require.True(t, tenant.HasCode(sqlitefile.Classify("x", context.Canceled), tenant.CodeCanceled))
	require.True(t, tenant.HasCode(sqlitefile.Classify("x", os.ErrClosed), tenant.CodeInternal))

	db, err := sqlitefile.Open(filepath.Join(t.TempDir(), "a.db"))
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE TABLE a (n INTEGER UNIQUE); INSERT INTO a VALUES (1)")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "INSERT INTO a VALUES (1)")
	require.True(t, tenant.HasCode(sqlitefile.Classify("x", err), tenant.CodeConflict))
	_, err = db.ExecContext(t.Context(), "SELECT nothing")
	require.True(t, tenant.HasCode(sqlitefile.Classify("x", err), tenant.CodeInternal))
	_, err = db.ExecContext(t.Context(), "PRAGMA query_only = 1; INSERT INTO a VALUES (2)")
	require.True(t, tenant.HasCode(sqlitefile.Classify("x", err), tenant.CodeStorage))
	require.NoError(t, db.Close())
}

func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	files := fstest.MapFS{"00001_a.sql": {Data: []byte("-- +goose Up\nCREATE TABLE a (id INTEGER);\n")}}
	var group sync.WaitGroup
	failed := make([]error, 6)
	for n := range failed {
		group.Go(func() {
			db, err := sqlitefile.Open(path)
			if err == nil {
				err = sqlitefile.Migrate(t.Context(), db, path, files)
			}
			failed[n] = err
			_ = db.Close()
		})
	}
	group.Wait()
	for _, err := range failed {
		require.NoError(t, err)
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "locks", "a.lock")
	inside, most := 0, 0
	var guard sync.Mutex
	var group sync.WaitGroup
	failed := make([]error, 8)
	for n := range failed {
		group.Go(func() {
			lock, err := sqlitefile.Acquire(t.Context(), path)
			if err != nil {
				failed[n] = err
				return
			}
			guard.Lock()
			inside++
			most = max(most, inside)
			guard.Unlock()
			guard.Lock()
			inside--
			guard.Unlock()
			if n%2 == 0 {
				failed[n] = lock.Remove()
				return
			}
			failed[n] = lock.Release()
		})
	}
	group.Wait()
	for _, err := range failed {
		require.NoError(t, err)
	}
	require.Equal(t, 1, most, "one at a time, also while the file is removed")
	lock, err := sqlitefile.Acquire(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, lock.Remove())
	require.NoFileExists(t, path)
	require.NoError(t, lock.Release(), "a second time")
}

func TestLockHeld(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	synctest.Test(t, func(t *testing.T) {
		held, err := sqlitefile.Acquire(t.Context(), path)
		require.NoError(t, err)
		began := time.Now()
		_, err = sqlitefile.Acquire(t.Context(), path)
		require.Truef(t, tenant.HasCode(err, tenant.CodeBusy), "%v", err)
		require.ErrorContains(t, err, path)
		require.Equal(t, sqlitefile.BusyTimeout, time.Since(began), "in the bubble's own time")

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = sqlitefile.Acquire(ctx, path)
		require.Truef(t, tenant.HasCode(err, tenant.CodeCanceled), "%v", err)
		require.NoError(t, held.Release())
	})
	blocked := filepath.Join(path, "below a file", "b.lock")
	_, err := sqlitefile.Acquire(t.Context(), blocked)
	require.Truef(t, tenant.HasCode(err, tenant.CodeStorage), "%v", err)
}
