package resources

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/migrations"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// placing is a pool's databases as far as placement asks of them.
type placing struct {
	tenant.Databases

	own     *tenant.Database
	read    error
	ensured error
}

func (p placing) DatabaseName(id tenant.ID, isolation tenant.Isolation) (string, error) {
	return string(isolation) + "_" + string(id), nil
}

func (p placing) Read(context.Context, tenant.ID, tenant.Place) (tenant.Database, error) {
	if p.own != nil {
		return *p.own, nil
	}
	if p.read != nil {
		return tenant.Database{}, p.read
	}
	return tenant.Database{}, tenant.ErrAbsent
}

func (p placing) Ensure(
	_ context.Context,
	spec tenant.DatabaseSpec,
	_ tenant.Journal,
) (tenant.Database, error) {
	return tenant.Database{
		Place:    spec.Place,
		Applied:  spec.Migrations.Files,
		ReadOnly: spec.ReadOnly,
	}, p.ensured
}

func pool(name string, databases placing, plans ...string) tenant.Pool {
	return tenant.Pool{Name: name, Isolation: tenant.IsolationSchema, Plans: plans, Databases: databases}
}

func databasesOf(pools ...tenant.Pool) *databaseResource {
	return &databaseResource{configured{&Meta{Backends: &tenant.Backends{Pools: pools}}}, migrations.Load}
}

func databasePlan(plan, pool string) databaseModel {
	model := databaseModel{
		TenantID: types.StringValue("acme"),
		Plan:     types.StringValue(plan),
		Pool:     types.StringNull(),
		CredentialsVersion: types.Int64Value(
			1,
		),
		Credentials:    types.ObjectNull(credentialsType()),
		Drift:          textSet(nil),
		MigrationsPath: types.StringNull(),
		Migrations:     types.MapUnknown(types.StringType),
	}
	if pool != "" {
		model.Pool = types.StringValue(pool)
	}
	return model
}

func livingInA() databaseModel {
	model := databasePlan("pro", "a")
	model.ID, model.Isolation = model.TenantID, types.StringValue("schema")
	model.Name, model.Migrations = types.StringValue("schema_acme"), sumsValue(nil)
	return model
}

func requireCode(t *testing.T, code tenant.Code, diags diag.Diagnostics) {
	t.Helper()
	require.Len(t, diags.Errors(), 1)
	parsed, ok := tenant.ParseFailureLine(diags.Errors()[0].Detail())
	require.True(t, ok)
	require.Equal(t, code, parsed.Code, diags.Errors()[0].Detail())
}

var errForeign = tenant.Fail(tenant.CodeForeign, "reading schema schema_acme", errors.New("no mark"))

func TestThePlaceIsPlannedWhereItIsCertain(t *testing.T) {
	t.Parallel()
	free := placing{}
	cases := map[string]struct {
		pools tenant.Pools
		plan  databaseModel
		place tenant.Place // zero: left to the apply
		code  tenant.Code
	}{
		"the only pool that takes the plan": {
			pools: tenant.Pools{
				pool("a", free, "free"),
				pool("b", free, "pro"),
			},
			plan:  databasePlan("pro", ""),
			place: tenant.Place{Pool: "b", Isolation: "schema", Name: "schema_acme"},
		},
		"several that take it": {
			pools: tenant.Pools{
				pool("a", free, "pro"),
				pool("b", free, "pro"),
			},
			plan: databasePlan("pro", ""),
		},
		"one that is named": {
			pools: tenant.Pools{
				pool("a", free, "pro"),
				pool("b", free, "pro"),
			},
			plan:  databasePlan("pro", "b"),
			place: tenant.Place{Pool: "b", Isolation: "schema", Name: "schema_acme"},
		},
		"one that is named and does not take it": {
			pools: tenant.Pools{
				pool("a", free, "free"),
			},
			plan: databasePlan("pro", "a"),
			code: tenant.CodeNoPool,
		},
		"one that is named and not there": {
			pools: tenant.Pools{pool("a", free)}, plan: databasePlan("pro", "z"), code: tenant.CodeNoPool,
		},
		"none that takes it": {
			pools: tenant.Pools{
				pool("a", free, "free"),
			},
			plan: databasePlan("pro", ""),
			code: tenant.CodeNoPool,
		},
		"a foreign one in the way": {
			pools: tenant.Pools{
				pool("a", placing{read: errForeign}),
			},
			plan: databasePlan("pro", ""),
			code: tenant.CodeForeign,
		},
		"a foreign one in one of several": {
			pools: tenant.Pools{
				pool("a", free),
				pool("b", placing{read: errForeign}),
			},
			plan: databasePlan("pro", ""),
			code: tenant.CodeForeign,
		},
		"our own beside a foreign one": {
			pools: tenant.Pools{
				pool("a", placing{read: errForeign}),
				pool("b", placing{own: &tenant.Database{}}),
			},
			plan: databasePlan("pro", ""),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			planned := databasesOf(c.pools...).planCreate(t.Context(), c.plan, &diags)
			if c.code != "" {
				requireCode(t, c.code, diags)
				return
			}
			require.Empty(t, diags)
			require.Equal(t, "acme", planned.ID.ValueString())
			require.Equal(t, c.place, planned.place())
			require.Equal(t, c.place.Pool == "", planned.Pool.IsUnknown())
			require.Equal(t, c.place.Pool == "", planned.Name.IsUnknown())
			require.True(t, planned.Migrations.IsUnknown(), "what is adopted may have some")
		})
	}
}

func TestNothingIsLookedUpWhileTheProviderIsUnknown(t *testing.T) {
	t.Parallel()
	var diags diag.Diagnostics
	r := &databaseResource{configured{&Meta{}}, migrations.Load}
	planned := r.planCreate(t.Context(), databasePlan("pro", ""), &diags)
	require.Empty(t, diags)
	require.True(t, planned.Pool.IsUnknown())
	planned = r.planUpdate(t.Context(), livingInA(), databasePlan("basic", ""), &diags)
	require.Empty(t, diags)
	require.Equal(t, "a", planned.Pool.ValueString())
}

func TestCreateTakesTheFirstPoolWithRoomAndItsOwnBeforeAny(t *testing.T) {
	t.Parallel()
	full := placing{ensured: tenant.Fail(tenant.CodePoolFull, "creating", errors.New("2 of 2"))}
	made, err := databasesOf(
		pool("a", full),
		pool("b", placing{}),
	).create(t.Context(), databasePlan("pro", ""))
	require.NoError(t, err)
	require.Equal(t, "b", made.Place.Pool)

	own := placing{own: &tenant.Database{}}
	made, err = databasesOf(pool("a", placing{}), pool("b", own)).create(t.Context(), databasePlan("pro", ""))
	require.NoError(t, err)
	require.Equal(t, "b", made.Place.Pool)

	_, err = databasesOf(pool("a", full), pool("b", full)).create(t.Context(), databasePlan("pro", ""))
	require.True(t, tenant.HasCode(err, tenant.CodePoolFull))

	broken := placing{ensured: tenant.Fail(tenant.CodeUnavailable, "creating", errors.New("away"))}
	_, err = databasesOf(pool("a", broken), pool("b", placing{})).create(t.Context(), databasePlan("pro", ""))
	require.True(t, tenant.HasCode(err, tenant.CodeUnavailable), "only a full pool is passed over")
}

func TestAPlacedDatabaseStays(t *testing.T) {
	t.Parallel()
	pools := tenant.Pools{pool("a", placing{}, "pro", "basic"), pool("b", placing{}, "enterprise")}
	cases := map[string]struct {
		plan  databaseModel
		pools tenant.Pools
		code  tenant.Code
		names []string
	}{
		"the same":                   {plan: databasePlan("pro", "")},
		"a plan that the pool takes": {plan: databasePlan("basic", "")},
		"a plan of another pool": {
			plan:  databasePlan("enterprise", ""),
			code:  tenant.CodePlacementChange,
			names: []string{`"a"`, `"b"`},
		},
		"a plan of no pool": {plan: databasePlan("huge", ""), code: tenant.CodeNoPool},
		"another pool": {
			plan:  databasePlan("pro", "b"),
			code:  tenant.CodePlacementChange,
			names: []string{`"a"`, `"b"`},
		},
		"a pool that is gone": {
			plan:  databasePlan("pro", ""),
			pools: pools[1:],
			code:  tenant.CodeNoPool,
		},
		"a pool that has lost the old": {
			plan:  databasePlan("pro", ""),
			pools: tenant.Pools{pool("a", placing{}, "basic")},
		},
		"a pool of another isolation": {
			plan: databasePlan("pro", ""), code: tenant.CodePlacementChange,
			pools: tenant.Pools{{Name: "a", Isolation: tenant.IsolationRow, Databases: placing{}}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.pools == nil {
				c.pools = pools
			}
			var diags diag.Diagnostics
			planned := databasesOf(c.pools...).planUpdate(t.Context(), livingInA(), c.plan, &diags)
			if c.code != "" {
				requireCode(t, c.code, diags)
				for _, name := range c.names {
					require.Contains(t, diags[0].Detail(), name)
				}
				return
			}
			require.Empty(t, diags)
			require.Equal(t, livingInA().place(), planned.place())
		})
	}
}

func TestATenantKeepsItsID(t *testing.T) {
	t.Parallel()
	var diags diag.Diagnostics
	require.True(t, keepsTenant(&diags, tenant.StepSeed, types.StringValue("a"), types.StringValue("a")))
	require.True(t, keepsTenant(&diags, tenant.StepSeed, types.StringValue("a"), types.StringUnknown()))
	require.False(t, keepsTenant(&diags, tenant.StepSeed, types.StringValue("a"), types.StringValue("b")))
	requireCode(t, tenant.CodeTenantIDChanged, diags)
}

func TestProtectionCanOnlyBeLiftedByTheOneWhoServes(t *testing.T) {
	t.Parallel()
	state := livingInA()
	state.DeletionProtection = types.BoolValue(true)
	r := databasesOf()
	require.True(t, tenant.HasCode(r.protects(state), tenant.CodeProtected))
	r.meta.LiftProtection = true
	require.NoError(t, r.protects(state))
	r.meta.LiftProtection, state.DeletionProtection = false, types.BoolValue(false)
	require.NoError(t, r.protects(state))
}

func migration(t *testing.T, folder, name, statement string) {
	t.Helper()
	text := "-- +goose Up\n" + statement + ";\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
}

func TestMigrationsAreComparedAtPlanTime(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	folder := filepath.Join(base, "migrations")
	require.NoError(t, os.Mkdir(folder, 0o700))
	migration(t, folder, "00002_two.sql", "CREATE TABLE two (id INT)")
	r := databasesOf(pool("a", placing{}))
	r.meta.BaseDir = base
	plan := databasePlan("pro", "")
	plan.MigrationsPath = types.StringValue("migrations")

	var diags diag.Diagnostics
	planned := r.planCreate(t.Context(), plan, &diags)
	require.Empty(t, diags)
	require.Len(t, planned.Migrations.Elements(), 1)
	prior := livingInA()
	prior.Migrations = planned.Migrations

	migration(t, folder, "00003_three.sql", "CREATE TABLE three (id INT)")
	require.Len(t, r.planUpdate(t.Context(), prior, plan, &diags).Migrations.Elements(), 2)
	require.Empty(t, diags)

	migration(t, folder, "00001_one.sql", "CREATE TABLE one (id INT)")
	r.planUpdate(t.Context(), prior, plan, &diags)
	requireCode(t, tenant.CodeMigrationOrder, diags)
	require.Contains(t, diags[0].Summary(), "00001_one.sql")

	require.NoError(t, os.Remove(filepath.Join(folder, "00001_one.sql")))
	migration(t, folder, "00002_two.sql", "CREATE TABLE two (id TEXT)")
	diags = nil
	r.planUpdate(t.Context(), prior, plan, &diags)
	requireCode(t, tenant.CodeMigrationEdited, diags)
	require.Contains(t, diags[0].Summary(), "00002_two.sql")

	require.NoError(t, os.Remove(filepath.Join(folder, "00002_two.sql")))
	diags = nil
	r.planUpdate(t.Context(), prior, plan, &diags)
	requireCode(t, tenant.CodeDatabaseAhead, diags)
	require.Contains(t, diags[0].Summary(), "00002_two.sql")

	require.NoError(t, os.RemoveAll(folder))
	diags = nil
	r.planUpdate(t.Context(), prior, plan, &diags)
	requireCode(t, tenant.CodeMigrationsFolder, diags)

	diags, plan.MigrationsPath = nil, types.StringUnknown()
	require.True(t, r.planUpdate(t.Context(), prior, plan, &diags).Migrations.IsUnknown())
	require.Empty(t, diags)
}

func TestARenamedMigrationIsNoDifference(t *testing.T) {
	t.Parallel()
	state := livingInA()
	state.Migrations = sumsValue(map[string]string{"00001_new_name.sql": "s1"})
	seen := state.seen(tenant.Database{Applied: []tenant.Migration{
		{
			Version: 1,
			Name:    "00001_old_name.sql",
			SHA256:  "s1",
		},
		{Version: 2, Name: "00002_b.sql", SHA256: "s2"},
	}})
	require.Equal(
		t,
		sumsValue(map[string]string{"00001_new_name.sql": "s1", "00002_b.sql": "s2"}),
		seen.Migrations,
	)
	require.Equal(t, []tenant.Migration{
		{
			Version: 1,
			Name:    "00001_new_name.sql",
			SHA256:  "s1",
		},
		{Version: 2, Name: "00002_b.sql", SHA256: "s2"},
	}, seen.applied())
}

func TestVersionOf(t *testing.T) {
	t.Parallel()
	require.Equal(t, int64(20260102030405), versionOf("20260102030405_a_b.sql"))
	require.Equal(t, int64(7), versionOf("00007_x.sql"))
	require.Zero(t, versionOf("x.sql"))
}
