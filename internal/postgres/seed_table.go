package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"math/big"
	"strings"
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
