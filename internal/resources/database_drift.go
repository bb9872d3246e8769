package resources

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// The answers to a change by hand that no apply repairs.
const (
	onDriftError = "error"
	onDriftKeep  = "keep"
)

// repairing plans the repair of what the refresh found, and answers what can't be repaired as on_drift says.
func (m databaseModel) repairing(prior databaseModel, diags *diag.Diagnostics) databaseModel {
	var left []string
	found := stringsOf(prior.Drift.Elements())
	for _, line := range found {
		if strings.HasPrefix(line, lossy) {
			left = append(left, line)
		}
	}
	m.Drift = textSet(left)
	// A repair may make a role anew, with another secret.
	if len(left) < len(found) || !m.CredentialsVersion.Equal(prior.CredentialsVersion) {
		m.Credentials = types.ObjectUnknown(credentialsType())
	}
	if len(left) == 0 {
		return m
	}
	doing := fmt.Sprintf("planning database %s of tenant %s", m.Name.ValueString(), m.TenantID.ValueString())
	if m.OnDrift.ValueString() == onDriftKeep {
		diags.AddAttributeWarning(path.Root("drift"), sentence(doing),
			strings.Join(left, "\n")+"\n\nThis stays as it is because on_drift is \"keep\".")
		return m
	}
	addAttributeError(diags, path.Root("drift"), tenant.StepDatabase,
		tenant.Fail(tenant.CodeDatabaseDrift, doing, errors.New(strings.Join(left, "\n"))))
	return m
}

// checkCredentials refuses a version that goes back, and a password that nobody can derive any more.
func (r *databaseResource) checkCredentials(plan, prior databaseModel, diags *diag.Diagnostics) {
	was, is := prior.CredentialsVersion, plan.CredentialsVersion
	if !is.IsUnknown() && is.ValueInt64() < was.ValueInt64() {
		addAttributeError(diags, path.Root("credentials_version"), tenant.StepDatabase,
			lowered(prior.TenantID.ValueString(), was.ValueInt64()))
	}
	if r.backends() == nil || prior.Credentials.IsNull() {
		return
	}
	addAttributeError(diags, path.Root("credentials"), tenant.StepDatabase,
		derivable(r.backends().Keyring, prior.TenantID, prior.Credentials, tenant.DatabasePassword))
}

// planPlaces asks each candidate what it would refuse: if none is left, that is the plan's error. What the only one
// would do besides what the attributes show is a warning.
func (r *databaseResource) planPlaces(
	ctx context.Context,
	candidates tenant.Pools,
	plan databaseModel,
	files tenant.Migrations,
	diags *diag.Diagnostics,
) {
	var refusals []error
	for _, pool := range candidates {
		notes, err := planPlace(ctx, pool, plan, files)
		switch {
		case tenant.HasCode(err, tenant.CodePoolFull):
			refusals = append(refusals, err)
		case err != nil:
			addLookup(diags, tenant.StepDatabase, err)
		case len(candidates) == 1 && len(notes) > 0:
			diags.AddWarning(
				fmt.Sprintf("Besides, in pool %q, for tenant %s", pool.Name, plan.TenantID.ValueString()),
				strings.Join(notes, "\n"),
			)
		}
	}
	if len(refusals) > 0 && len(refusals) == len(candidates) {
		addError(diags, tenant.StepDatabase, tenant.Fail(tenant.CodePoolFull,
			fmt.Sprintf("placing tenant %s on plan %q", plan.TenantID.ValueString(), plan.Plan.ValueString()),
			errors.Join(refusals...)))
	}
}

func planPlace(
	ctx context.Context, pool tenant.Pool, plan databaseModel, files tenant.Migrations,
) ([]string, error) {
	planner, ok := pool.Databases.(tenant.DatabasePlanner)
	if !ok {
		return nil, nil
	}
	place, err := placeIn(pool, plan)
	if err != nil {
		return nil, err
	}
	spec := plan.desired(files)
	spec.Place, spec.MaxTenants = place, pool.MaxTenants
	return planner.PlanDatabase(ctx, spec)
}

// planDisposal refuses a disposal that the pool can't do, as soon as the place is known.
func (r *databaseResource) planDisposal(ctx context.Context, model databaseModel, diags *diag.Diagnostics) {
	if r.backends() == nil || diags.HasError() ||
		!known(model.TenantID, model.Pool, model.Name, model.OnDestroy) {
		return
	}
	pool, err := r.backends().Pools.Find(model.Pool.ValueString())
	if err != nil {
		return // told elsewhere, or nothing that a destroy may fail on before it tries
	}
	if planner, ok := pool.Databases.(tenant.DatabasePlanner); ok {
		id := tenant.ID(model.TenantID.ValueString())
		addAttributeError(diags, path.Root("on_destroy"), tenant.StepDatabase,
			planner.PlanDisposal(ctx, id, model.place(), model.disposal()))
	}
}
