package migrations

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/pressly/goose/v3"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// parse reports what goose has to say against one of the files. Goose keeps its parser to itself and parses a file just
// before it runs it; so the files are run here, on a connection to nothing.
func parse(migrations []tenant.Migration, files snapshot) (err error) {
	db := sql.OpenDB(nowhere{})
	defer func() { err = errors.Join(err, db.Close()) }()
	runner, err := goose.NewProvider(goose.DialectSQLite3, db, files,
		goose.WithDisableGlobalRegistry(true), goose.WithDisableVersioning(true))
	if err != nil {
		return err
	}
	for _, file := range migrations {
		if _, err := runner.ApplyVersion(context.Background(), file.Version, true); err != nil {
			return fmt.Errorf("%s is no goose migration: %w", file.Name, err)
		}
	}
	return nil
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
