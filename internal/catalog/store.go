package catalog

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// dialect is all in which the databases differ once the tables are made.
type dialect struct {
	lock     string // ends a SELECT whose rows this transaction is going to change
	skip     string // ends a SELECT from the mails m that passes over those that others are changing
	classify func(doing string, err error) error
}

// sqliteDialect locks no rows: a writing transaction has the whole file to itself from its begin.
func sqliteDialect() dialect { return dialect{classify: sqlitefile.Classify} }

// store runs transactions and keeps compiled statements.
type store struct {
	dialect
	db    *sql.DB
	clock func() time.Time

	mu       sync.Mutex
	compiled map[string]*sql.Stmt
}

func newStore(db *sql.DB, d dialect, clock func() time.Time) *store {
	return &store{dialect: d, db: db, clock: clock, compiled: map[string]*sql.Stmt{}}
}

func (s *store) close() error {
	if err := s.db.Close(); err != nil {
		return s.classify("closing the catalog", err)
	}
	return nil
}

// txn is an open transaction. All that happens in it has one time.
type txn struct {
	*store
	tx  *sql.Tx
	now int64 // milliseconds
	new map[string]struct{}
}

// write runs work in a transaction that changes something.
func (s *store) write(ctx context.Context, doing string, work func(context.Context, *txn) error) error {
	return s.within(ctx, doing, &sql.TxOptions{}, work)
}

// read runs work in a transaction that sees one moment and changes nothing.
func (s *store) read(ctx context.Context, doing string, work func(context.Context, *txn) error) error {
	return s.within(ctx, doing, &sql.TxOptions{ReadOnly: true}, work)
}

// within runs a transaction to its end once it has begun: it is short, and one that is cut off in its
// commit would leave everybody guessing.
func (s *store) within(
	ctx context.Context, doing string, options *sql.TxOptions, work func(context.Context, *txn) error,
) error {
	if err := ctx.Err(); err != nil {
		return tenant.Fail(tenant.CodeCanceled, doing, err)
	}
	ctx = context.WithoutCancel(ctx)
	tx, err := s.db.BeginTx(ctx, options)
	if err != nil {
		return s.classify(doing, err)
	}
	t := &txn{store: s, tx: tx, now: s.clock().UnixMilli()}
	if err := work(ctx, t); err != nil {
		return errors.Join(s.explain(doing, err), s.explain(doing, tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		return s.classify(doing, err)
	}
	s.compile(ctx, t.new)
	return nil
}

func (s *store) explain(doing string, err error) error {
	if err == nil || errors.Is(err, tenant.ErrAbsent) {
		return err
	}
	return s.classify(doing, err)
}

// exec runs one statement outside a transaction and returns the number of rows that it touched.
func (s *store) exec(ctx context.Context, doing, query string, args ...any) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, tenant.Fail(tenant.CodeCanceled, doing, err)
	}
	ctx = context.WithoutCancel(ctx)
	statement := s.statement(query)
	if statement == nil {
		defer s.compile(ctx, map[string]struct{}{query: {}})
	}
	touched, err := affected(run(ctx, s.db, statement, query, args))
	if err != nil {
		return 0, s.classify(doing, err)
	}
	return touched, nil
}

func run(ctx context.Context, db *sql.DB, statement *sql.Stmt, query string, args []any) (sql.Result, error) {
	if statement == nil {
		return db.ExecContext(ctx, query, args...)
	}
	return statement.ExecContext(ctx, args...)
}

func affected(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// statement returns the compiled query; nil if this is the first time it is seen.
func (s *store) statement(query string) *sql.Stmt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.compiled[query]
}

// compile keeps queries compiled from their second use on, and never inside a transaction: there is one
// connection only. A query that can't be compiled now is run as text again.
func (s *store) compile(ctx context.Context, queries map[string]struct{}) {
	for query := range queries {
		statement, err := s.db.PrepareContext(ctx, query)
		if err == nil {
			s.keep(query, statement)
		}
	}
}

// keep drops a statement that another goroutine has compiled first.
func (s *store) keep(query string, statement *sql.Stmt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.compiled[query] == nil {
		s.compiled[query] = statement
		return
	}
	defer func() { _ = statement.Close() }()
}

func (t *txn) prepared(ctx context.Context, query string) *sql.Stmt {
	if statement := t.statement(query); statement != nil {
		return t.tx.StmtContext(ctx, statement)
	}
	if t.new == nil {
		t.new = map[string]struct{}{}
	}
	t.new[query] = struct{}{}
	return nil
}

// exec returns the number of rows that the statement touched.
func (t *txn) exec(ctx context.Context, query string, args ...any) (int64, error) {
	statement := t.prepared(ctx, query)
	if statement == nil {
		return affected(t.tx.ExecContext(ctx, query, args...))
	}
	defer func() { _ = statement.Close() }()
	return affected(statement.ExecContext(ctx, args...))
}

// one scans the only row of a query; sql.ErrNoRows if there is none.
func (t *txn) one(ctx context.Context, query string, args []any, into ...any) error {
	statement := t.prepared(ctx, query)
	if statement == nil {
		return t.tx.QueryRowContext(ctx, query, args...).Scan(into...)
	}
	defer func() { _ = statement.Close() }()
	return statement.QueryRowContext(ctx, args...).Scan(into...)
}

// each calls take for every row of a query.
func (t *txn) each(ctx context.Context, query string, args []any, take taker) error {
	statement := t.prepared(ctx, query)
	if statement == nil {
		return take.all(t.tx.QueryContext(ctx, query, args...))
	}
	defer func() { _ = statement.Close() }()
	return take.all(statement.QueryContext(ctx, args...))
}

// taker is called for each row and scans it.
type taker func(scan func(...any) error) error

func (take taker) all(rows *sql.Rows, err error) error {
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := take(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// timeOf is the inverse of milliseconds; 0 is the zero time.
func timeOf(milliseconds int64) time.Time {
	if milliseconds == 0 {
		return time.Time{}
	}
	return time.UnixMilli(milliseconds).UTC()
}

func milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
