package migrations

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"github.com/pressly/goose/v3"
)

// parse reports what goose has to say against a file. Goose keeps its parser to itself and parses a file just before it
// runs it; so the file is run here, on a connection to nothing.
func parse(name string, version int64, contents []byte) (err error) {
	db := sql.OpenDB(nowhere{})
	defer func() { err = errors.Join(err, db.Close()) }()
	runner, err := goose.NewProvider(goose.DialectSQLite3, db, snapshot{name: contents},
		goose.WithDisableGlobalRegistry(true), goose.WithDisableVersioning(true))
	if err != nil {
		return err
	}
	_, err = runner.ApplyVersion(context.Background(), version, true)
	return err
}

// nowhere is a database driver that accepts every statement and does nothing.
type nowhere struct{}

var (
	_ driver.Connector     = nowhere{}
	_ driver.Driver        = nowhere{}
	_ driver.Conn          = nowhere{}
	_ driver.ExecerContext = nowhere{}
	_ driver.Tx            = nowhere{}
)

func (n nowhere) Connect(context.Context) (driver.Conn, error) { return n, nil }
func (n nowhere) Driver() driver.Driver                        { return n }
func (n nowhere) Open(string) (driver.Conn, error)             { return n, nil }
func (n nowhere) Begin() (driver.Tx, error)                    { return n, nil }
func (nowhere) Prepare(string) (driver.Stmt, error)            { return nil, errors.ErrUnsupported }
func (nowhere) Close() error                                   { return nil }
func (nowhere) Commit() error                                  { return nil }
func (nowhere) Rollback() error                                { return nil }

func (nowhere) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(0), nil
}
