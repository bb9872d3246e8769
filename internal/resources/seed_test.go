package resources

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func tablesType() tftypes.Type { return tablesAttribute().ValueType() }

func tableType() tftypes.Object { return tablesType().(tftypes.List).ElementType.(tftypes.Object) } //nolint:forcetypeassert // a test

func rowType() tftypes.Type { return tftypes.Map{ElementType: tftypes.String} }

func text(value any) tftypes.Value { return tftypes.NewValue(tftypes.String, value) }

func listed(element tftypes.Type, values ...tftypes.Value) tftypes.Value {
	if values == nil {
		values = []tftypes.Value{}
	}
	return tftypes.NewValue(tftypes.List{ElementType: element}, values)
}

func table(name string, key []string, rows ...tftypes.Value) tftypes.Value {
	columns := []tftypes.Value{}
	for _, column := range key {
		columns = append(columns, text(column))
	}
	return anyTable(text(name), listed(tftypes.String, columns...), listed(rowType(), rows...))
}

func anyTable(name, key, rows tftypes.Value) tftypes.Value {
	return tftypes.NewValue(tableType(), map[string]tftypes.Value{"name": name, "key": key, "rows": rows})
}

func row(cells map[string]tftypes.Value) tftypes.Value { return tftypes.NewValue(rowType(), cells) }

func account(code, name string) tftypes.Value {
	return row(map[string]tftypes.Value{"code": text(code), "name": text(name)})
}

// tables seals tables as the server does with what Terraform sends.
func tables(t *testing.T, tables ...tftypes.Value) types.String {
	t.Helper()
	value, err := tfprotov6.NewDynamicValue(tablesType(), listed(tableType(), tables...))
	require.NoError(t, err)
	return types.StringValue(string(value.MsgPack))
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

func wantedSeed(t *testing.T, onEdit tenant.OnEdit) seedModel {
	t.Helper()
	return seedModel{
		TenantID: types.StringValue(
			"acme",
		),
		Database: place("a", "acme"),
		OnEdit:   types.StringValue(string(onEdit)),
		Tables: tables(
			t,
			table("accounts", []string{"code"}, account("1000", "Cash"), account("2000", "Debt")),
		),
	}
}

func livingSeed(t *testing.T, onEdit tenant.OnEdit, edits ...tenant.RowEdit) seedModel {
	t.Helper()
	model := wantedSeed(t, onEdit)
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
	wanted := wantedSeed(t, tenant.KeepEdits)
	wanted.Tables = tables(t, table(
		"accounts",
		[]string{"code"},
		row(
			map[string]tftypes.Value{"code": text("1"), "note": text(nil)},
		),
	), table("empty", []string{"id"}))
	one := "1"
	desired, err := wanted.desired()
	require.NoError(t, err)
	require.Equal(t, tenant.SeedSpec{
		Tenant: "acme",
		Place:  tenant.Place{Pool: "a", Isolation: "schema", Name: "acme"},
		OnEdit: tenant.KeepEdits,
		Tables: []tenant.SeedTable{
			{Name: "accounts", Key: []string{"code"}, Rows: []tenant.Row{{"code": &one, "note": nil}}},
			{Name: "empty", Key: []string{"id"}, Rows: []tenant.Row{}},
		},
	}, desired)
}

func TestTheSecondPlanOfASeedIsEmpty(t *testing.T) {
	t.Parallel()
	for _, onEdit := range []tenant.OnEdit{tenant.KeepEdits, tenant.RestoreEdits, tenant.RefuseEdits} {
		prior := livingSeed(t, onEdit)
		wanted := wantedSeed(t, onEdit)
		wanted.Tables = prior.Tables
		require.Equal(t, prior, wanted.after(prior))
	}
	prior, wanted := livingSeed(t, tenant.KeepEdits, renamed), wantedSeed(t, tenant.KeepEdits)
	wanted.Tables = prior.Tables
	require.Equal(t, prior, wanted.after(prior), "kept edits are no change")
}

func TestRestoredEditsAreAPlannedChange(t *testing.T) {
	t.Parallel()
	planned := wantedSeed(t, tenant.RestoreEdits).after(livingSeed(t, tenant.RestoreEdits, renamed))
	require.Equal(t, textList(nil), planned.EditedRows)
	require.True(t, planned.KeptRows.IsUnknown())
}

func TestAnotherSeedLeavesItsEditsOpen(t *testing.T) {
	t.Parallel()
	prior, wanted := livingSeed(t, tenant.KeepEdits, renamed), wantedSeed(t, tenant.KeepEdits)
	wanted.Tables = tables(t, table("accounts", []string{"code"}, account("1000", "Cash")))
	planned := wanted.after(prior)
	require.True(t, planned.EditedRows.IsUnknown())
	require.True(t, planned.KeptRows.IsUnknown())
}

func TestAnswersToEdits(t *testing.T) {
	t.Parallel()
	edits := editsValue([]tenant.RowEdit{renamed})
	var diags diag.Diagnostics
	answerEdits(&diags, wantedSeed(t, tenant.RestoreEdits), edits)
	require.Empty(t, diags)
	answerEdits(&diags, wantedSeed(t, tenant.KeepEdits), edits)
	require.Equal(t, 1, diags.WarningsCount())
	require.Contains(t, diags[0].Detail(), "accounts[code=1000]: name")
	diags = nil
	answerEdits(&diags, wantedSeed(t, tenant.RefuseEdits), edits)
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
	unknownCode := row(map[string]tftypes.Value{"code": text(tftypes.UnknownValue)})
	nullCode := row(map[string]tftypes.Value{"code": text(nil)})
	key, texts := listed(tftypes.String, text("code")), tftypes.List{ElementType: tftypes.String}
	none, rows := listed(rowType()), tftypes.List{ElementType: rowType()}
	cases := map[string]struct {
		tables  types.String
		refused int
	}{
		"good": {
			tables: tables(t, table("a", []string{"code"}, account("1", "x"), account("2", "x"))),
		},
		"unknown tables": {tables: types.StringUnknown()},
		"unknown table":  {tables: tables(t, tftypes.NewValue(tableType(), tftypes.UnknownValue))},
		"unknown parts": {tables: tables(t, anyTable(text(tftypes.UnknownValue),
			tftypes.NewValue(texts, tftypes.UnknownValue), tftypes.NewValue(rows, tftypes.UnknownValue)))},
		"unknown row": {
			tables: tables(
				t,
				table("a", []string{"code"}, tftypes.NewValue(rowType(), tftypes.UnknownValue)),
			),
		},
		"unknown keys": {tables: tables(t, table("a", []string{"code"}, unknownCode, unknownCode))},
		"a null table": {tables: tables(t, tftypes.NewValue(tableType(), nil)), refused: 1},
		"a null name":  {tables: tables(t, anyTable(text(nil), key, none)), refused: 1},
		"a null key of a table": {
			tables: tables(t, anyTable(text("a"), tftypes.NewValue(texts, nil), none)), refused: 1,
		},
		"an empty key": {tables: tables(t, table("a", nil)), refused: 1},
		"a null column": {
			tables: tables(t, anyTable(text("a"), listed(tftypes.String, text(nil)), none)), refused: 1,
		},
		"null rows": {tables: tables(t, anyTable(text("a"), key, tftypes.NewValue(rows, nil))), refused: 1},
		"a null row": {
			tables: tables(t, table("a", []string{"code"}, tftypes.NewValue(rowType(), nil))), refused: 1,
		},
		"the same key": {
			tables:  tables(t, table("a", []string{"code"}, account("1", "x"), account("1", "y"))),
			refused: 1,
		},
		"two columns": {
			tables: tables(t, table("a", []string{"code", "name"}, account("1", "x"), account("1", "y"))),
		},
		"no key":     {tables: tables(t, table("a", []string{"id"}, account("1", "x"))), refused: 1},
		"a null key": {tables: tables(t, table("a", []string{"code"}, nullCode)), refused: 1},
		"a table twice": {
			tables:  tables(t, table("a", []string{"code"}), table("a", []string{"code"})),
			refused: 1,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			read, err := readTables(c.tables)
			require.NoError(t, err)
			checkTables(read, &diags)
			require.Equal(t, c.refused, diags.ErrorsCount(), "%v", diags)
			if c.refused > 0 {
				requireCode(t, tenant.CodeSeedInvalid, diags)
			}
		})
	}
}

// TestTablesAreComparedByWhatTheyHold: two encodings of one row differ in the order of its columns.
func TestTablesAreComparedByWhatTheyHold(t *testing.T) {
	t.Parallel()
	wide := map[string]tftypes.Value{}
	for i := range 20 {
		wide[fmt.Sprintf("column%d", i)] = text("x")
	}
	one := tables(t, table("a", []string{"column1"}, row(wide)))
	other := one
	for one.Equal(other) {
		other = tables(t, table("a", []string{"column1"}, row(wide)))
	}
	require.True(t, sameTables(one, other))
	wide["column1"] = text(nil)
	require.False(t, sameTables(one, tables(t, table("a", []string{"column1"}, row(wide)))))
}

func TestASeedStaysInItsDatabase(t *testing.T) {
	t.Parallel()
	prior, wanted := livingSeed(t, tenant.KeepEdits), wantedSeed(t, tenant.KeepEdits)
	require.NoError(t, wanted.staysIn(prior))
	wanted.Database = types.ObjectUnknown(wanted.Database.AttributeTypes(t.Context()))
	require.NoError(t, wanted.staysIn(prior))
	wanted.Database = place("b", "acme")
	require.True(t, tenant.HasCode(wanted.staysIn(prior), tenant.CodePlacementChange))
}
