package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// flush writes sets of rows. Where the database refuses a set, the rows are written one by one, which names the row at
// fault and lets one row make room for another.
func (s *seeding) flush(ctx context.Context, name string, work *writing) error {
	if len(work.targets) == 0 {
		return nil
	}
	s.changing = true
	if len(work.targets) > 1 {
		err := s.tentatively(ctx, func() (bool, error) { return true, s.putSets(ctx, work.targets) })
		if err == nil || !isOfRows(err) {
			return s.failed("writing table "+name, err)
		}
	}
	for _, to := range work.targets {
		if err := s.putSet(ctx, []target{to}); err != nil {
			return s.failed("writing "+to.String(), err)
		}
	}
	return nil
}

// isOfRows reports whether the rows are at fault: data exceptions, constraints, assignments (SQLSTATE classes).
func isOfRows(err error) bool {
	code := state(err)
	return len(code) == 5 && slices.Contains([]string{"22", "23", "42", "P0", "44"}, code[:2])
}

// putSets writes the rows, those of one kind (new or not, with the same columns) in one statement.
func (s *seeding) putSets(ctx context.Context, targets []target) error {
	sets, order := map[string][]target{}, []string(nil)
	for _, to := range targets {
		kind := encode([]any{to.now == nil, slices.Sorted(maps.Keys(to.row))})
		if sets[kind] == nil {
			order = append(order, kind)
		}
		sets[kind] = append(sets[kind], to)
	}
	slices.SortStableFunc(
		order,
		func(a, b string) int { return strings.Compare(b, a) },
	) // new rows first: "[true…"
	for _, kind := range order {
		if err := s.putSet(ctx, sets[kind]); err != nil {
			return err
		}
	}
	return nil
}

func (s *seeding) putSet(ctx context.Context, set []target) error {
	text, lists := s.insertSet(set)
	if set[0].now != nil {
		if text, lists = updateSet(set); text == "" {
			return nil
		}
	}
	_, err := s.tx.ExecContext(ctx, text, lists...)
	return err
}

// tenantColumn is whose a row is, under row isolation.
const tenantColumn = "tenant_id"

func (s *seeding) insertSet(set []target) (string, []any) {
	first := set[0]
	var names, values []string
	var lists []any
	for i, name := range slices.Sorted(maps.Keys(first.row)) {
		names = append(names, ident(name))
		values = append(values, fmt.Sprintf("k.c%d::%s", i+1, first.table.columns[name].typ))
		lists = append(lists, cellsOf(set, name))
	}
	from := given(len(lists))
	if _, there := first.table.columns[tenantColumn]; there && s.at.place.Isolation == tenant.IsolationRow {
		names = append(names, tenantColumn)
		values = append(values, literal(string(s.at.tenant)))
	}
	return "INSERT INTO " + first.table.sql() + " (" + strings.Join(
		names,
		", ",
	) + ") OVERRIDING SYSTEM VALUE SELECT " +
		strings.Join(
			values,
			", ",
		) + " FROM " + from + " ORDER BY k.n", lists
}

func updateSet(set []target) (string, []any) {
	first := set[0]
	var sets []string
	lists := first.lists(keysIn(set))
	for _, name := range slices.Sorted(maps.Keys(first.row)) {
		if slices.Contains(first.keyed.key, name) {
			continue
		}
		lists = append(lists, cellsOf(set, name))
		sets = append(
			sets,
			fmt.Sprintf("%s = k.c%d::%s", ident(name), len(lists), first.table.columns[name].typ),
		)
	}
	if len(sets) == 0 {
		return "", nil
	}
	return "UPDATE " + first.table.sql() + " AS t SET " + strings.Join(
		sets,
		", ",
	) + " FROM " + given(
		len(lists),
	) +
		" WHERE " + first.on(), lists
}

func keysIn(set []target) [][]string {
	out := make([][]string, 0, len(set))
	for _, to := range set {
		out = append(out, to.key)
	}
	return out
}

func cellsOf(set []target, column string) []*string {
	out := make([]*string, 0, len(set))
	for _, to := range set {
		out = append(out, to.row[column])
	}
	return out
}

// probe returns what the database would make of the seed's values in an existing row, and leaves the row as it is.
func (s *seeding) probe(ctx context.Context, to target) (written map[string]*string, err error) {
	err = s.tentatively(ctx, func() (bool, error) {
		if err := s.putSet(ctx, []target{to}); err != nil {
			return false, err
		}
		seen, err := to.look(ctx, s.tx, [][]string{to.key}, slices.Sorted(maps.Keys(to.row)))
		if err == nil && len(seen[0]) == 1 {
			written = seen[0][0].values
		}
		return false, err
	})
	if err == nil && written == nil {
		err = errors.New("the row is not there after it was written")
	}
	return written, err
}

// tentatively runs work in a savepoint and takes it back unless work says to keep it.
func (s *seeding) tentatively(ctx context.Context, work func() (keep bool, err error)) error {
	if _, err := s.tx.ExecContext(ctx, "SAVEPOINT tentative"); err != nil {
		return err
	}
	keep, err := work()
	end := "RELEASE SAVEPOINT tentative"
	if err != nil || !keep {
		end = "ROLLBACK TO SAVEPOINT tentative; RELEASE SAVEPOINT tentative"
	}
	if _, ended := s.tx.ExecContext(ctx, end); ended != nil {
		return errors.Join(err, ended)
	}
	return err
}
