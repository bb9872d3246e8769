// Package edge is the table that an edge proxy reads to route hostnames, and the register of claims to custom
// hostnames beside it. It is one SQLite file; its SQL is the text that PostgreSQL runs as well. Several installations may
// share it: each sees the others' verified claims, and touches its own rows only.
package edge

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

//go:embed schema/*.sql
var schema embed.FS

// Config says which file holds the edge's tables.
type Config struct {
	Path    string           // of the SQLite file; made when the first row is written
	Zone    string           // our zone, without a trailing dot: targets of claims lie in claims.ZONE
	Keyring *tenant.Keyring  // marks our rows
	Now     func() time.Time // when a claim was given up; nil is time.Now
}

// Store is the edge's tables. It may be used by many goroutines, and the file by many processes, at once.
type Store struct {
	config Config
	mu     sync.Mutex // guards db
	db     *sql.DB
}

var (
	_ tenant.Claims        = (*Store)(nil)
	_ tenant.Bindings      = (*Store)(nil)
	_ tenant.BindingLister = (*Store)(nil)
	_ tenant.Gate          = (*Store)(nil)
)

// New returns the store; nothing is opened before the first call.
func New(config Config) *Store {
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Store{config: config}
}

// Close closes the file if it was opened. A later call opens it again.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil
	}
	err := s.db.Close()
	s.db = nil
	return err
}

// open returns the file with its tables as they should be. It makes the file; see read.
func (s *Store) open(ctx context.Context) (*sql.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db != nil {
		return s.db, nil
	}
	db, err := sqlitefile.Open(s.config.Path)
	if err != nil {
		return nil, err
	}
	files, err := fs.Sub(schema, "schema")
	if err == nil {
		err = sqlitefile.Migrate(ctx, db, s.config.Path, files)
	}
	if err != nil {
		return nil, errors.Join(
			tenant.Fail(tenant.CodeInternal, "opening the edge's tables", err),
			db.Close(),
		)
	}
	s.db = db
	return db, nil
}

// exists returns tenant.ErrAbsent if there is no file: then nothing is in it, and looking for something makes none.
func (s *Store) exists() error {
	if _, err := os.Stat(s.config.Path); errors.Is(err, fs.ErrNotExist) {
		return tenant.ErrAbsent
	}
	return nil
}

// read runs work in a transaction that only reads; tenant.ErrAbsent if there is no file.
func (s *Store) read(ctx context.Context, doing string, work func(*sql.Tx) error) error {
	if err := s.exists(); err != nil {
		return err
	}
	return s.run(ctx, doing, &sql.TxOptions{ReadOnly: true}, work)
}

// change runs work in a transaction on what is there; tenant.ErrAbsent if there is no file.
func (s *Store) change(ctx context.Context, doing string, work func(*sql.Tx) error) error {
	if err := s.exists(); err != nil {
		return err
	}
	return s.write(ctx, doing, work)
}

// write runs work in a transaction, in a new file if there is none.
func (s *Store) write(ctx context.Context, doing string, work func(*sql.Tx) error) error {
	return s.run(ctx, doing, nil, work)
}

// run classifies what goes wrong; tenant.ErrAbsent stays what it is.
func (s *Store) run(
	ctx context.Context,
	doing string,
	options *sql.TxOptions,
	work func(*sql.Tx) error,
) error {
	db, err := s.open(ctx)
	if err != nil {
		return tenant.Fail(tenant.CodeStorage, doing, err)
	}
	tx, err := db.BeginTx(ctx, options)
	if err != nil {
		return sqlitefile.Classify(doing, err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it has nothing to do
	if err := work(tx); errors.Is(err, tenant.ErrAbsent) {
		return tenant.ErrAbsent
	} else if err != nil {
		return sqlitefile.Classify(doing, err)
	}
	return sqlitefile.Classify(doing, tx.Commit())
}

// installation is whose rows are ours.
func (s *Store) installation() string { return s.config.Keyring.Installation() }

// collect scans all rows and closes them.
func collect[T any](rows *sql.Rows, err error, scan func(*sql.Rows) (T, error)) (found []T, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err has what there is to say
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return found, rows.Err()
}
