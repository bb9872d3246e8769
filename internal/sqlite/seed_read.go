package sqlite

import (
	"context"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// ReadTables returns the seed as it was last applied, in the order in which it is remembered.
func (s *Seeds) ReadTables(
	ctx context.Context,
	id tenant.ID,
	place tenant.Place,
) ([]tenant.SeedTable, error) {
	if _, err := s.Read(ctx, id, place); err != nil {
		return nil, err
	}
	at, err := s.backend.locate(id, place)
	if err != nil {
		return nil, err
	}
	f, err := s.backend.open(ctx, at)
	if err != nil {
		return nil, err
	}
	defer f.close()
	rows, err := recall(ctx, f.db)
	if err != nil {
		return nil, sqlitefile.Classify("reading the seed of "+at.path, err)
	}
	return tablesOf(rows), nil
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
