package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// remove deletes those of the rows that are unedited and that nobody refers to, as long as one goes; it returns those that
// stay.
func (s *seeding) remove(ctx context.Context, rows []*remembered) ([]*remembered, error) {
	for {
		s.forgetReasons()
		var stay []*remembered
		for _, row := range rows {
			gone, err := s.removeRow(ctx, row)
			if err != nil {
				return nil, err
			}
			if !gone {
				stay = append(stay, row)
			}
		}
		if len(stay) == 0 || len(stay) == len(rows) {
			return stay, nil
		}
		rows = stay
	}
}

func (s *seeding) removeRow(ctx context.Context, row *remembered) (gone bool, err error) {
	byTable, err := s.groups(ctx, []*remembered{row})
	if err != nil {
		return false, err
	}
	if len(byTable) == 0 { // its table is gone
		return true, s.forget(ctx, row)
	}
	at := byTable[0]
	seen, err := at.look(ctx, s.tx)
	if err != nil {
		return false, err
	}
	if len(seen[0]) == 0 {
		return true, s.forget(ctx, row)
	}
	if edit, edited := row.compare(seenRow{at.table, seen[0]}); edited {
		s.kept[row] = edit
		return false, nil
	}
	referrers, err := s.referrers(ctx, at.keyed, row)
	if err != nil {
		return false, err
	}
	if len(referrers) > 0 {
		s.keepReferenced(row, referrers...)
		return false, nil
	}
	return s.delete(ctx, at.keyed, row)
}

func (s *seeding) keepReferenced(row *remembered, by ...string) {
	edit := row.edit(nil)
	edit.Referenced = by
	s.kept[row] = edit
}

func (s *seeding) delete(ctx context.Context, at keyed, row *remembered) (bool, error) {
	gone := true
	err := s.tentatively(ctx, func() (bool, error) {
		err := s.exec(
			ctx,
			"DELETE FROM "+at.table.sql()+" AS t USING "+given(len(at.key))+" WHERE "+at.on(),
			at.lists([][]string{row.key})...)
		return true, err
	})
	if strings.HasPrefix(state(err), "23") {
		gone, err = false, nil
		s.keepReferenced(row, "a constraint")
	}
	if err != nil || !gone {
		return false, err
	}
	return true, s.forget(ctx, row)
}

// exec runs a statement that changes rows.
func (s *seeding) exec(ctx context.Context, statement string, args ...any) error {
	s.changing = true
	_, err := s.tx.ExecContext(ctx, statement, args...)
	return err
}

func (s *seeding) forget(ctx context.Context, row *remembered) error {
	s.rows = slices.DeleteFunc(s.rows, func(other *remembered) bool { return other == row })
	_, err := s.tx.ExecContext(ctx, `DELETE FROM tenantry_seed_rows WHERE tenant_id = $1 AND position = $2`,
		string(s.at.tenant), row.position)
	return err
}

// referrers returns the tables with a row that refers to this one, whatever would become of it: with ON DELETE CASCADE the
// customer's rows would go, too.
func (s *seeding) referrers(ctx context.Context, at keyed, row *remembered) ([]string, error) {
	references, err := s.references(ctx, at.table)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, reference := range references {
		var there bool
		err := s.tx.QueryRowContext(ctx, reference.query(at), at.lists([][]string{row.key})...).Scan(&there)
		if err != nil {
			return nil, err
		}
		if there && !slices.Contains(out, reference.name) {
			out = append(out, reference.name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// reference is a foreign key that points at a table.
type reference struct {
	name  string // of the child, for people
	child string // in SQL
	self  bool
	join  string // of c, the child, and t
}

func (s *seeding) references(ctx context.Context, parent *table) ([]reference, error) {
	return query(ctx, s.tx, "reading foreign keys", func(rows *sql.Rows) (r reference, err error) {
		return r, rows.Scan(&r.name, &r.child, &r.self, &r.join)
	}, `SELECT f.relname, format('%I.%I', n.nspname, f.relname), f.oid = c.confrelid,
		(SELECT string_agg(format('c.%I = t.%I', a.attname, b.attname), ' AND ')
			FROM unnest(c.conkey, c.confkey) AS k (from_n, to_n)
			JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.from_n
			JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = k.to_n)
		FROM pg_constraint c JOIN pg_class f ON f.oid = c.conrelid JOIN pg_namespace n ON n.oid = f.relnamespace
		WHERE c.contype = 'f' AND c.conparentid = 0 AND c.confrelid = to_regclass($1) ORDER BY 1`, parent.sql())
}

// query finds out whether there is a child of the row; the row itself is none.
func (r reference) query(at keyed) string {
	self := ""
	if r.self {
		self = " AND c.ctid <> t.ctid"
	}
	return fmt.Sprintf("SELECT EXISTS (SELECT FROM %s JOIN %s t ON %s JOIN %s c ON %s%s)",
		given(len(at.key)), at.table.sql(), at.on(), r.child, r.join, self)
}
