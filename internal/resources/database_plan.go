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
		}
		return
	}
	var config, plan databaseModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	plan.Pool = config.Pool
	if prior == nil {
		plan = r.planCreate(ctx, plan, &resp.Diagnostics)
	} else {
		plan = r.planUpdate(*prior, plan, &resp.Diagnostics)
	}
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
	plan.Isolation, plan.Name = types.StringUnknown(), types.StringUnknown()
	files, loaded := r.planMigrations(&plan, diags)
	open := plan.Pool.IsUnknown()
	if plan.Pool.IsNull() {
		plan.Pool = types.StringUnknown()
	}
	if r.backends() == nil || open || !known(plan.TenantID, plan.Plan) {
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
	id := tenant.ID(plan.TenantID.ValueString())
	if len(candidates) == 1 {
		place, err := placeIn(candidates[0], id)
		if err != nil {
			addError(diags, tenant.StepDatabase, err)
			return plan
		}
		plan.Pool = types.StringValue(place.Pool)
		plan.Isolation, plan.Name = types.StringValue(string(place.Isolation)), types.StringValue(place.Name)
	}
	_, own, err := findOwn(ctx, candidates, id)
	addLookup(diags, tenant.StepDatabase, err)
	if own != nil && loaded {
		addPending(diags, files, own.Applied)
	}
	return plan
}

func (r *databaseResource) planUpdate(prior, plan databaseModel, diags *diag.Diagnostics) databaseModel {
	if !keepsTenant(diags, tenant.StepDatabase, prior.TenantID, plan.TenantID) {
		return plan
	}
	if known(plan.Pool) && !plan.Pool.Equal(prior.Pool) {
		addAttributeError(diags, path.Root("pool"), tenant.StepDatabase,
			moves(prior, fmt.Sprintf("pool %q is wanted", plan.Pool.ValueString())))
		return plan
	}
	addError(diags, tenant.StepDatabase, r.staysIn(prior, plan))
	plan.ID, plan.Pool, plan.Isolation, plan.Name = prior.ID, prior.Pool, prior.Isolation, prior.Name
	if files, loaded := r.planMigrations(&plan, diags); loaded {
		addPending(diags, files, prior.applied())
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
	if plan.Plan.IsUnknown() || plan.Plan.Equal(prior.Plan) || pool.Takes(plan.Plan.ValueString()) {
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
		return pools.For(wanted)
	}
	pool, err := pools.Find(plan.Pool.ValueString())
	if err != nil {
		return nil, err
	}
	if !pool.Takes(wanted) {
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
	id tenant.ID,
) (tenant.Pool, *tenant.Database, error) {
	var blocked error
	for _, pool := range candidates {
		place, err := placeIn(pool, id)
		if err != nil {
			return tenant.Pool{}, nil, err
		}
		own, err := pool.Databases.Read(ctx, id, place)
		if err == nil {
			return pool, &own, nil
		}
		if !errors.Is(err, tenant.ErrAbsent) && (blocked == nil || tenant.HasCode(err, tenant.CodeForeign)) {
			blocked = err
		}
	}
	return tenant.Pool{}, nil, blocked
}

func placeIn(pool tenant.Pool, id tenant.ID) (tenant.Place, error) {
	name, err := pool.Databases.DatabaseName(id, pool.Isolation)
	if err != nil {
		return tenant.Place{}, err
	}
	return tenant.Place{Pool: pool.Name, Isolation: pool.Isolation, Name: name}, nil
}
