package resources

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func tableType() map[string]attr.Type {
	return map[string]attr.Type{
		"name": types.StringType,
		"key":  types.ListType{ElemType: types.StringType},
		"rows": types.ListType{ElemType: rowType()},
	}
}

func table(name string, key []string, rows ...attr.Value) attr.Value {
	return types.ObjectValueMust(tableType(), map[string]attr.Value{
		"name": types.StringValue(name), "key": textList(key), "rows": types.ListValueMust(rowType(), rows),
	})
}

func row(cells map[string]attr.Value) attr.Value { return types.MapValueMust(types.StringType, cells) }

func account(code, name string) attr.Value {
	return row(map[string]attr.Value{"code": types.StringValue(code), "name": types.StringValue(name)})
}

func tables(tables ...attr.Value) types.List {
	return types.ListValueMust(types.ObjectType{AttrTypes: tableType()}, tables)
}

func place(pool, name string) types.Object {
	return types.ObjectValueMust(
		map[string]attr.Type{
			"pool":      types.StringType,
			"isolation": types.StringType,
			"name":      types.StringType,
		},
		map[string]attr.Value{
			"pool": types.StringValue(
				pool,
			),
			"isolation": types.StringValue("schema"),
			"name":      types.StringValue(name),
		},
	)
}

func wantedSeed(onEdit tenant.OnEdit) seedModel {
	return seedModel{
		TenantID: types.StringValue(
			"acme",
		),
		Database: place("a", "acme"),
		OnEdit:   types.StringValue(string(onEdit)),
		Tables: tables(
			table("accounts", []string{"code"}, account("1000", "Cash"), account("2000", "Debt")),
		),
	}
}

func livingSeed(onEdit tenant.OnEdit, edits ...tenant.RowEdit) seedModel {
	model := wantedSeed(onEdit)
	model.EditedRows, model.KeptRows = types.ListUnknown(
		types.StringType,
	), types.ListUnknown(
		types.StringType,
	)
	return model.with(tenant.Seed{}).seen(tenant.Seed{Edited: edits})
}

var renamed = tenant.RowEdit{Table: "accounts", Key: "code=1000", Columns: []string{"name"}}

func TestASeedIsDesiredAsItIsWritten(t *testing.T) {
	t.Parallel()
	wanted := wantedSeed(tenant.KeepEdits)
	wanted.Tables = tables(table(
		"accounts",
		[]string{"code"},
		row(
			map[string]attr.Value{"code": types.StringValue("1"), "note": types.StringNull()},
		),
	), table("empty", []string{"id"}))
	one := "1"
	require.Equal(t, tenant.SeedSpec{
		Tenant: "acme",
		Place:  tenant.Place{Pool: "a", Isolation: "schema", Name: "acme"},
		OnEdit: tenant.KeepEdits,
		Tables: []tenant.SeedTable{
			{Name: "accounts", Key: []string{"code"}, Rows: []tenant.Row{{"code": &one, "note": nil}}},
			{Name: "empty", Key: []string{"id"}, Rows: []tenant.Row{}},
		},
	}, wanted.desired())
}

func TestTheSecondPlanOfASeedIsEmpty(t *testing.T) {
	t.Parallel()
	for _, onEdit := range []tenant.OnEdit{tenant.KeepEdits, tenant.RestoreEdits, tenant.RefuseEdits} {
		prior := livingSeed(onEdit)
		require.Equal(t, prior, wantedSeed(onEdit).after(prior))
	}
	prior := livingSeed(tenant.KeepEdits, renamed)
	require.Equal(t, prior, wantedSeed(tenant.KeepEdits).after(prior), "kept edits are no change")
}

func TestRestoredEditsAreAPlannedChange(t *testing.T) {
	t.Parallel()
	planned := wantedSeed(tenant.RestoreEdits).after(livingSeed(tenant.RestoreEdits, renamed))
	require.Equal(t, textList(nil), planned.EditedRows)
	require.True(t, planned.KeptRows.IsUnknown())
}

func TestAnotherSeedLeavesItsEditsOpen(t *testing.T) {
	t.Parallel()
	prior, wanted := livingSeed(tenant.KeepEdits, renamed), wantedSeed(tenant.KeepEdits)
	wanted.Tables = tables(table("accounts", []string{"code"}, account("1000", "Cash")))
	planned := wanted.after(prior)
	require.True(t, planned.EditedRows.IsUnknown())
	require.True(t, planned.KeptRows.IsUnknown())
}

func TestAnswersToEdits(t *testing.T) {
	t.Parallel()
	edits := editsValue([]tenant.RowEdit{renamed})
	var diags diag.Diagnostics
	answerEdits(&diags, wantedSeed(tenant.RestoreEdits), edits)
	require.Empty(t, diags)
	answerEdits(&diags, wantedSeed(tenant.KeepEdits), edits)
	require.Equal(t, 1, diags.WarningsCount())
	require.Contains(t, diags[0].Detail(), "accounts[code=1000]: name")
	diags = nil
	answerEdits(&diags, wantedSeed(tenant.RefuseEdits), edits)
	requireCode(t, tenant.CodeSeedEdited, diags)
	require.Contains(t, diags[0].Detail(), "accounts[code=1000]: name")
}

func TestManyEditsAreCounted(t *testing.T) {
	t.Parallel()
	var rows []string
	for i := range 25 {
		rows = append(rows, fmt.Sprintf("row %d", i))
	}
	require.Contains(t, named(rows), "and 5 more")
	require.NotContains(t, named(rows), "row 20")
}

func TestRowsAreToldApartByTheirKey(t *testing.T) {
	t.Parallel()
	unknownCode := row(map[string]attr.Value{"code": types.StringUnknown()})
	nullCode := row(map[string]attr.Value{"code": types.StringNull()})
	cases := map[string]struct {
		tables  types.List
		refused int
	}{
		"good": {
			tables: tables(table("a", []string{"code"}, account("1", "x"), account("2", "x"))),
		},
		"unknown tables": {tables: types.ListUnknown(types.ObjectType{AttrTypes: tableType()})},
		"unknown table":  {tables: tables(types.ObjectUnknown(tableType()))},
		"unknown row":    {tables: tables(table("a", []string{"code"}, types.MapUnknown(types.StringType)))},
		"unknown keys":   {tables: tables(table("a", []string{"code"}, unknownCode, unknownCode))},
		"the same key": {
			tables:  tables(table("a", []string{"code"}, account("1", "x"), account("1", "y"))),
			refused: 1,
		},
		"two columns": {
			tables: tables(table("a", []string{"code", "name"}, account("1", "x"), account("1", "y"))),
		},
		"no key":     {tables: tables(table("a", []string{"id"}, account("1", "x"))), refused: 1},
		"a null key": {tables: tables(table("a", []string{"code"}, nullCode)), refused: 1},
		"a table twice": {
			tables:  tables(table("a", []string{"code"}), table("a", []string{"code"})),
			refused: 1,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			checkTables(c.tables, &diags)
			require.Equal(t, c.refused, diags.ErrorsCount(), "%v", diags)
			if c.refused > 0 {
				requireCode(t, tenant.CodeSeedInvalid, diags)
			}
		})
	}
}

func TestASeedStaysInItsDatabase(t *testing.T) {
	t.Parallel()
	prior, wanted := livingSeed(tenant.KeepEdits), wantedSeed(tenant.KeepEdits)
	require.NoError(t, wanted.staysIn(prior))
	wanted.Database = types.ObjectUnknown(wanted.Database.AttributeTypes(t.Context()))
	require.NoError(t, wanted.staysIn(prior))
	wanted.Database = place("b", "acme")
	require.True(t, tenant.HasCode(wanted.staysIn(prior), tenant.CodePlacementChange))
}
