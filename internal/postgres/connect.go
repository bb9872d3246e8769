package postgres

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"maps"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	// adminLockTimeout is for how long one piece of work waits for another on the same tenant or template.
	adminLockTimeout = time.Minute
	// connectTimeout bounds the making of one connection.
	connectTimeout = 10 * time.Second
	// fullTimeout is for how long a server without a free connection is asked again.
	fullTimeout = time.Minute
)

// session is a connection as administrator, to the URL's database.
type session struct {
	*Backend

	conn *pgxpool.Conn // nil once it is released
}

// sharedDatabase returns the name of the URL's database.
func (b *Backend) sharedDatabase() (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	config, err := b.parse()
	if err != nil {
		return "", err
	}
	return config.ConnConfig.Database, nil
}

// parse reads the url, once; the caller holds the lock.
func (b *Backend) parse() (*pgxpool.Config, error) {
	if b.parsed != nil {
		return b.parsed, nil
	}
	config, err := pgxpool.ParseConfig(b.config.URL.Reveal())
	if err != nil { // its text may quote the url
		return nil, tenant.Fail(tenant.CodeInvalidConfig, "reading the url of the pool "+b.config.Pool,
			errors.New("it is not of the form postgres://user:password@host:port/database?sslmode=…"))
	}
	config.MaxConns, config.MinConns = int32(cap(b.slots)), 0 //nolint:gosec // a number of connections
	config.MaxConnIdleTime = time.Minute
	b.settings(config.ConnConfig, adminLockTimeout)
	b.parsed = config
	return config, nil
}

// pool returns the administrator's connections; making it connects to nothing.
func (b *Backend) pool(ctx context.Context) (*pgxpool.Pool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.admin != nil {
		return b.admin, nil
	}
	config, err := b.parse()
	if err != nil {
		return nil, err
	}
	b.admin, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	if err != nil {
		return nil, tenant.Fail(tenant.CodeInvalidConfig, "reading the url of the pool "+b.config.Pool,
			errors.New("it can't be used"))
	}
	return b.admin, nil
}

// settings makes texts mean the same on every server: our literals, and the values of seeds.
func (b *Backend) settings(config *pgx.ConnConfig, lockTimeout time.Duration) {
	config.ConnectTimeout = connectTimeout
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	maps.Copy(config.RuntimeParams, map[string]string{
		"application_name":            "tenantry",
		"client_encoding":             "UTF8",
		"standard_conforming_strings": "on",
		"DateStyle":                   "ISO, YMD",
		"IntervalStyle":               "postgres",
		"TimeZone":                    "UTC",
		"bytea_output":                "hex",
		"extra_float_digits":          "1",
		"jit":                         "off", // compiling a look at the catalogs takes longer than the look
		"client_min_messages":         "warning",
		"lock_timeout":                milliseconds(lockTimeout),
	})
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func (b *Backend) connect(ctx context.Context) (*session, error) {
	pool, err := b.pool(ctx)
	if err != nil {
		return nil, err
	}
	s := &session{Backend: b}
	err = b.untilFree(ctx, func() (err error) {
		s.conn, err = pool.Acquire(ctx)
		return err
	})
	if err != nil {
		return nil, classify("connecting to the server of the pool "+b.config.Pool, err)
	}
	return s, nil
}

// release gives the connection back without the locks that it took.
func (s *session) release(ctx context.Context) error {
	if err := s.exec(ctx, "releasing locks", "SELECT pg_advisory_unlock_all()"); err != nil {
		return err
	}
	s.conn.Release()
	s.conn = nil
	return nil
}

// discard closes the connection; the server lets go of its locks.
func (s *session) discard(ctx context.Context) {
	if s.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	conn := s.conn.Hijack()
	s.conn = nil
	_ = conn.Close(ctx)
}

// untilFree repeats connect while the server says that it has no connection to give, or is starting. Idle connections of
// our own are given up then.
func (b *Backend) untilFree(ctx context.Context, connect func() error) error {
	ctx, cancel := context.WithTimeout(ctx, fullTimeout)
	defer cancel()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := connect()
		switch state(err) {
		case stateTooMany, stateTooManyConfigured, stateStarting:
			if pool, err := b.pool(ctx); err == nil {
				pool.Reset()
			}
		default:
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// exec runs statements without parameters, in one round trip and (without BEGIN in them) in one transaction.
func (s *session) exec(ctx context.Context, doing string, statements ...string) error {
	_, err := s.conn.Conn().PgConn().Exec(ctx, strings.Join(statements, ";\n")).ReadAll()
	return classify(doing, err)
}

// lock makes this session the only one, in all processes, that works on what the name says, until it is released.
func (s *session) lock(ctx context.Context, name string) error {
	_, err := s.conn.Exec(ctx, `SELECT pg_advisory_lock(hashtextextended($1, 0))`, "tenantry:"+name)
	return classify("waiting for the other process that works on "+name, err)
}

func (s *session) unlock(ctx context.Context, name string) error {
	_, err := s.conn.Exec(ctx, `SELECT pg_advisory_unlock(hashtextextended($1, 0))`, "tenantry:"+name)
	return classify("ending the work on "+name, err)
}

// login says whom to connect as, and to what.
type login struct {
	database, role string
	password       tenant.Secret
	schema         string // of the search_path; "" leaves it
	timeouts       bool   // of migrations and seeds
}

func (b *Backend) loginConfig(as login) (*pgx.ConnConfig, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	parsed, err := b.parse()
	if err != nil {
		return nil, err
	}
	config := parsed.ConnConfig.Copy()
	config.Database = as.database
	if as.role != "" {
		config.User, config.Password = as.role, as.password.Reveal()
	}
	if as.timeouts {
		config.RuntimeParams["lock_timeout"] = milliseconds(b.config.LockTimeout)
		if b.config.StatementTimeout > 0 {
			config.RuntimeParams["statement_timeout"] = milliseconds(b.config.StatementTimeout)
		}
	}
	if as.schema != "" {
		config.RuntimeParams["search_path"] = pgx.Identifier{as.schema}.Sanitize()
	}
	return config, nil
}

// open connects as a role; it is the second connection of a piece of work, and there is never a third.
func (b *Backend) open(ctx context.Context, as login) (*sql.DB, error) {
	config, err := b.loginConfig(as)
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(1)
	if err := b.untilFree(ctx, func() error { return db.PingContext(ctx) }); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// dial connects as the administrator to another database than the URL's, with pgx's own interface.
func (b *Backend) dial(ctx context.Context, database string) (*pgx.Conn, error) {
	config, err := b.loginConfig(login{database: database})
	if err != nil {
		return nil, err
	}
	var conn *pgx.Conn
	err = b.untilFree(ctx, func() (err error) {
		conn, err = pgx.ConnectConfig(ctx, config)
		return err
	})
	return conn, classify("connecting to the database "+database, err)
}

// inDatabase runs statements as the administrator in another database, in one transaction.
func (b *Backend) inDatabase(ctx context.Context, database, doing string, statements ...string) error {
	conn, err := b.dial(ctx, database)
	if err != nil {
		return err
	}
	defer hangUp(ctx, conn)
	_, err = conn.PgConn().Exec(ctx, strings.Join(statements, ";\n")).ReadAll()
	return classify(doing, err)
}

func hangUp(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// ident quotes an identifier.
func ident(parts ...string) string { return pgx.Identifier(parts).Sanitize() }

func idents(names []string) string {
	quoted := make([]string, 0, len(names))
	for _, name := range names {
		quoted = append(quoted, ident(name))
	}
	return strings.Join(quoted, ", ")
}

// literal quotes a text for statements that take no parameters; standard_conforming_strings is on (see settings).
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
