package resources

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// ImportState finds the tenant's database by its mark, and in it the seed as it was last applied.
func (r *seedResource) ImportState(
	ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse,
) {
	id, ok := r.imported(ctx, tenant.StepSeed, req, &resp.Diagnostics)
	if !ok {
		return
	}
	model, err := r.find(ctx, id)
	if err != nil {
		addError(&resp.Diagnostics, tenant.StepSeed, notImported(id, "seed", err))
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, model)...)
	identify(ctx, resp.Identity, model.TenantID, &resp.Diagnostics)
}

func (r *seedResource) find(ctx context.Context, id tenant.ID) (seedModel, error) {
	database, err := r.findDatabase(ctx, id)
	if err != nil {
		return seedModel{}, err
	}
	model := seedModel{
		ID:       types.StringValue(string(id)),
		TenantID: types.StringValue(string(id)),
		Database: placeValue(database.Place),
		OnEdit:   types.StringValue(string(tenant.KeepEdits)),
		Timeouts: noTimeouts(),
	}
	seeds, err := r.seeds(model)
	if err != nil {
		return seedModel{}, err
	}
	reader, ok := seeds.(tenant.SeedReader)
	if !ok {
		return seedModel{}, tenant.Fail(tenant.CodeInvalidConfig, "importing the seed of tenant "+string(id),
			fmt.Errorf("the pool %q can't tell what was seeded", database.Place.Pool))
	}
	tables, err := reader.ReadTables(ctx, id, database.Place)
	if err != nil {
		return seedModel{}, err
	}
	if model.Tables, err = writeTables(tables); err != nil {
		return seedModel{}, err
	}
	seen, err := seeds.Read(ctx, id, database.Place)
	return model.seen(seen), err
}

func placeValue(place tenant.Place) types.Object {
	return types.ObjectValueMust(
		map[string]attr.Type{
			"pool":      types.StringType,
			"isolation": types.StringType,
			"name":      types.StringType,
		},
		map[string]attr.Value{
			"pool":      types.StringValue(place.Pool),
			"isolation": types.StringValue(string(place.Isolation)),
			"name":      types.StringValue(place.Name),
		},
	)
}

// writeTables is the way back from readTables.
func writeTables(tables []tenant.SeedTable) (types.String, error) {
	var out bytes.Buffer
	encoder := msgpack.NewEncoder(&out)
	errs := []error{encoder.EncodeArrayLen(len(tables))}
	for _, table := range tables {
		errs = append(errs,
			encoder.EncodeMapLen(3),
			encoder.EncodeString("key"), encoder.Encode(table.Key),
			encoder.EncodeString("name"), encoder.EncodeString(table.Name),
			encoder.EncodeString("rows"), writeRows(encoder, table.Rows))
	}
	if err := errors.Join(errs...); err != nil {
		return types.StringNull(), tenant.Fail(tenant.CodeInternal, "writing the tables of a seed", err)
	}
	return types.StringValue(out.String()), nil
}

func writeRows(encoder *msgpack.Encoder, rows []tenant.Row) error {
	errs := []error{encoder.EncodeArrayLen(len(rows))}
	for _, row := range rows {
		errs = append(errs, encoder.EncodeMapLen(len(row)))
		for _, column := range slices.Sorted(maps.Keys(row)) {
			errs = append(errs, encoder.EncodeString(column), encoder.Encode(row[column]))
		}
	}
	return errors.Join(errs...)
}
