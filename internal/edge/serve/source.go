package serve

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// source is the table as an open file. It is for one goroutine.
type source struct {
	path    string
	db      *sql.DB
	conn    *sql.Conn   // the one connection: data_version means nothing to another
	file    os.FileInfo // what was opened, to notice another file in its place
	version int64
	read    bool // the rows of that version were returned
}

// look returns the rows, and true, if they may have changed since the last call; tenant.ErrAbsent if there is no file.
// After an error the next call opens the file anew.
func (s *source) look(ctx context.Context) (rows []tenant.Binding, changed bool, err error) {
	if err := s.open(ctx); err != nil {
		s.close()
		return nil, false, err
	}
	rows, changed, err = s.fetch(ctx)
	if err != nil {
		s.close()
		return nil, false, sqlitefile.Classify("reading the bindings in "+s.path, err)
	}
	return rows, changed, nil
}

// open opens the file, again if another one has taken its place.
func (s *source) open(ctx context.Context) error {
	info, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return tenant.ErrAbsent
	case err != nil:
		return tenant.Fail(tenant.CodeStorage, "looking for "+s.path, err)
	case s.conn != nil && os.SameFile(info, s.file):
		return nil
	}
	s.close()
	if s.db, err = sqlitefile.OpenAsIs(s.path); err != nil {
		return err
	}
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return sqlitefile.Classify("opening "+s.path, err)
	}
	s.file = info
	return nil
}

// fetch asks for the version before the rows: a change between the two is seen by the next call.
// (https://www.sqlite.org/pragma.html#pragma_data_version)
func (s *source) fetch(ctx context.Context) ([]tenant.Binding, bool, error) {
	var version int64
	if err := s.conn.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&version); err != nil {
		return nil, false, err
	}
	if s.read && version == s.version {
		return nil, false, nil
	}
	result, err := s.conn.QueryContext(ctx, `SELECT hostname, tenant_id, upstream, state FROM bindings`)
	if err != nil {
		return nil, false, err
	}
	defer result.Close() //nolint:errcheck // Err has what there is to say
	rows := []tenant.Binding{}
	for result.Next() {
		var row tenant.Binding
		if err := result.Scan(&row.Hostname, &row.Tenant, &row.Upstream, &row.State); err != nil {
			return nil, false, err
		}
		rows = append(rows, row)
	}
	if err := result.Err(); err != nil {
		return nil, false, err
	}
	s.version, s.read = version, true
	return rows, true, nil
}

// close gives up the file; errors of a file that was only read from change nothing.
func (s *source) close() {
	if s.conn != nil {
		_ = s.conn.Close()
	}
	if s.db != nil {
		_ = s.db.Close()
	}
	*s = source{path: s.path}
}
