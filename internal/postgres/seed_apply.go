package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// seeding is one Apply within its transaction.
type seeding struct {
	rowsOf

	tx    *sql.Tx
	spec  tenant.SeedSpec
	doing string

	rows     []*remembered          // as stored, before and after
	wanted   map[*remembered]bool   // those that the seed still has
	fresh    map[*remembered]bool   // those whose values are the seed's at the end of this Apply
	stored   map[*remembered]string // what of them is stored, to tell what has to be stored again
	tables   map[string]*table      // of the seed
	edited   []tenant.RowEdit       // and kept so
	kept     map[*remembered]tenant.RowEdit
	changing bool // a row was written or removed
}

func newSeeding(tx *sql.Tx, at location, spec tenant.SeedSpec, doing string) *seeding {
	return &seeding{
		rowsOf: rowsOf{tx, at}, tx: tx, spec: spec, doing: doing,
		wanted: map[*remembered]bool{}, fresh: map[*remembered]bool{}, stored: map[*remembered]string{},
	}
}

// run is the order of work.
func (s *seeding) run(ctx context.Context, isNew bool, mark string) (tenant.Seed, error) {
	if err := s.prepare(ctx, isNew, mark); err != nil {
		return tenant.Seed{}, s.failed("preparing", err)
	}
	if err := s.checkColumns(); err != nil {
		return tenant.Seed{}, err
	}
	gone, err := s.missing(ctx)
	if err != nil {
		return tenant.Seed{}, s.failed("comparing", err)
	}
	// A row that goes may hold a unique value that a new one takes, or be referred to by one that changes: so the removal is
	// tried before the writing and after it.
	if gone, err = s.remove(ctx, gone); err != nil {
		return tenant.Seed{}, s.failed("removing rows", err)
	}
	for _, table := range s.spec.Tables {
		if err := s.write(ctx, table); err != nil {
			return tenant.Seed{}, err
		}
	}
	if s.spec.OnEdit == tenant.RefuseEdits && len(s.edited) > 0 {
		return tenant.Seed{}, refused(s.doing, s.edited)
	}
	gone = slices.DeleteFunc(gone, func(row *remembered) bool { return s.wanted[row] })
	if gone, err = s.remove(ctx, gone); err != nil {
		return tenant.Seed{}, s.failed("removing rows", err)
	}
	if err := s.remember(ctx, gone); err != nil {
		return tenant.Seed{}, s.failed("remembering", err)
	}
	out := tenant.Seed{Edited: s.edited}
	for _, row := range gone {
		out.Kept = append(out.Kept, s.kept[row])
	}
	return sorted(out), nil
}

func refused(doing string, edits []tenant.RowEdit) error {
	names := make([]string, 0, len(edits))
	for _, edit := range edits {
		names = append(names, edit.String())
	}
	slices.Sort(names)
	return tenant.Fail(
		tenant.CodeSeedEdited,
		doing,
		errors.New("edited since they were seeded: "+strings.Join(names, "; ")),
	)
}

// failed classifies what went wrong with the database as a whole or with the rows named by what.
func (s *seeding) failed(what string, err error) error {
	if err == nil || tenant.HasCode(err, tenant.CodeSeedInvalid) {
		return err
	}
	classified := classify(s.doing+": "+what, err)
	for _, ofTheSeed := range []tenant.Code{tenant.CodeConflict, tenant.CodeInternal, tenant.CodeInvalidConfig} {
		if tenant.HasCode(classified, ofTheSeed) {
			return &tenant.Failure{
				Code:  tenant.CodeSeedFailed,
				Doing: s.doing + ": " + what,
				Err:   detailed(err),
			}
		}
	}
	return classified
}

func (s *seeding) prepare(ctx context.Context, isNew bool, mark string) error {
	if isNew {
		if _, err := s.tx.ExecContext(ctx, `WITH old AS (DELETE FROM tenantry_seed_rows WHERE tenant_id = $1)
			INSERT INTO tenantry_seed (tenant_id, mark) VALUES ($1, $2)`, string(s.at.tenant), mark); err != nil {
			return err
		}
	}
	rows, err := s.recall(ctx)
	if err != nil {
		return err
	}
	s.rows = rows
	for _, row := range rows {
		s.stored[row] = row.encoded()
	}
	names := make([]string, 0, len(s.spec.Tables))
	for _, table := range s.spec.Tables {
		names = append(names, table.Name)
	}
	if s.tables, err = s.describe(ctx, names); err != nil {
		return err
	}
	return s.order(ctx, names)
}

// order puts tables behind those that their foreign keys point at; apart from that they stay as the seed has them.
func (s *seeding) order(ctx context.Context, names []string) error {
	type edge struct{ from, to string }
	edges, err := query(ctx, s.tx, "reading foreign keys", func(rows *sql.Rows) (e edge, err error) {
		return e, rows.Scan(&e.from, &e.to)
	}, `SELECT f.relname, t.relname FROM pg_constraint c JOIN pg_class f ON f.oid = c.conrelid JOIN pg_class t ON t.oid = c.confrelid
		JOIN pg_namespace n ON n.oid = f.relnamespace AND n.oid = t.relnamespace
		WHERE c.contype = 'f' AND n.nspname = $1 AND f.relname = ANY ($2) AND t.relname = ANY ($2) AND f.oid <> t.oid`,
		s.at.schema, names)
	if err != nil {
		return err
	}
	parents := map[string][]string{}
	for _, edge := range edges {
		parents[edge.from] = append(parents[edge.from], edge.to)
	}
	byName, done, out := map[string]tenant.SeedTable{}, map[string]bool{}, []tenant.SeedTable(nil)
	for _, table := range s.spec.Tables {
		byName[table.Name] = table
	}
	var visit func(name string)
	visit = func(name string) {
		if done[name] {
			return
		}
		done[name] = true
		for _, parent := range parents[name] {
			visit(parent)
		}
		out = append(out, byName[name])
	}
	for _, name := range names {
		visit(name)
	}
	s.spec.Tables = out
	return nil
}

func (s *seeding) checkColumns() error {
	for _, table := range s.spec.Tables {
		described := s.tables[table.Name]
		if described == nil {
			return invalid(table.Name, errors.New("there is no such table"))
		}
		names := map[string]bool{}
		for _, row := range table.Rows {
			for name := range row {
				names[name] = true
			}
		}
		for _, name := range table.Key {
			names[name] = true
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if err := s.checkColumn(described, name); err != nil {
				return invalid(table.Name, err)
			}
		}
	}
	return nil
}

func (s *seeding) checkColumn(t *table, name string) error {
	described, there := t.columns[name]
	switch {
	case !there:
		return fmt.Errorf("the table has no column %q (it has %s)", name,
			strings.Join(slices.Sorted(maps.Keys(t.columns)), ", "))
	case described.generated:
		return fmt.Errorf("the column %q is generated and can't be written", name)
	case name == tenantColumn && s.at.place.Isolation == tenant.IsolationRow:
		return fmt.Errorf("the column %q is filled in by itself", name)
	}
	return nil
}

// missing returns the remembered rows that the seed no longer has, the last written first. A row whose key the seed now
// writes in another way ("1" for "01", or by other columns) is not missing.
func (s *seeding) missing(ctx context.Context) ([]*remembered, error) {
	keys := map[string]bool{}
	for _, table := range s.spec.Tables {
		keysOf(table, keys)
	}
	var gone []*remembered
	for _, row := range slices.Backward(s.rows) {
		if !keys[row.name()] {
			gone = append(gone, row)
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	seen, err := s.states(ctx, gone)
	if err != nil {
		return nil, err
	}
	taken, err := s.identities(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(gone, func(row *remembered) bool {
		return len(seen[row].rows) == 1 && taken[row.table+"\x00"+seen[row].rows[0].identity]
	}), nil
}

// identities returns the existing rows that the seed has.
func (s *seeding) identities(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	for _, table := range s.spec.Tables {
		seen, err := s.look(ctx, table, nil)
		if err != nil {
			return nil, err
		}
		for _, rows := range seen {
			for _, row := range rows {
				out[table.Name+"\x00"+row.identity] = true
			}
		}
	}
	return out, nil
}

func (s *seeding) look(ctx context.Context, table tenant.SeedTable, columns []string) ([][]existing, error) {
	keys := make([][]string, 0, len(table.Rows))
	for _, row := range table.Rows {
		keys = append(keys, keyOf(table.Key, row))
	}
	return keyed{s.tables[table.Name], table.Key}.look(ctx, s.tx, keys, columns)
}

// keysOf adds the names of the table's rows to keys.
func keysOf(table tenant.SeedTable, keys map[string]bool) map[string]bool {
	for _, row := range table.Rows {
		keys[encode([]any{table.Name, table.Key, keyOf(table.Key, row)})] = true
	}
	return keys
}
