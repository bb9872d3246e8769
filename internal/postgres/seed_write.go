package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// target is a row of the seed and what there is of it.
type target struct {
	keyed
	row tenant.Row
	key []string
	now *existing
}

func (t target) String() string { return t.table.name + "[" + showKey(t.keyed.key, t.key) + "]" }

// writing is what is to be written of one table, in the order of the seed.
type writing struct{ targets []target }

// write brings the rows of one table to what the seed says: it decides row by row and writes set by set.
func (s *seeding) write(ctx context.Context, table tenant.SeedTable) error {
	var known []*remembered
	byKey := map[string]*remembered{}
	for _, row := range s.rows {
		if row.table == table.Name {
			known = append(known, row)
			byKey[encode([]any{row.keyColumns, row.key})] = row
		}
	}
	targets, err := s.targets(ctx, table, s.columns(table, known))
	if err != nil {
		return err
	}
	rekeyed, err := s.rekeyed(ctx, table, known)
	if err != nil {
		return s.failed("comparing table "+table.Name, err)
	}
	work := &writing{}
	for _, to := range targets {
		old := byKey[encode([]any{table.Key, to.key})]
		if to.now != nil && rekeyed[to.now.identity] != nil {
			old = rekeyed[to.now.identity]
		}
		if err := s.decide(ctx, work, to, old); err != nil {
			return s.failed("writing "+to.String(), err)
		}
	}
	return s.flush(ctx, table.Name, work)
}

// rekeyed returns the rows that are remembered by a key which the seed writes in another way now, by their identity.
func (s *seeding) rekeyed(
	ctx context.Context, table tenant.SeedTable, known []*remembered,
) (map[string]*remembered, error) {
	keys := keysOf(table, map[string]bool{})
	var rows []*remembered
	for _, row := range known {
		if !keys[row.name()] {
			rows = append(rows, row)
		}
	}
	out := map[string]*remembered{}
	if len(rows) == 0 {
		return out, nil
	}
	seen, err := s.states(ctx, rows)
	for row, now := range seen {
		if len(now.rows) == 1 {
			out[now.rows[0].identity] = row
		}
	}
	return out, err
}

// columns returns the columns that the seed has or had.
func (s *seeding) columns(table tenant.SeedTable, known []*remembered) []string {
	columns := map[string]bool{}
	for _, row := range table.Rows {
		for name := range row {
			columns[name] = true
		}
	}
	for _, row := range known {
		for name := range row.written {
			if _, there := s.tables[table.Name].columns[name]; there {
				columns[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(columns))
}

// targets pairs the seed's rows with what there is of them; no two may be one row of the database.
func (s *seeding) targets(ctx context.Context, table tenant.SeedTable, columns []string) ([]target, error) {
	seen, err := s.look(ctx, table, columns)
	if err != nil {
		return nil, s.failed("comparing table "+table.Name, err)
	}
	if err := s.checkTwice(ctx, table); err != nil {
		return nil, err
	}
	out := make([]target, 0, len(table.Rows))
	for i, row := range table.Rows {
		to := target{keyed{s.tables[table.Name], table.Key}, row, keyOf(table.Key, row), nil}
		if len(seen[i]) > 1 {
			return nil, invalid(
				table.Name,
				fmt.Errorf("the key %s is that of %d rows", showKey(table.Key, to.key), len(seen[i])),
			)
		}
		if len(seen[i]) == 1 {
			to.now = &seen[i][0]
		}
		out = append(out, to)
	}
	return out, nil
}

// checkTwice finds two keys of the seed that are written differently and are one to the database.
func (s *seeding) checkTwice(ctx context.Context, table tenant.SeedTable) error {
	if len(table.Rows) < 2 {
		return nil
	}
	k := keyed{s.tables[table.Name], table.Key}
	keys := make([][]string, 0, len(table.Rows))
	same := make([]string, 0, len(table.Key))
	for _, row := range table.Rows {
		keys = append(keys, keyOf(table.Key, row))
	}
	for i, name := range table.Key {
		same = append(same, fmt.Sprintf("k.c%d::%s", i+1, k.table.columns[name].typ))
	}
	type pair struct{ first, last int }
	twice, err := query(ctx, s.tx, "comparing keys", func(rows *sql.Rows) (p pair, err error) {
		return p, rows.Scan(&p.first, &p.last)
	}, "SELECT min(k.n), max(k.n) FROM "+given(len(table.Key))+" GROUP BY "+strings.Join(same, ", ")+
		" HAVING count(*) > 1 LIMIT 1", k.lists(keys)...)
	if err != nil || len(twice) == 0 {
		return s.failed("comparing table "+table.Name, err)
	}
	return invalid(table.Name, fmt.Errorf("%s and %s are the same row",
		showKey(table.Key, keys[twice[0].first-1]), showKey(table.Key, keys[twice[0].last-1])))
}

// decide says what happens to one row; old is what is remembered of it, nil for one that is new to the seed.
func (s *seeding) decide(ctx context.Context, work *writing, to target, old *remembered) error {
	if old == nil {
		old = &remembered{}
		s.rows = append(s.rows, old)
		if to.now == nil {
			s.put(work, to, old)
			return nil
		}
		return s.takeOver(ctx, work, to, old)
	}
	if to.now == nil {
		s.edit(work, to, old, nil)
		return nil
	}
	edited := slices.DeleteFunc(old.changed(to.table, *to.now), func(name string) bool {
		_, still := to.row[name]
		return !still
	})
	same := encode(old.spec) == encode(to.row)
	switch {
	case len(edited) == 0 && same:
		s.keep(to, old, old.written)
		s.fresh[old] = true
		return nil
	case len(edited) == 0:
		s.put(work, to, old)
		return nil
	case same:
		s.edit(work, to, old, edited)
		return nil
	}
	// The customer may have done just what the seed does now.
	written, err := s.probe(ctx, to)
	if err != nil {
		return err
	}
	if len((&remembered{written: written}).changed(to.table, *to.now)) == 0 {
		s.put(work, to, old)
		return nil
	}
	s.edit(work, to, old, edited)
	return nil
}

// takeOver makes a row that the seed did not write the seed's. Where its values differ, they are edits.
func (s *seeding) takeOver(ctx context.Context, work *writing, to target, old *remembered) error {
	written, err := s.probe(ctx, to)
	if err != nil {
		return err
	}
	s.keep(to, old, written)
	if edited := old.changed(to.table, *to.now); len(edited) > 0 {
		s.edit(work, to, old, edited)
		return nil
	}
	s.fresh[old] = true
	return nil
}

// edit treats an edited row as the seed says; no columns means that the row was deleted.
func (s *seeding) edit(work *writing, to target, old *remembered, columns []string) {
	s.wanted[old], old.dropped = true, nil
	if s.spec.OnEdit == tenant.RestoreEdits {
		s.put(work, to, old)
		return
	}
	maps.DeleteFunc(old.written, func(name string, _ *string) bool {
		_, still := to.row[name]
		return !still
	})
	s.edited = append(s.edited, old.edit(columns))
}

// put has the seed's values written; what the database makes of them is read when everything is written.
func (s *seeding) put(work *writing, to target, old *remembered) {
	s.keep(to, old, nil)
	s.fresh[old] = true
	work.targets = append(work.targets, to)
}

func (s *seeding) keep(to target, old *remembered, written map[string]*string) {
	old.table, old.keyColumns, old.key = to.table.name, to.keyed.key, to.key
	old.spec, old.written, old.dropped = to.row, written, nil
	s.wanted[old] = true
}
