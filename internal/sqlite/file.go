package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/tenantry/terraform-provider-tenant/internal/migrations"
	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// The modes of a database's file. SQLite has no roles, so a read-only database is a file that may not be written: its
// mode is the whole of the truth, and nothing else remembers it. A process that has the file open for writing keeps
// what it has until it opens it again, and root writes whatever the mode.
const (
	writableMode fs.FileMode = 0o600
	readOnlyMode fs.FileMode = 0o400
)

// The schema of our own tables in a tenant's file, beside those of migrations: the mark, and what is remembered of the seed.
const schema = `
CREATE TABLE IF NOT EXISTS tenantry_meta (
	id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1), mark TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS tenantry_seed (
	id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1), mark TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS tenantry_seed_rows (
	position INTEGER NOT NULL PRIMARY KEY, table_name TEXT NOT NULL, key_columns TEXT NOT NULL, key TEXT NOT NULL,
	spec TEXT NOT NULL, written TEXT NOT NULL, dropped TEXT,
	UNIQUE (table_name, key_columns, key)) STRICT;`

// file is a tenant's database, opened and found to be ours.
type file struct {
	at       location
	db       *sql.DB
	readOnly bool
}

// open returns ErrAbsent if there is nothing, CodeForeign for whatever is not ours: another mark or none, no database
// at all, a folder, a link. It changes nothing. A location without a tenant is given the one that the mark proves.
func (b *Backend) open(ctx context.Context, at location) (*file, error) {
	info, err := os.Lstat(at.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, tenant.ErrAbsent
	case err != nil:
		return nil, tenant.Fail(tenant.CodeStorage, "looking for "+at.path, err)
	case !info.Mode().IsRegular():
		return nil, tenant.Fail(tenant.CodeForeign, "opening "+at.path,
			errors.Join(errors.New("it is no regular file"), tenant.ErrForeign))
	}
	db, err := sqlitefile.OpenAsIs(at.path)
	if err != nil {
		return nil, err
	}
	out := &file{at: at, db: db, readOnly: info.Mode()&0o200 == 0}
	mark, err := out.mark(ctx, "tenantry_meta")
	if err == nil {
		if out.at.tenant == "" {
			out.at.tenant, _ = b.config.Keyring.MarkedTenant(mark)
		}
		err = b.config.Keyring.Owns(out.at.object(), mark)
	}
	if err != nil {
		out.close()
		return nil, tenant.Fail(tenant.CodeForeign, "opening "+at.path, err)
	}
	return out, nil
}

// mark returns the mark in the table, "" if there is none to be found.
func (f *file) mark(ctx context.Context, table string) (string, error) {
	var mark string
	err := f.db.QueryRowContext(ctx, `SELECT mark FROM `+table+` WHERE id = 1`).Scan(&mark)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	switch sqlitefile.ResultCode(err) {
	case sqlite3.SQLITE_ERROR: // no such table or column
		return "", nil
	case sqlite3.SQLITE_NOTADB:
		return "", &tenant.Failure{
			Code:  tenant.CodeForeign,
			Doing: "reading the mark in " + f.at.path,
			Err:   errors.Join(errors.New("it is no SQLite database, or a damaged one"), tenant.ErrForeign),
			Remedy: "If this was the tenant's own database, restore it from a backup: a new one would be empty. Otherwise find " +
				"out who put it there.",
		}
	}
	return mark, sqlitefile.Classify("reading the mark in "+f.at.path, err)
}

func (f *file) applied(ctx context.Context) ([]tenant.Migration, error) {
	applied, err := migrations.Applied(ctx, f.db, migrations.SQLite())
	return applied, sqlitefile.Classify("reading the applied migrations of "+f.at.path, err)
}

// close gives the file back. Whatever was to be kept is committed before, so an error here takes nothing back.
func (f *file) close() { _ = f.db.Close() }

// standAlone moves the contents of the write-ahead log into the file, which then is the whole database. It fails with
// CodeBusy while another process has the database open.
func (f *file) standAlone(ctx context.Context) error {
	doing := "closing the write-ahead log of " + f.at.path
	mode, err := f.journalMode(ctx, "= DELETE")
	if err != nil {
		return sqlitefile.Classify(doing, err)
	}
	if mode != "delete" {
		return tenant.Fail(tenant.CodeBusy, doing, errors.New("another process has the database open"))
	}
	return nil
}

// journalMode sets the mode, or only returns it if set is "".
func (f *file) journalMode(ctx context.Context, set string) (string, error) {
	var mode string
	err := f.db.QueryRowContext(ctx, `PRAGMA journal_mode `+set).Scan(&mode)
	return mode, err
}

// writable returns the file opened for writing, read-only or not: the one given, or another in its place.
func (b *Backend) writable(ctx context.Context, f *file) (*file, error) {
	if !f.readOnly {
		return f, nil
	}
	f.close()
	if err := f.at.setMode(writableMode); err != nil {
		return nil, err
	}
	tenant.Failpoint(ctx, "database.unlocked")
	return b.open(ctx, f.at)
}

// setMode changes the database and those of its sidecars that there are.
func (l location) setMode(mode fs.FileMode) error {
	doing := "changing the permissions of " + l.path
	for _, path := range append(l.sidecars(), l.path) {
		if err := os.Chmod(path, mode); err != nil && (path == l.path || !errors.Is(err, fs.ErrNotExist)) {
			return tenant.Fail(tenant.CodeStorage, doing, err)
		}
	}
	return nil
}

// settle brings the file to the mode that the spec asks for. Without a write-ahead log a reader needs to write nothing,
// not even beside the file; where a process keeps the log open, it stays until that one is gone.
func (f *file) settle(ctx context.Context, readOnly bool) error {
	if !readOnly {
		return f.resumeLog(ctx)
	}
	if err := f.standAlone(ctx); err != nil && !tenant.HasCode(err, tenant.CodeBusy) {
		return err
	}
	f.close()
	tenant.Failpoint(ctx, "database.settled")
	return f.at.setMode(readOnlyMode)
}

// resumeLog sees to it that a writable file has its write-ahead log again, even if a kill fell between its two steps.
func (f *file) resumeLog(ctx context.Context) error {
	if f.readOnly {
		return nil
	}
	doing := "opening the write-ahead log of " + f.at.path
	mode, err := f.journalMode(ctx, "")
	if err != nil || mode == "wal" {
		return sqlitefile.Classify(doing, err)
	}
	_, err = f.journalMode(ctx, "= WAL")
	return sqlitefile.Classify(doing, err)
}

// remove removes a file that was never published.
func (l location) remove() error {
	if err := os.Remove(l.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return l.removeSidecars()
}

func (l location) removeSidecars() error {
	for _, path := range l.sidecars() {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return tenant.Fail(tenant.CodeStorage, "removing "+path, err)
		}
	}
	return nil
}
