package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// querier is what both a transaction and a database can do.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// table is a table as the database declares it.
type table struct {
	name     string
	columns  map[string]column
	identity []string // the primary key's columns, or one that is the row's number, quoted
}

type column struct {
	declared  string
	key       int // its place in the primary key, from 1; 0 outside
	generated bool
}

// quoted is an identifier in SQL, whatever is in it.
func quoted(identifier string) string { return `"` + strings.ReplaceAll(identifier, `"`, `""`) + `"` }

// describe returns the tables of those names that there are; a view is none.
func describe(ctx context.Context, db querier, names []string) (_ map[string]*table, err error) {
	rows, err := db.QueryContext(ctx, `SELECT m.name, x.name, x.type, x.pk, x.hidden
		FROM sqlite_master m, pragma_table_xinfo(m.name) x
		WHERE m.type = 'table' AND m.name IN (SELECT value FROM json_each($1))`, encode(names))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := map[string]*table{}
	for rows.Next() {
		var name, of string
		var described column
		var hidden int
		if err := rows.Scan(&name, &of, &described.declared, &described.key, &hidden); err != nil {
			return nil, err
		}
		described.generated = hidden != 0
		if out[name] == nil {
			out[name] = &table{name: name, columns: map[string]column{}}
		}
		out[name].columns[of] = described
	}
	for _, found := range out {
		found.identify()
	}
	return out, rows.Err()
}

func (t *table) identify() {
	var key []string
	for _, name := range slices.Sorted(maps.Keys(t.columns)) {
		if t.columns[name].key > 0 {
			key = append(key, name)
		}
	}
	slices.SortStableFunc(key, func(a, b string) int { return t.columns[a].key - t.columns[b].key })
	for _, name := range key {
		t.identity = append(t.identity, quoted(name))
	}
	for _, alias := range []string{"rowid", "_rowid_", "oid"} {
		if len(t.identity) == 0 && !t.has(alias) {
			t.identity = []string{alias}
		}
	}
}

// has compares as SQLite does: ASCII letters count without their case.
func (t *table) has(name string) bool {
	for column := range t.columns {
		if strings.EqualFold(column, name) {
			return true
		}
	}
	return false
}

// value is a seed's text as the column takes it.
func (c column) value(text *string) any {
	if text == nil {
		return nil
	}
	declared := strings.ToUpper(c.declared)
	switch {
	case declared == "BOOL" || declared == "BOOLEAN":
		switch strings.ToLower(*text) {
		case "true":
			return int64(1)
		case "false":
			return int64(0)
		}
	case declared == "BLOB" && strings.HasPrefix(*text, `\x`):
		if bytes, err := hex.DecodeString((*text)[2:]); err == nil {
			return bytes
		}
	}
	return *text
}

// keyed is rows of one table that are looked for by the same key columns.
type keyed struct {
	table *table
	key   []string
}

// found is a row that there is: what identifies it, and its values as SQL literals, which tell 1 from '1' and from NULL.
type found struct {
	identity string
	values   map[string]string
}

// where compares the key columns with parameters from $first on.
func (k keyed) where(alias string, first int) string {
	parts := make([]string, 0, len(k.key))
	for i, name := range k.key {
		parts = append(parts, fmt.Sprintf("%s%s = $%d", alias, quoted(name), first+i))
	}
	return strings.Join(parts, " AND ")
}

func (k keyed) args(key []string) []any {
	out := make([]any, 0, len(key))
	for i, name := range k.key {
		out = append(out, k.table.columns[name].value(&key[i]))
	}
	return out
}

// look returns the rows of those keys, in one query: a list for each key, empty if there is none.
func (k keyed) look(
	ctx context.Context,
	db querier,
	keys [][]string,
	columns []string,
) (_ [][]found, err error) {
	out := make([][]found, len(keys))
	if len(keys) == 0 {
		return out, nil
	}
	rows, err := db.QueryContext(ctx, k.lookQuery(columns), k.encodeKeys(keys))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	cells := make([]string, len(columns))
	for rows.Next() {
		var n int
		row := found{values: make(map[string]string, len(columns))}
		targets := []any{&n, &row.identity}
		for i := range cells {
			targets = append(targets, &cells[i])
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		for i, name := range columns {
			row.values[name] = cells[i]
		}
		out[n] = append(out[n], row)
	}
	return out, rows.Err()
}

func (k keyed) lookQuery(columns []string) string {
	query := &strings.Builder{}
	query.WriteString("SELECT k.key")
	for i, part := range k.table.identity {
		separator := ", "
		if i > 0 {
			separator = " || ',' || "
		}
		query.WriteString(separator + "quote(t." + part + ")")
	}
	if len(k.table.identity) == 0 {
		query.WriteString(", k.key")
	}
	for _, name := range columns {
		query.WriteString(", quote(t." + quoted(name) + ")")
	}
	query.WriteString(" FROM json_each($1) k CROSS JOIN " + quoted(k.table.name) + " t WHERE ")
	for i, name := range k.key {
		if i > 0 {
			query.WriteString(" AND ")
		}
		fmt.Fprintf(query, "t.%s = json_extract(k.value, '$[%d]')", quoted(name), i)
	}
	return query.String()
}

func (k keyed) encodeKeys(keys [][]string) string {
	out := make([][]any, 0, len(keys))
	for _, key := range keys {
		out = append(out, k.args(key))
	}
	return encode(out)
}

// encode is JSON of what always has one: texts, lists and maps of them.
func encode(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(out)
}

// sameLiteral reports whether two SQL literals are one value. Versions of SQLite write the digits of a real number in
// different ways.
func sameLiteral(a, b string) bool {
	if a == b {
		return true
	}
	if !strings.ContainsAny(a+b, ".eE") || strings.ContainsAny(a+b, "'") {
		return false
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}

// remembered is a row of the seed as it was written.
type remembered struct {
	position   int64 // 0 while it is not stored
	table      string
	keyColumns []string
	key        []string
	spec       tenant.Row
	written    map[string]string // SQL literals by column
	dropped    *string           // set once the seed no longer has the row: why it is kept, a list in JSON
}

func (r *remembered) edit(columns []string) tenant.RowEdit {
	return tenant.RowEdit{Table: r.table, Key: showKey(r.keyColumns, r.key), Columns: columns}
}

// changed returns the remembered columns whose value is another now, sorted. A column that a migration has taken away is no
// edit.
func (r *remembered) changed(now found) []string {
	var out []string
	for name, was := range r.written {
		if is, ok := now.values[name]; ok && !sameLiteral(was, is) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func recall(ctx context.Context, db querier) (_ []*remembered, err error) {
	rows, err := db.QueryContext(ctx, `SELECT position, table_name, key_columns, key, spec, written, dropped
		FROM tenantry_seed_rows ORDER BY position`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []*remembered
	for rows.Next() {
		row := &remembered{}
		var columns, key, spec, written string
		if err := rows.Scan(
			&row.position,
			&row.table,
			&columns,
			&key,
			&spec,
			&written,
			&row.dropped,
		); err != nil {
			return nil, err
		}
		if err := errors.Join(
			json.Unmarshal([]byte(columns), &row.keyColumns), json.Unmarshal([]byte(key), &row.key),
			json.Unmarshal([]byte(spec), &row.spec), json.Unmarshal([]byte(written), &row.written),
		); err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// group is remembered rows that one query finds.
type group struct {
	keyed
	rows []*remembered
}

// groups sorts rows by table and key columns; those whose table or key columns are gone are left out.
func groups(ctx context.Context, db querier, rows []*remembered) ([]*group, error) {
	names := map[string]bool{}
	for _, row := range rows {
		names[row.table] = true
	}
	tables, err := describe(ctx, db, slices.Sorted(maps.Keys(names)))
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

func (t *table) hasAll(columns []string) bool {
	for _, name := range columns {
		if _, ok := t.columns[name]; !ok {
			return false
		}
	}
	return true
}

// look returns what there is of each row of the group, in its order.
func (g *group) look(ctx context.Context, db querier) ([][]found, error) {
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
func states(ctx context.Context, db querier, rows []*remembered) (map[*remembered][]found, error) {
	out := make(map[*remembered][]found, len(rows))
	byTable, err := groups(ctx, db, rows)
	if err != nil {
		return nil, err
	}
	for _, group := range byTable {
		seen, err := group.look(ctx, db)
		if err != nil {
			return nil, err
		}
		for i, row := range group.rows {
			out[row] = seen[i]
		}
	}
	return out, nil
}

// compare is what Read tells of the rows.
func compare(ctx context.Context, db querier) (tenant.Seed, error) {
	rows, err := recall(ctx, db)
	if err != nil {
		return tenant.Seed{}, err
	}
	seen, err := states(ctx, db, rows)
	if err != nil {
		return tenant.Seed{}, err
	}
	var out tenant.Seed
	for _, row := range rows {
		edit, edited := row.compare(seen[row])
		switch {
		case row.dropped == nil && edited:
			out.Edited = append(out.Edited, edit)
		case row.dropped != nil && len(seen[row]) > 0:
			out.Kept = appendKept(out.Kept, row, edit)
		}
	}
	return sorted(out), nil
}

// compare returns the edit that the row shows, if any.
func (r *remembered) compare(now []found) (tenant.RowEdit, bool) {
	switch len(now) {
	case 0:
		return r.edit(nil), true
	case 1:
		columns := r.changed(now[0])
		return r.edit(columns), len(columns) > 0
	default: // somebody gave other rows the same key
		return r.edit(r.keyColumns), true
	}
}

func appendKept(kept []tenant.RowEdit, row *remembered, edit tenant.RowEdit) []tenant.RowEdit {
	if len(edit.Columns) == 0 {
		if err := json.Unmarshal(
			[]byte(*row.dropped),
			&edit.Referenced,
		); err != nil ||
			len(edit.Referenced) == 0 {
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
