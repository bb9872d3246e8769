package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenantry/terraform-provider-tenant/internal/migrations"
	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Seeds writes seeds into the databases of a Backend.
//
// A value is given as text and takes the type of its column by SQLite's own rules of affinity
// (https://www.sqlite.org/datatype3.html), with two additions, so that one seed fits PostgreSQL, too: true and false in
// a column declared BOOL or BOOLEAN are 1 and 0, and \x with hex digits in a column declared BLOB are bytes.
type Seeds struct{ backend *Backend }

// Seeds returns the port for the seeds of this pool.
func (b *Backend) Seeds() *Seeds { return &Seeds{b} }

// Apply works in one transaction on the tenant's file, under the tenant's lock. The journal hears of a new seed when all of it
// is written and only the commit is left.
func (s *Seeds) Apply(
	ctx context.Context, spec tenant.SeedSpec, journal tenant.Journal,
) (out tenant.Seed, err error) {
	at, err := s.backend.locate(spec.Tenant, spec.Place)
	if err != nil {
		return tenant.Seed{}, err
	}
	if err := checkSeed(spec); err != nil {
		return tenant.Seed{}, err
	}
	err = s.change(ctx, at, func(f *file) error {
		out, err = s.apply(ctx, f, spec, journal)
		return err
	})
	if errors.Is(err, tenant.ErrAbsent) {
		err = tenant.Fail(tenant.CodeSeedFailed, "seeding "+at.path, errors.New("there is no such database"))
	}
	return out, err
}

// change runs work on the tenant's file, opened for writing; a read-only one is closed again.
func (s *Seeds) change(ctx context.Context, at location, work func(*file) error) error {
	return s.backend.exclusively(ctx, at, func(ctx context.Context) (bool, error) {
		found, err := s.backend.open(ctx, at)
		if err != nil {
			return false, err
		}
		closed := found.readOnly
		f, err := s.backend.writable(ctx, found)
		if err != nil {
			return false, err
		}
		defer f.close()
		err = work(f)
		if closed {
			err = errors.Join(err, f.settle(ctx, true))
		}
		return false, err
	})
}

func (s *Seeds) apply(
	ctx context.Context, f *file, spec tenant.SeedSpec, journal tenant.Journal,
) (tenant.Seed, error) {
	keyring, object := s.backend.config.Keyring, f.at.seed()
	mark, err := f.seedMark(ctx, keyring)
	if err != nil {
		return tenant.Seed{}, err
	}
	doing := "seeding " + f.at.path
	tx, err := f.db.BeginTx(ctx, nil)
	if err != nil {
		return tenant.Seed{}, sqlitefile.Classify(doing, err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	work := &seeding{tx: tx, spec: spec, doing: doing}
	seed, err := work.run(ctx, mark == "", keyring.Mark(object))
	if err != nil {
		return tenant.Seed{}, err
	}
	tenant.Failpoint(ctx, "seed.written")
	commit := func(context.Context) (string, error) {
		return f.at.externalID(), work.failed("committing", tx.Commit())
	}
	if mark == "" {
		_, err = tenant.Make(ctx, journal, object, commit)
		return seed, err
	}
	if err := journal.Adopted(ctx, object, f.at.externalID()); err != nil {
		return tenant.Seed{}, err
	}
	_, err = commit(ctx)
	tenant.Failpoint(ctx, "seed.committed")
	return seed, err
}

// seedMark returns the seed's mark, "" if there is none, or CodeForeign if it is not ours.
func (f *file) seedMark(ctx context.Context, keyring *tenant.Keyring) (string, error) {
	mark, err := f.mark(ctx, "tenantry_seed")
	if err != nil || mark == "" {
		return "", err
	}
	return mark, keyring.Owns(f.at.seed(), mark)
}

// Read compares without a lock and without writing: one query for what is remembered, and two for each table.
func (s *Seeds) Read(ctx context.Context, id tenant.ID, place tenant.Place) (tenant.Seed, error) {
	at, err := s.backend.locate(id, place)
	if err != nil {
		return tenant.Seed{}, err
	}
	f, err := s.backend.open(ctx, at)
	if err != nil {
		return tenant.Seed{}, err
	}
	defer f.close()
	mark, err := f.seedMark(ctx, s.backend.config.Keyring)
	if err != nil {
		return tenant.Seed{}, err
	}
	if mark == "" {
		return tenant.Seed{}, tenant.ErrAbsent
	}
	seed, err := compare(ctx, f.db)
	return seed, sqlitefile.Classify("reading the seed of "+at.path, err)
}

// Delete forgets what was seeded.
func (s *Seeds) Delete(ctx context.Context, id tenant.ID, place tenant.Place, journal tenant.Journal) error {
	at, err := s.backend.locate(id, place)
	if err != nil {
		return err
	}
	err = s.change(ctx, at, func(f *file) error {
		if mark, err := f.seedMark(ctx, s.backend.config.Keyring); err != nil || mark == "" {
			return err
		}
		return sqlitefile.Classify("forgetting the seed of "+at.path, forget(ctx, f.db))
	})
	if err != nil && !errors.Is(err, tenant.ErrAbsent) {
		return err
	}
	tenant.Failpoint(ctx, "seed.forgotten")
	return journal.Removed(ctx, at.seed())
}

func forget(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	for _, statement := range []string{`DELETE FROM tenantry_seed_rows`, `DELETE FROM tenantry_seed`} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// checkSeed finds what is wrong whatever the database.
func checkSeed(spec tenant.SeedSpec) error {
	switch spec.OnEdit {
	case tenant.KeepEdits, tenant.RestoreEdits, tenant.RefuseEdits:
	default:
		return tenant.Fail(tenant.CodeInvalidConfig, fmt.Sprintf("seeding with on_edit = %q", spec.OnEdit),
			fmt.Errorf("it is %q, %q or %q", tenant.KeepEdits, tenant.RestoreEdits, tenant.RefuseEdits))
	}
	seen := map[string]bool{}
	for _, table := range spec.Tables {
		if err := checkTable(table, seen); err != nil {
			return invalid(table.Name, err)
		}
		seen[table.Name] = true
	}
	return nil
}

func invalid(table string, err error) error {
	return tenant.Fail(tenant.CodeSeedInvalid, fmt.Sprintf("checking the seed of table %q", table), err)
}

func checkTable(table tenant.SeedTable, seen map[string]bool) error {
	switch {
	case seen[table.Name]:
		return errors.New("the table is seeded twice")
	case strings.HasPrefix(strings.ToLower(table.Name), "sqlite_"),
		strings.HasPrefix(strings.ToLower(table.Name), "tenantry_"),
		strings.EqualFold(table.Name, migrations.VersionsTable):
		return errors.New("the table is none of the product's")
	case len(table.Key) == 0:
		return errors.New("it has no key columns")
	case len(slices.Compact(slices.Sorted(slices.Values(table.Key)))) != len(table.Key):
		return errors.New("it names a key column twice")
	}
	keys := map[string]bool{}
	for n, row := range table.Rows {
		if err := checkRow(table, row); err != nil {
			return fmt.Errorf("row %d: %w", n+1, err)
		}
		key := encode(keyOf(table.Key, row))
		if keys[key] {
			return fmt.Errorf(
				"row %d: the key %s is used twice",
				n+1,
				showKey(table.Key, keyOf(table.Key, row)),
			)
		}
		keys[key] = true
	}
	return nil
}

func checkRow(table tenant.SeedTable, row tenant.Row) error {
	for _, column := range table.Key {
		if row[column] == nil {
			return fmt.Errorf("the key column %q is missing or null", column)
		}
	}
	for column, value := range row {
		if value != nil && (strings.ContainsRune(*value, 0) || !utf8.ValidString(*value)) {
			return fmt.Errorf("the value of column %q is no text: it has a NUL or is no UTF-8", column)
		}
	}
	return nil
}

func keyOf(columns []string, row tenant.Row) []string {
	out := make([]string, 0, len(columns))
	for _, column := range columns {
		out = append(out, *row[column])
	}
	return out
}

func showKey(columns, values []string) string {
	parts := make([]string, 0, len(columns))
	for i, column := range columns {
		parts = append(parts, column+"="+values[i])
	}
	return strings.Join(parts, ",")
}
