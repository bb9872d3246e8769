package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// The tables in a tenant's database that say what is applied: goose's own, which is the truth, and ours beside it with a
// checksum for each version.
const (
	VersionsTable  = goose.DefaultTablename
	ChecksumsTable = "tenantry_migrations"
)

const createChecksums = `CREATE TABLE IF NOT EXISTS ` + ChecksumsTable +
	` (version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL)`

const recordChecksum = `INSERT INTO ` + ChecksumsTable + ` (version, name, sha256) VALUES ($1, $2, $3)
	ON CONFLICT (version) DO UPDATE SET name = excluded.name, sha256 = excluded.sha256`

// Dialect is the SQL of a database.
type Dialect struct {
	goose goose.Dialect
	exist string // of $1 and $2, how many are tables that an unqualified name finds
}

// SQLite is the dialect of SQLite 3.
func SQLite() Dialect {
	return Dialect{
		goose.DialectSQLite3,
		`SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ($1, $2)`,
	}
}

// PostgreSQL is the dialect of PostgreSQL; the tables are looked for along the session's search_path.
func PostgreSQL() Dialect {
	return Dialect{
		goose.DialectPostgres,
		`SELECT count(*) FROM (VALUES ($1::text), ($2::text)) AS t (name) WHERE to_regclass(quote_ident(name)) IS NOT NULL`,
	}
}

// Querier is what reading needs: an *sql.DB, *sql.Conn or *sql.Tx.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Applied returns the applied migrations in the order of their versions, without writing anything; none if goose has never
// been here. A version that somebody applied with goose alone has the SHA256 "", and a name that says so: its contents are not
// known. Errors are the driver's own.
func Applied(ctx context.Context, db Querier, dialect Dialect) ([]tenant.Migration, error) {
	withVersions, err := exist(ctx, db, dialect, VersionsTable)
	if err != nil || !withVersions {
		return nil, err
	}
	withChecksums, err := exist(ctx, db, dialect, ChecksumsTable)
	if err != nil {
		return nil, err
	}
	query := `SELECT DISTINCT v.version_id, c.name, c.sha256 FROM ` + VersionsTable + ` v LEFT JOIN ` +
		ChecksumsTable + ` c ON c.version = v.version_id WHERE v.version_id > 0 AND v.is_applied ORDER BY v.version_id`
	if !withChecksums {
		query = `SELECT DISTINCT version_id, NULL, NULL FROM ` + VersionsTable +
			` WHERE version_id > 0 AND is_applied ORDER BY version_id`
	}
	return scan(ctx, db, query)
}

func exist(ctx context.Context, db Querier, dialect Dialect, table string) (bool, error) {
	var count int
	err := db.QueryRowContext(ctx, dialect.exist, table, table).Scan(&count)
	return count > 0, err
}

func scan(ctx context.Context, db Querier, query string) (out []tenant.Migration, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var done tenant.Migration
		var name, sum sql.NullString
		if err := rows.Scan(&done.Version, &name, &sum); err != nil {
			return nil, err
		}
		done.Name, done.SHA256 = name.String, sum.String
		if !sum.Valid {
			done.Name = fmt.Sprintf("%05d_(applied by hand)", done.Version)
		}
		out = append(out, done)
	}
	return out, rows.Err()
}

// Target is a tenant's database, opened as the one who owns its tables.
type Target struct {
	DB       *sql.DB
	Dialect  Dialect
	Name     string // for messages
	Classify func(doing string, err error) error
}

// Apply applies the pending files one by one and returns what is then applied. Each file's statements, goose's version and our checksum are
// written in one transaction, so that no kill can part them. A file that asks for NO TRANSACTION has only the two
// records in one: a kill between its last statement and them makes the next Apply run it again, as goose itself would.
// A version without a checksum (applied with goose by hand) gets that of the folder's file.
//
// It fails, before it changes anything, as Migrations.Pending does; and with CodeMigrationFailed, naming the file, if the
// database refuses one; those before it stay applied. What is no fault of a file (busy, storage, unavailable,
// canceled) keeps the code that Classify gives it.
func Apply(ctx context.Context, target Target, files tenant.Migrations) ([]tenant.Migration, error) {
	applied, err := Applied(ctx, target.DB, target.Dialect)
	if err != nil {
		return nil, target.Classify("reading the applied migrations of "+target.Name, err)
	}
	pending, err := files.Pending(applied)
	if err != nil {
		return applied, err
	}
	if err := adoptUnknown(ctx, target, files, applied); err != nil {
		return applied, target.Classify("recording the applied migrations of "+target.Name, err)
	}
	if len(pending) == 0 {
		return applied, nil
	}
	done, err := run(ctx, target, files, pending)
	return append(applied, done...), err
}

// adoptUnknown changes applied, too.
func adoptUnknown(
	ctx context.Context,
	target Target,
	files tenant.Migrations,
	applied []tenant.Migration,
) error {
	byVersion := make(map[int64]tenant.Migration, len(files.Files))
	for _, file := range files.Files {
		byVersion[file.Version] = file
	}
	for i, done := range applied {
		if done.SHA256 != "" {
			continue
		}
		if _, err := target.DB.ExecContext(ctx, createChecksums); err != nil {
			return err
		}
		file := byVersion[done.Version]
		if _, err := target.DB.ExecContext(
			ctx,
			recordChecksum,
			file.Version,
			file.Name,
			file.SHA256,
		); err != nil {
			return err
		}
		applied[i] = file
		tenant.Failpoint(ctx, "migration.recorded")
	}
	return nil
}

func run(
	ctx context.Context, target Target, files tenant.Migrations, pending []tenant.Migration,
) ([]tenant.Migration, error) {
	recorder, err := newStore(target.Dialect, files)
	if err != nil {
		return nil, tenant.Fail(tenant.CodeInternal, "migrating "+target.Name, err)
	}
	runner, err := goose.NewProvider(goose.DialectCustom, target.DB, files.FS,
		goose.WithStore(recorder), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, tenant.Fail(tenant.CodeMigrationsFolder, "migrating "+target.Name, err)
	}
	for i, file := range pending {
		if _, err := runner.ApplyVersion(ctx, file.Version, true); err != nil {
			return pending[:i], failed(target, file, withoutTransaction(files, file), pending[:i], err)
		}
		tenant.Failpoint(ctx, "migration.applied")
	}
	return pending, nil
}

func failed(target Target, file tenant.Migration, bare bool, before []tenant.Migration, err error) error {
	doing := "applying migration " + file.Name + " to " + target.Name
	classified := target.Classify(doing, err)
	for _, code := range []tenant.Code{
		tenant.CodeBusy, tenant.CodeStorage, tenant.CodeUnavailable, tenant.CodeCanceled,
	} {
		if tenant.HasCode(classified, code) {
			return classified
		}
	}
	names := make([]string, 0, len(before))
	for _, done := range before {
		names = append(names, done.Name)
	}
	note := "this run applied nothing before it"
	if len(names) > 0 {
		note = "this run applied before it: " + strings.Join(names, ", ")
	}
	if bare {
		note += "; the file says NO TRANSACTION, so its statements before the failing one have stayed: undo them by hand, " +
			"or write them so that they can be run again"
	}
	return tenant.Fail(tenant.CodeMigrationFailed, doing, fmt.Errorf("%w (%s)", shortened{err}, note))
}

// withoutTransaction reports whether goose runs the file's statements one by one (its annotation NO TRANSACTION).
func withoutTransaction(files tenant.Migrations, file tenant.Migration) bool {
	content, err := fs.ReadFile(files.FS, file.Name)
	return err == nil && regexp.MustCompile(`(?m)^\s*--\s*\+goose\s+NO\s+TRANSACTION`).Match(content)
}

// shortened keeps a data migration of ten thousand rows, which goose quotes, out of the message.
type shortened struct{ error }

const messageMax = 600

func (s shortened) Error() string {
	text := s.error.Error()
	if len(text) <= messageMax {
		return text
	}
	return strings.ToValidUTF8(
		text[:messageMax/2],
		"",
	) + " […] " + strings.ToValidUTF8(
		text[len(text)-messageMax/2:],
		"",
	)
}

func (s shortened) Unwrap() error { return s.error }

// store is goose's own store, which writes our checksum with each version.
type store struct {
	database.Store

	dialect Dialect
	files   map[int64]tenant.Migration
}

func newStore(dialect Dialect, files tenant.Migrations) (*store, error) {
	inner, err := database.NewStore(dialect.goose, VersionsTable)
	if err != nil {
		return nil, err
	}
	out := &store{Store: inner, dialect: dialect, files: make(map[int64]tenant.Migration, len(files.Files))}
	for _, file := range files.Files {
		out.files[file.Version] = file
	}
	return out, nil
}

// TableExists counts goose's table as absent while ours is.
func (s *store) TableExists(ctx context.Context, db database.DBTxConn) (bool, error) {
	var count int
	err := db.QueryRowContext(ctx, s.dialect.exist, VersionsTable, ChecksumsTable).Scan(&count)
	return count == 2, err
}

// CreateVersionTable makes the two tables, either of which may be there.
func (s *store) CreateVersionTable(ctx context.Context, db database.DBTxConn) error {
	if _, err := db.ExecContext(ctx, createChecksums); err != nil {
		return err
	}
	there, err := exist(ctx, db, s.dialect, VersionsTable)
	if err != nil || there {
		return err
	}
	return s.Store.CreateVersionTable(ctx, db)
}

// Insert records the version and its checksum in one transaction: the migration's own, or one made here.
func (s *store) Insert(ctx context.Context, db database.DBTxConn, request database.InsertRequest) error {
	conn, bare := db.(*sql.Conn)
	if !bare {
		return s.insert(ctx, db, request)
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := s.insert(ctx, tx, request); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func (s *store) insert(ctx context.Context, db database.DBTxConn, request database.InsertRequest) error {
	if file, ours := s.files[request.Version]; ours {
		if _, err := db.ExecContext(ctx, recordChecksum, file.Version, file.Name, file.SHA256); err != nil {
			return err
		}
	}
	return s.Store.Insert(ctx, db, request)
}
