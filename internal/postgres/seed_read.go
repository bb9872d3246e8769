package postgres

import (
	"context"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// ReadTables returns the seed as it was last applied, in the order in which it is remembered.
func (s *Seeds) ReadTables(
	ctx context.Context, id tenant.ID, place tenant.Place,
) (out []tenant.SeedTable, err error) {
	err = s.enter(ctx, id, place, false, func(ctx context.Context, in *inside) error {
		mark, err := in.seedMark(ctx)
		if err != nil {
			return err
		}
		if mark == "" {
			return tenant.ErrAbsent
		}
		rows, err := rowsOf{in.db, in.f.at}.recall(ctx)
		out = tablesOf(rows)
		return classify("reading the seed of "+place.Name, err)
	})
	return out, err
}

func tablesOf(rows []*remembered) []tenant.SeedTable {
	at := map[string]int{}
	var out []tenant.SeedTable
	for _, row := range rows {
		if row.dropped != nil {
			continue
		}
		if _, known := at[row.table]; !known {
			at[row.table] = len(out)
			out = append(out, tenant.SeedTable{Name: row.table, Key: row.keyColumns})
		}
		table := &out[at[row.table]]
		table.Rows = append(table.Rows, row.spec)
	}
	return out
}
