package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Seeds writes seeds into the databases of a Backend, logged in as the tenant's owner: a trigger of the tenant's that does
// RESET ROLE is the owner still. A value is given as text and read by the type of its column.
type Seeds struct{ backend *Backend }

// Seeds returns the port for the seeds of this pool.
func (b *Backend) Seeds() *Seeds { return &Seeds{b} }

// Apply works in one transaction, under the tenant's lock. The journal hears of a new seed when all of it is written and
// only the commit is left.
func (s *Seeds) Apply(
	ctx context.Context, spec tenant.SeedSpec, journal tenant.Journal,
) (out tenant.Seed, err error) {
	if err := checkSeed(spec); err != nil {
		return tenant.Seed{}, err
	}
	err = s.enter(ctx, spec.Tenant, spec.Place, true, func(ctx context.Context, in *inside) error {
		out, err = in.seed(ctx, spec, journal)
		return err
	})
	if isAbsent(err) {
		err = tenant.Fail(
			tenant.CodeSeedFailed,
			"seeding "+spec.Place.Name,
			errors.New("there is no such database"),
		)
	}
	return out, err
}

// enter runs work in the tenant's database; ErrAbsent if there is none.
func (s *Seeds) enter(
	ctx context.Context,
	id tenant.ID,
	place tenant.Place,
	alone bool,
	work func(context.Context, *inside) error,
) error {
	at, err := s.backend.locate(id, place)
	if err != nil {
		return err
	}
	return s.backend.work(ctx, func(ctx context.Context, admin *session) error {
		if alone {
			if err := admin.lock(ctx, at.base); err != nil {
				return err
			}
		}
		f, err := admin.look(ctx, at)
		if err != nil {
			return err
		}
		if !f.exists || !f.role {
			return tenant.ErrAbsent
		}
		in, err := admin.enter(ctx, f)
		if err != nil {
			return err
		}
		defer in.close()
		return work(ctx, in)
	})
}

func (in *inside) seed(
	ctx context.Context,
	spec tenant.SeedSpec,
	journal tenant.Journal,
) (tenant.Seed, error) {
	at := in.f.at
	object, doing := at.seed(), "seeding "+at.place.Name+" of "+string(at.tenant)
	mark, err := in.seedMark(ctx)
	if err != nil {
		return tenant.Seed{}, err
	}
	tx, err := in.db.BeginTx(ctx, nil)
	if err != nil {
		return tenant.Seed{}, classify(doing, err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	work := newSeeding(tx, in.f.at, spec, doing)
	seed, err := work.run(ctx, mark == "", in.config.Keyring.Mark(object))
	if err != nil {
		return tenant.Seed{}, err
	}
	tenant.Failpoint(ctx, "seed.written")
	commit := func(context.Context) (string, error) {
		return at.externalID(), work.failed("committing", tx.Commit())
	}
	if mark == "" {
		_, err = tenant.Make(ctx, journal, object, commit)
		return seed, err
	}
	if err := journal.Adopted(ctx, object, at.externalID()); err != nil {
		return tenant.Seed{}, err
	}
	_, err = commit(ctx)
	tenant.Failpoint(ctx, "seed.committed")
	return seed, err
}

// seedMark returns the seed's mark, "" if there is none, or CodeForeign if it is not ours.
func (in *inside) seedMark(ctx context.Context) (string, error) {
	doing := "looking for the seed of " + in.f.at.place.Name
	var there bool
	if err := in.db.QueryRowContext(ctx, `SELECT to_regclass('tenantry_seed') IS NOT NULL`).
		Scan(&there); err != nil ||
		!there {
		return "", classify(doing, err)
	}
	var mark string
	err := in.db.QueryRowContext(ctx, `SELECT mark FROM tenantry_seed WHERE tenant_id = $1`, string(in.f.at.tenant)).
		Scan(&mark)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", classify(doing, err)
	}
	return mark, in.config.Keyring.Owns(in.f.at.seed(), mark)
}

// Read compares without a lock and without writing: one query for what is remembered, and two for each table.
func (s *Seeds) Read(ctx context.Context, id tenant.ID, place tenant.Place) (out tenant.Seed, err error) {
	err = s.enter(ctx, id, place, false, func(ctx context.Context, in *inside) error {
		mark, err := in.seedMark(ctx)
		if err != nil {
			return err
		}
		if mark == "" {
			return tenant.ErrAbsent
		}
		out, err = rowsOf{in.db, in.f.at}.compare(ctx)
		return classify("reading the seed of "+place.Name, err)
	})
	return out, err
}

// Delete forgets what was seeded.
func (s *Seeds) Delete(ctx context.Context, id tenant.ID, place tenant.Place, journal tenant.Journal) error {
	at, err := s.backend.locate(id, place)
	if err != nil {
		return err
	}
	err = s.enter(ctx, id, place, true, func(ctx context.Context, in *inside) error {
		if mark, err := in.seedMark(ctx); err != nil || mark == "" {
			return err
		}
		_, err := in.db.ExecContext(ctx, `WITH rows AS (DELETE FROM tenantry_seed_rows WHERE tenant_id = $1)
			DELETE FROM tenantry_seed WHERE tenant_id = $1`, string(id))
		return classify("forgetting the seed of "+place.Name, err)
	})
	if err != nil && !isAbsent(err) {
		return err
	}
	tenant.Failpoint(ctx, "seed.forgotten")
	return journal.Removed(ctx, at.seed())
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
		err := checkTable(table)
		if seen[table.Name] {
			err = errors.New("the table is seeded twice")
		}
		if err != nil {
			return invalid(table.Name, err)
		}
		seen[table.Name] = true
	}
	return nil
}

func invalid(table string, err error) error {
	return tenant.Fail(tenant.CodeSeedInvalid, fmt.Sprintf("checking the seed of table %q", table), err)
}

func checkTable(table tenant.SeedTable) error {
	sortedKey := slices.Sorted(slices.Values(table.Key))
	switch {
	case strings.HasPrefix(table.Name, "tenantry_"), slices.Contains(ownTables(), table.Name):
		return errors.New("the table is none of the product's")
	case len(table.Key) == 0:
		return errors.New("it has no key columns")
	case len(slices.Compact(sortedKey)) != len(table.Key):
		return errors.New("it names a key column twice")
	}
	keys := map[string]bool{}
	for n, row := range table.Rows {
		if err := checkRow(table, row); err != nil {
			return fmt.Errorf("row %d: %w", n+1, err)
		}
		key := keyOf(table.Key, row)
		if keys[encode(key)] {
			return fmt.Errorf("row %d: the key %s is used twice", n+1, showKey(table.Key, key))
		}
		keys[encode(key)] = true
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

// encode is JSON of what always has one: texts, lists and maps of them.
func encode(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(out)
}
