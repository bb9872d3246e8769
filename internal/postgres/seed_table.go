package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// rowsOf is a tenant's rows, through a connection or a transaction.
type rowsOf struct {
	db querier
	at location
}

// table is a table as the catalog describes it.
type table struct {
	schema, name string
	columns      map[string]column
	identity     string // an expression over t that tells rows apart
}

type column struct {
	typ       string // without a length, so that a cast to it cuts nothing off
	generated bool
	primary   bool
}

func (t *table) sql() string { return ident(t.schema, t.name) }

// describe returns the tables of those names that there are; a view is none.
func (r rowsOf) describe(ctx context.Context, names []string) (map[string]*table, error) {
	type described struct {
		table, name string
		column
	}
	found, err := query(ctx, r.db, "describing tables", func(rows *sql.Rows) (d described, err error) {
		return d, rows.Scan(&d.table, &d.name, &d.typ, &d.generated, &d.primary)
	}, `SELECT c.relname, a.attname, format_type(a.atttypid, -1), a.attgenerated <> '',
		coalesce(a.attnum = ANY (x.indkey::int2[]), false)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
		LEFT JOIN pg_index x ON x.indrelid = c.oid AND x.indisprimary
		WHERE n.nspname = $1 AND c.relname = ANY ($2) AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
		ORDER BY a.attnum`, r.at.schema, names)
	if err != nil {
		return nil, err
	}
	out := map[string]*table{}
	keys := map[string][]string{}
	for _, one := range found {
		if out[one.table] == nil {
			out[one.table] = &table{
				schema:   r.at.schema,
				name:     one.table,
				columns:  map[string]column{},
				identity: "t.ctid::text",
			}
		}
		out[one.table].columns[one.name] = one.column
		if one.primary {
			keys[one.table] = append(keys[one.table], "t."+ident(one.name)+"::text")
		}
	}
	for name, key := range keys {
		out[name].identity = "jsonb_build_array(" + strings.Join(key, ", ") + ")::text"
	}
	return out, nil
}

func (t *table) hasAll(columns []string) bool {
	for _, name := range columns {
		if _, ok := t.columns[name]; !ok {
			return false
		}
	}
	return true
}

// keyed is rows of one table that are looked for by the same key columns.
type keyed struct {
	table *table
	key   []string
}

// existing is a row that there is: what identifies it, and its values in text form.
type existing struct {
	identity string
	values   map[string]*string
}

// look returns the rows of those keys, in one query: a list for each key, empty if there is none.
func (k keyed) look(
	ctx context.Context,
	db querier,
	keys [][]string,
	columns []string,
) ([][]existing, error) {
	out := make([][]existing, len(keys))
	if len(keys) == 0 {
		return out, nil
	}
	type numbered struct {
		n int
		existing
	}
	found, err := query(ctx, db, "reading table "+k.table.name, func(rows *sql.Rows) (numbered, error) {
		row, cells := numbered{}, make([]*string, len(columns))
		targets := []any{&row.n, &row.identity}
		for i := range cells {
			targets = append(targets, &cells[i])
		}
		err := rows.Scan(targets...)
		row.values = make(map[string]*string, len(columns))
		for i, name := range columns {
			row.values[name] = cells[i]
		}
		return row, err
	}, k.lookQuery(columns), k.lists(keys)...)
	for _, row := range found {
		out[row.n-1] = append(out[row.n-1], row.existing)
	}
	return out, err
}

func (k keyed) lookQuery(columns []string) string {
	out := &strings.Builder{}
	out.WriteString("SELECT k.n, " + k.table.identity)
	for _, name := range columns {
		out.WriteString(", t." + ident(name) + "::text")
	}
	out.WriteString(" FROM " + given(len(k.key)) + " JOIN " + k.table.sql() + " t ON " + k.on())
	return out.String()
}

// given is lists of texts as a table k with the columns c1, c2… and the number n.
func given(lists int) string {
	params, names := make([]string, 0, lists), make([]string, 0, lists)
	for i := range lists {
		params = append(params, fmt.Sprintf("$%d::text[]", i+1))
		names = append(names, fmt.Sprintf("c%d", i+1))
	}
	return "unnest(" + strings.Join(
		params,
		", ",
	) + ") WITH ORDINALITY AS k (" + strings.Join(
		names,
		", ",
	) + ", n)"
}

func (k keyed) on() string {
	parts := make([]string, 0, len(k.key))
	for i, name := range k.key {
		parts = append(parts, fmt.Sprintf("t.%s = k.c%d::%s", ident(name), i+1, k.table.columns[name].typ))
	}
	return strings.Join(parts, " AND ")
}

func (k keyed) lists(keys [][]string) []any {
	out := make([]any, 0, len(k.key))
	for i := range k.key {
		list := make([]string, 0, len(keys))
		for _, key := range keys {
			list = append(list, key[i])
		}
		out = append(out, list)
	}
	return out
}

// same reports whether two values of a column are one: numeric keeps digits that mean nothing.
func (t *table) same(column string, a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	if *a == *b || t == nil || t.columns[column].typ != "numeric" {
		return *a == *b
	}
	x, okX := new(big.Rat).SetString(*a)
	y, okY := new(big.Rat).SetString(*b)
	return okX && okY && x.Cmp(y) == 0
}

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
