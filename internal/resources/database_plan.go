package resources

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// ModifyPlan says at plan time what can be known then: where the database will live, which migrations will be applied,
// what is in the way, and that a protected one can't be destroyed.
func (r *databaseResource) ModifyPlan(
	ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse,
) {
	var prior *databaseModel
	if !req.State.Raw.IsNull() {
		prior = &databaseModel{}
		resp.Diagnostics.Append(req.State.Get(ctx, prior)...)
	}
	if req.Plan.Raw.IsNull() {
		if prior != nil && !resp.Diagnostics.HasError() {
			addError(&resp.Diagnostics, tenant.StepDatabase, r.protects(*prior))
			r.planDisposal(ctx, *prior, &resp.Diagnostics)
		}
		return
	}
	var config, plan databaseModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	plan.Pool, plan.Name, plan.ReadOnly = config.Pool, config.Name, config.ReadOnly
	if prior == nil {
		plan = r.planCreate(ctx, plan, &resp.Diagnostics)
	} else {
		plan = r.planUpdate(ctx, *prior, plan, &resp.Diagnostics)
	}
	r.planDisposal(ctx, plan, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, plan)...)
	}
}

// protects returns the failure that keeps a protected database from being destroyed.
func (r *databaseResource) protects(state databaseModel) error {
	if !state.DeletionProtection.ValueBool() || r.meta != nil && r.meta.LiftProtection {
		return nil
	}
	return tenant.Fail(
		tenant.CodeProtected,
		fmt.Sprintf(
			"deleting database %s of tenant %s",
			state.Name.ValueString(),
			state.TenantID.ValueString(),
		),
		errors.New("its deletion_protection is true"),
	)
}

func (r *databaseResource) planCreate(
	ctx context.Context, plan databaseModel, diags *diag.Diagnostics,
) databaseModel {
	plan.ID = plan.TenantID
	plan.Isolation, plan.Credentials = types.StringUnknown(), types.ObjectUnknown(credentialsType())
	plan.Drift = textSet(nil)
	if plan.Name.IsNull() {
		plan.Name = types.StringUnknown()
	}
	if plan.ReadOnly.IsNull() {
		plan.ReadOnly = types.BoolUnknown()
	}
	files, loaded := r.planMigrations(&plan, diags)
	open := plan.Pool.IsUnknown()
	if plan.Pool.IsNull() {
		plan.Pool = types.StringUnknown()
	}
	if r.backends() == nil || open || plan.Plan.IsUnknown() || !known(plan.TenantID) {
		return plan
	}
	candidates, err := r.candidates(plan)
	if err != nil {
		at := path.Root("plan")
		if known(plan.Pool) {
			at = path.Root("pool")
		}
		addAttributeError(diags, at, tenant.StepDatabase, err)
		return plan
	}
	r.planPlaces(ctx, candidates, plan, files, diags)
	if len(candidates) == 1 {
		place, err := placeIn(candidates[0], plan)
		if err != nil {
			addError(diags, tenant.StepDatabase, err)
			return plan
		}
		plan.Pool = types.StringValue(place.Pool)
		plan.Isolation, plan.Name = types.StringValue(string(place.Isolation)), types.StringValue(place.Name)
	}
	_, own, err := findOwn(ctx, candidates, plan)
	if !plan.Claim.ValueBool() {
		addLookup(diags, tenant.StepDatabase, err)
	}
	if own != nil && loaded {
		addPending(diags, files, own.Applied)
	}
	return plan
}

func (r *databaseResource) planUpdate(
	ctx context.Context, prior, plan databaseModel, diags *diag.Diagnostics,
) databaseModel {
	if !keepsTenant(diags, tenant.StepDatabase, prior.TenantID, plan.TenantID) {
		return plan
	}
	if known(plan.Pool) && !plan.Pool.Equal(prior.Pool) {
		addAttributeError(diags, path.Root("pool"), tenant.StepDatabase,
			moves(prior, fmt.Sprintf("pool %q is wanted", plan.Pool.ValueString())))
		return plan
	}
	if known(plan.Name) && !plan.Name.Equal(prior.Name) {
		addAttributeError(diags, path.Root("name"), tenant.StepDatabase,
			moves(prior, fmt.Sprintf("the name %q is wanted", plan.Name.ValueString())))
		return plan
	}
	addError(diags, tenant.StepDatabase, r.staysIn(prior, plan))
	plan.ID, plan.Pool, plan.Isolation, plan.Name = prior.ID, prior.Pool, prior.Isolation, prior.Name
	plan.Credentials = prior.Credentials
	if plan.ReadOnly.IsNull() {
		plan.ReadOnly = prior.ReadOnly
	}
	files, loaded := r.planMigrations(&plan, diags)
	if !loaded && plan.MigrationsPath.IsNull() {
		plan.Migrations = prior.Migrations
	}
	if loaded {
		addPending(diags, files, prior.applied())
	}
	plan = plan.repairing(prior, diags)
	r.checkCredentials(plan, prior, diags)
	if loaded && r.backends() != nil && !plan.Migrations.Equal(prior.Migrations) {
		if pool, err := r.backends().Pools.Find(prior.Pool.ValueString()); err == nil {
			r.planPlaces(ctx, tenant.Pools{pool}, plan, files, diags)
		}
	}
	return plan
}

// staysIn returns a failure if the pool that holds the database can't go on holding it as planned.
func (r *databaseResource) staysIn(prior, plan databaseModel) error {
	if r.backends() == nil {
		return nil
	}
	pools := r.backends().Pools
	pool, err := pools.Find(prior.Pool.ValueString())
	if err != nil {
		return err
	}
	if string(pool.Isolation) != prior.Isolation.ValueString() {
		return moves(prior, fmt.Sprintf("the pool is now configured with isolation %q", pool.Isolation))
	}
	if !known(plan.Plan) || plan.Plan.Equal(prior.Plan) || pool.Takes(plan.Plan.ValueString()) {
		return nil
	}
	takers, err := pools.For(plan.Plan.ValueString())
	if err != nil {
		return err
	}
	names := make([]string, 0, len(takers))
	for _, taker := range takers {
		names = append(names, fmt.Sprintf("%q (isolation %s)", taker.Name, taker.Isolation))
	}
	return moves(
		prior,
		fmt.Sprintf("plan %q is taken by pool %s", plan.Plan.ValueString(), strings.Join(names, ", ")),
	)
}

func moves(prior databaseModel, why string) error {
	return tenant.Fail(tenant.CodePlacementChange,
		fmt.Sprintf("changing the place of database %s of tenant %s",
			prior.Name.ValueString(), prior.TenantID.ValueString()),
		fmt.Errorf("it lives in pool %q (isolation %s), and %s",
			prior.Pool.ValueString(), prior.Isolation.ValueString(), why))
}

// candidates are the pools that the database may be placed in: the one that is named, or all that take the plan.
func (r *databaseResource) candidates(plan databaseModel) (tenant.Pools, error) {
	pools := r.backends().Pools
	wanted := plan.Plan.ValueString()
	if !known(plan.Pool) {
		if plan.Plan.IsNull() {
			return nil, tenant.Fail(tenant.CodeInvalidConfig, "placing tenant "+plan.TenantID.ValueString(),
				errors.New("neither plan nor pool says where"))
		}
		return pools.For(wanted)
	}
	pool, err := pools.Find(plan.Pool.ValueString())
	if err != nil {
		return nil, err
	}
	if !plan.Plan.IsNull() && !pool.Takes(wanted) {
		return nil, tenant.Fail(
			tenant.CodeNoPool,
			fmt.Sprintf("placing tenant %s", plan.TenantID.ValueString()),
			fmt.Errorf("pool %q does not take plan %q", pool.Name, wanted),
		)
	}
	return tenant.Pools{pool}, nil
}

// findOwn returns the tenant's own database and its pool, if one of the candidates has it. A foreign one of its name in
// any of them is a failure: which pool has room is not known beforehand, so none may be blocked.
func findOwn(
	ctx context.Context,
	candidates tenant.Pools,
	model databaseModel,
) (tenant.Pool, *tenant.Database, error) {
	var blocked error
	for _, pool := range candidates {
		place, err := placeIn(pool, model)
		if err != nil {
			return tenant.Pool{}, nil, err
		}
		own, err := pool.Databases.Read(ctx, tenant.ID(model.TenantID.ValueString()), place)
		if err == nil {
			return pool, &own, nil
		}
		if !errors.Is(err, tenant.ErrAbsent) && (blocked == nil || tenant.HasCode(err, tenant.CodeForeign)) {
			blocked = err
		}
	}
	return tenant.Pool{}, nil, blocked
}

// placeIn is where the database lives in that pool: under the name that was given, or the one that follows from
// installation and tenant.
func placeIn(pool tenant.Pool, model databaseModel) (tenant.Place, error) {
	name, err := pool.Databases.DatabaseName(tenant.ID(model.TenantID.ValueString()), pool.Isolation)
	if known(model.Name) {
		name = model.Name.ValueString()
	}
	if err != nil {
		return tenant.Place{}, err
	}
	return tenant.Place{Pool: pool.Name, Isolation: pool.Isolation, Name: name}, nil
}
