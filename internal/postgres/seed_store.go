package postgres

import (
	"context"
	"fmt"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func (s *seeding) forgetReasons() { s.kept = map[*remembered]tenant.RowEdit{} }

// remember stores what the database made of the rows that are the seed's own now, those included that a trigger of the
// product changed on the way, and what is kept although the seed has dropped it.
func (s *seeding) remember(ctx context.Context, gone []*remembered) error {
	for _, row := range gone {
		why := encode(s.kept[row].Referenced)
		row.dropped = &why
	}
	fresh := s.rewritten()
	seen, err := s.states(ctx, fresh)
	if err != nil {
		return err
	}
	for _, row := range fresh {
		now := seen[row]
		switch len(now.rows) {
		case 0:
			return fmt.Errorf(
				"%s[%s] is not there after it was written",
				row.table,
				showKey(row.keyColumns, row.key),
			)
		case 1:
			row.take(now)
		default:
			return invalid(
				row.table,
				fmt.Errorf("the key %s is that of %d rows", showKey(row.keyColumns, row.key), len(now.rows)),
			)
		}
	}
	return s.store(ctx)
}

// rewritten returns the rows whose values are the seed's, with a place for each of their columns.
func (s *seeding) rewritten() []*remembered {
	var out []*remembered
	for _, row := range s.rows {
		if !s.changing || !s.fresh[row] {
			continue
		}
		if row.written == nil {
			row.written = map[string]*string{}
		}
		for name := range row.spec {
			if _, known := row.written[name]; !known {
				row.written[name] = nil
			}
		}
		out = append(out, row)
	}
	return out
}

// take remembers the values of the columns that the seed has now.
func (r *remembered) take(now seenRow) {
	written := make(map[string]*string, len(r.spec))
	for name := range r.spec {
		value := now.rows[0].values[name]
		if was, ok := r.written[name]; ok && now.table.same(name, was, value) {
			value = was
		}
		written[name] = value
	}
	r.written = written
}

// store writes those of the remembered rows that are not stored as they are, in one statement.
func (s *seeding) store(ctx context.Context) error {
	last := int64(0)
	for _, row := range s.rows {
		last = max(last, row.position)
	}
	var positions []int64
	var tables, columns, keys, specs, written []string
	var dropped []*string
	for _, row := range s.rows {
		if row.position > 0 && s.stored[row] == row.encoded() {
			continue
		}
		if row.position == 0 {
			last++
			row.position = last
		}
		positions, tables = append(positions, row.position), append(tables, row.table)
		columns, keys = append(columns, encode(row.keyColumns)), append(keys, encode(row.key))
		specs, written = append(specs, encode(row.spec)), append(written, encode(row.written))
		dropped = append(dropped, row.dropped)
	}
	if len(positions) == 0 {
		return nil
	}
	_, err := s.tx.ExecContext(ctx, `INSERT INTO tenantry_seed_rows
		(tenant_id, position, table_name, key_columns, key, spec, written, dropped)
		SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
		ON CONFLICT (tenant_id, position) DO UPDATE SET table_name = excluded.table_name, key_columns = excluded.key_columns,
			key = excluded.key, spec = excluded.spec, written = excluded.written, dropped = excluded.dropped`,
		string(s.at.tenant), positions, tables, columns, keys, specs, written, dropped)
	return err
}
