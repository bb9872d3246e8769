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
	// Only a file that this very call makes is opened here: closing a descriptor of a file drops every POSIX lock that
	// this process holds on it, those of its other connections included (https://www.sqlite.org/howtocorrupt.html,
	// section 2.2).
	//nolint:gosec // the caller's own configured path
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return open(path, "rwc", wal)
	case err != nil:
		return nil, tenant.Fail(tenant.CodeStorage, "making "+path, err)
	}
	if err := file.Close(); err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, "making "+path, err)
	}
	return open(path, "rwc", wal)
}

// OpenExisting is Open for a file that must exist already; tenant.ErrAbsent if it does not.
func OpenExisting(path string) (*sql.DB, error) { return openExisting(path, wal) }

// OpenAsIs is OpenExisting without a change of the journal mode: opening and reading leave the file byte for byte as
// it is, which matters as long as nobody knows whose it is.
func OpenAsIs(path string) (*sql.DB, error) { return openExisting(path, "") }

func openExisting(path, journal string) (*sql.DB, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, tenant.ErrAbsent
	} else if err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, "looking for "+path, err)
	}
	return open(path, "rw", journal)
}

// OpenScratch opens an existing file that nobody else knows of yet, without any care for a loss of power: whoever
// publishes it syncs it first.
func OpenScratch(path string) (*sql.DB, error) {
	return open(path, "rw", "", "locking_mode(EXCLUSIVE)", "synchronous(OFF)")
}

const wal = "WAL"

func open(path, mode, journal string, pragmas ...string) (*sql.DB, error) {
	query := url.Values{}
	query.Set("mode", mode)
	query.Set("_txlock", "immediate")
	query.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", BusyTimeout.Milliseconds()))
	if journal != "" {
		query.Add("_pragma", "journal_mode("+journal+")")
	}
	if len(pragmas) == 0 {
		pragmas = []string{"synchronous(FULL)"}
	}
	for _, pragma := range pragmas {
		query.Add("_pragma", pragma)
	}
	query.Add("_pragma", "foreign_keys(1)")
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+query.Encode())
	if err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, "opening "+path, err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// Migrate brings the file's own tables up to date with the goose files at the root of files. A file lock beside it
// keeps two processes from doing the first migration at once.
func Migrate(ctx context.Context, db *sql.DB, path string, files fs.FS) (err error) {
	doing := "migrating " + path
	lock, err := Acquire(ctx, path+".migrate.lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	runner, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return tenant.Fail(tenant.CodeInternal, doing, err)
	}
	if _, err := runner.Up(ctx); err != nil {
		return Classify(doing, err)
	}
	return nil
}

// Classify turns an error of SQLite into a Failure by its result code (https://www.sqlite.org/rescode.html); nil and
// an error that already is a Failure keep what they are.
func Classify(doing string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return tenant.Fail(tenant.CodeCanceled, doing, err)
	}
	return tenant.Fail(codeOf(ResultCode(err)), doing, err)
}

// ResultCode returns the primary result code of SQLite in err's chain, or SQLITE_INTERNAL if there is none.
func ResultCode(err error) int {
	var fault *sqlite.Error
	if !errors.As(err, &fault) {
		return sqlite3.SQLITE_INTERNAL
	}
	return fault.Code() & 0xff
}

func codeOf(primary int) tenant.Code {
	switch primary {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return tenant.CodeBusy
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY,
		sqlite3.SQLITE_PERM:
		return tenant.CodeStorage
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return tenant.CodeCorrupt
	case sqlite3.SQLITE_CONSTRAINT:
		return tenant.CodeConflict
	case sqlite3.SQLITE_INTERRUPT:
		return tenant.CodeCanceled
	default:
		return tenant.CodeInternal
	}
}
