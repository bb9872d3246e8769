package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// remembered is a row of the seed as it was written.
type remembered struct {
	position   int64 // 0 while it is not stored
	table      string
	keyColumns []string
	key        []string
	spec       tenant.Row
	written    map[string]*string
	dropped    *string // set once the seed no longer has the row: why it is kept, a list in JSON
}

// name tells a row from all others of the seed.
func (r *remembered) name() string { return encode([]any{r.table, r.keyColumns, r.key}) }

func (r *remembered) encoded() string {
	return encode([]any{r.table, r.keyColumns, r.key, r.spec, r.written, r.dropped})
}

func (r *remembered) edit(columns []string) tenant.RowEdit {
	return tenant.RowEdit{Table: r.table, Key: showKey(r.keyColumns, r.key), Columns: columns}
}

// seenRow is what there is of a remembered row.
type seenRow struct {
	table *table
	rows  []existing
}

// changed returns the remembered columns whose value is another now, sorted. A column that a migration has taken away is no
// edit.
func (r *remembered) changed(t *table, now existing) []string {
	var out []string
	for name, was := range r.written {
		if is, ok := now.values[name]; ok && !t.same(name, was, is) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// compare returns the edit that the row shows, if any.
func (r *remembered) compare(now seenRow) (tenant.RowEdit, bool) {
	switch len(now.rows) {
	case 0:
		return r.edit(nil), true
	case 1:
		columns := r.changed(now.table, now.rows[0])
		return r.edit(columns), len(columns) > 0
	default: // somebody gave other rows the same key
		return r.edit(r.keyColumns), true
	}
}

func (r rowsOf) recall(ctx context.Context) ([]*remembered, error) {
	return query(ctx, r.db, "reading what was seeded", func(rows *sql.Rows) (*remembered, error) {
		row := &remembered{}
		var columns, key, spec, written string
		err := rows.Scan(&row.position, &row.table, &columns, &key, &spec, &written, &row.dropped)
		return row, errors.Join(err,
			json.Unmarshal([]byte(columns), &row.keyColumns), json.Unmarshal([]byte(key), &row.key),
			json.Unmarshal([]byte(spec), &row.spec), json.Unmarshal([]byte(written), &row.written))
	}, `SELECT position, table_name, key_columns, key, spec, written, dropped
		FROM tenantry_seed_rows WHERE tenant_id = $1 ORDER BY position`, string(r.at.tenant))
}

// group is remembered rows that one query finds.
type group struct {
	keyed
	rows []*remembered
}

// groups sorts rows by table and key columns; those whose table or key columns are gone are left out.
func (r rowsOf) groups(ctx context.Context, rows []*remembered) ([]*group, error) {
	names := map[string]bool{}
	for _, row := range rows {
		names[row.table] = true
	}
	tables, err := r.describe(ctx, slices.Sorted(maps.Keys(names)))
	if err != nil {
		return nil, err
	}
	byKey := map[string]*group{}
	var out []*group
	for _, row := range rows {
		described := tables[row.table]
		if described == nil || !described.hasAll(row.keyColumns) {
			continue
		}
		name := encode([]any{row.table, row.keyColumns})
		if byKey[name] == nil {
			byKey[name] = &group{keyed: keyed{described, row.keyColumns}}
			out = append(out, byKey[name])
		}
		byKey[name].rows = append(byKey[name].rows, row)
	}
	return out, nil
}

// look returns what there is of each row of the group, in its order.
func (g *group) look(ctx context.Context, db querier) ([][]existing, error) {
	keys := make([][]string, 0, len(g.rows))
	columns := map[string]bool{}
	for _, row := range g.rows {
		keys = append(keys, row.key)
		for name := range row.written {
			if _, there := g.table.columns[name]; there {
				columns[name] = true
			}
		}
	}
	return g.keyed.look(ctx, db, keys, slices.Sorted(maps.Keys(columns)))
}

// states returns what there is of each row; none for one whose table is gone.
func (r rowsOf) states(ctx context.Context, rows []*remembered) (map[*remembered]seenRow, error) {
	out := make(map[*remembered]seenRow, len(rows))
	byTable, err := r.groups(ctx, rows)
	if err != nil {
		return nil, err
	}
	for _, group := range byTable {
		seen, err := group.look(ctx, r.db)
		if err != nil {
			return nil, err
		}
		for i, row := range group.rows {
			out[row] = seenRow{group.table, seen[i]}
		}
	}
	return out, nil
}

// compare is what Read tells of the rows.
func (r rowsOf) compare(ctx context.Context) (tenant.Seed, error) {
	rows, err := r.recall(ctx)
	if err != nil {
		return tenant.Seed{}, err
	}
	seen, err := r.states(ctx, rows)
	if err != nil {
		return tenant.Seed{}, err
	}
	var out tenant.Seed
	for _, row := range rows {
		edit, edited := row.compare(seen[row])
		switch {
		case row.dropped == nil && edited:
			out.Edited = append(out.Edited, edit)
		case row.dropped != nil && len(seen[row].rows) > 0:
			out.Kept = appendKept(out.Kept, row, edit)
		}
	}
	return sorted(out), nil
}

func appendKept(kept []tenant.RowEdit, row *remembered, edit tenant.RowEdit) []tenant.RowEdit {
	if len(edit.Columns) == 0 {
		err := json.Unmarshal([]byte(*row.dropped), &edit.Referenced)
		if err != nil || len(edit.Referenced) == 0 {
			return kept // neither edited nor referenced: the next Apply removes it
		}
	}
	return append(kept, edit)
}

func sorted(seed tenant.Seed) tenant.Seed {
	order := func(a, b tenant.RowEdit) int {
		if a.Table != b.Table {
			return strings.Compare(a.Table, b.Table)
		}
		return strings.Compare(a.Key, b.Key)
	}
	slices.SortStableFunc(seed.Edited, order)
	slices.SortStableFunc(seed.Kept, order)
	return seed
}
