// Package sqlitefile opens SQLite files the one way that is safe when several processes use them at once.
package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// BusyTimeout is how long a connection waits for another's lock before it fails with CodeBusy.
const BusyTimeout = 10 * time.Second

// Open returns a pool on the file, creating it (0600) and its folder (0700). Transactions are immediate: a deferred one
// that turns into a writer fails at once under load, whatever the busy timeout
// (https://www.sqlite.org/lang_transaction.html). The pool has one connection: never use it inside an open
// transaction of its own.
func Open(path string) (*sql.DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, "making the folder of "+path, err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the caller's own configured path
	if err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, "opening "+path, err)
	}
	if err := file.Close(); err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, "opening "+path, err)
	}
	return open(path, "rwc")
}

// OpenExisting is Open for a file that must exist already; tenant.ErrAbsent if it does not.
func OpenExisting(path string) (*sql.DB, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, tenant.ErrAbsent
	} else if err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, "looking for "+path, err)
	}
	return open(path, "rw")
}

func open(path, mode string) (*sql.DB, error) {
	query := url.Values{}
	query.Set("mode", mode)
	query.Set("_txlock", "immediate")
	query.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", BusyTimeout.Milliseconds()))
	query.Add("_pragma", "journal_mode(WAL)")
	query.Add("_pragma", "synchronous(FULL)")
	query.Add("_pragma", "foreign_keys(1)")
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+query.Encode())
	if err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, "opening "+path, err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// Migrate brings the file's own tables up to date with the goose files at the root of files. A file lock beside it keeps two
// processes from doing the first migration at once.
func Migrate(ctx context.Context, db *sql.DB, path string, files fs.FS) (err error) {
	doing := "migrating " + path
	lock := flock.New(path + ".migrate.lock")
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return tenant.Fail(tenant.CodeBusy, doing, err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	runner, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	if err != nil {
		return tenant.Fail(tenant.CodeInternal, doing, err)
	}
	if _, err := runner.Up(ctx); err != nil {
		return Classify(doing, err)
	}
	return nil
}

// Classify turns an error of SQLite into a Failure by its result code (https://www.sqlite.org/rescode.html); nil and an error
// that already is a Failure keep what they are.
func Classify(doing string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return tenant.Fail(tenant.CodeCanceled, doing, err)
	}
	var fault *sqlite.Error
	if !errors.As(err, &fault) {
		return tenant.Fail(tenant.CodeInternal, doing, err)
	}
	return tenant.Fail(codeOf(fault.Code()), doing, err)
}

func codeOf(result int) tenant.Code {
	switch result & 0xff { // the primary result code
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return tenant.CodeBusy
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY,
		sqlite3.SQLITE_PERM, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return tenant.CodeStorage
	case sqlite3.SQLITE_CONSTRAINT:
		return tenant.CodeConflict
	case sqlite3.SQLITE_INTERRUPT:
		return tenant.CodeCanceled
	default:
		return tenant.CodeInternal
	}
}
