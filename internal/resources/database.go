package resources

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/migrations"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

var (
	_ resource.ResourceWithConfigure   = (*databaseResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*databaseResource)(nil)
	_ resource.ResourceWithIdentity    = (*databaseResource)(nil)
	_ resource.ResourceWithImportState = (*databaseResource)(nil)
)

// NewDatabase returns the resource tenant_database.
func NewDatabase() resource.Resource { return &databaseResource{folder: migrations.Load} }

type databaseResource struct {
	configured

	// folder reads a folder of migrations.
	folder func(path string) (tenant.Migrations, error)
}

type databaseModel struct {
	ID                 types.String   `tfsdk:"id"`
	TenantID           types.String   `tfsdk:"tenant_id"`
	Plan               types.String   `tfsdk:"plan"`
	Pool               types.String   `tfsdk:"pool"`
	Name               types.String   `tfsdk:"name"`
	Claim              types.Bool     `tfsdk:"claim"`
	BaselineVersion    types.Int64    `tfsdk:"baseline_version"`
	MigrationsPath     types.String   `tfsdk:"migrations_path"`
	Extensions         types.Set      `tfsdk:"extensions"`
	CredentialsVersion types.Int64    `tfsdk:"credentials_version"`
	DeletionProtection types.Bool     `tfsdk:"deletion_protection"`
	OnDestroy          types.String   `tfsdk:"on_destroy"`
	Retention          types.String   `tfsdk:"retention"`
	ForceDestroy       types.Bool     `tfsdk:"force_destroy"`
	ReadOnly           types.Bool     `tfsdk:"read_only"`
	OnDrift            types.String   `tfsdk:"on_drift"`
	Isolation          types.String   `tfsdk:"isolation"`
	Migrations         types.Map      `tfsdk:"migrations"`
	Credentials        types.Object   `tfsdk:"credentials"`
	Drift              types.Set      `tfsdk:"drift"`
	Timeouts           timeouts.Value `tfsdk:"timeouts"`
}

// Metadata names the resource.
func (r *databaseResource) Metadata(
	_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse,
) {
	resp.TypeName = req.ProviderTypeName + "_database"
}

// Create makes the database or adopts the tenant's own. When it fails it leaves no state: the mark says what exists,
// and the next Create goes on from there.
func (r *databaseResource) Create(
	ctx context.Context,
	req resource.CreateRequest,
	resp *resource.CreateResponse,
) {
	var plan databaseModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, "create", plan.Timeouts.Create, &resp.Diagnostics)
	defer cancel()
	database, err := r.create(ctx, plan)
	if err != nil {
		addError(&resp.Diagnostics, tenant.StepDatabase, inTime(ctx, err))
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, plan.with(database))...)
	identify(ctx, resp.Identity, plan.TenantID, &resp.Diagnostics)
}

func (r *databaseResource) create(ctx context.Context, plan databaseModel) (tenant.Database, error) {
	spec, err := r.spec(plan)
	if err != nil {
		return tenant.Database{}, err
	}
	candidates, err := r.candidates(plan)
	if err != nil {
		return tenant.Database{}, err
	}
	if owner, own, err := findOwn(ctx, candidates, plan); err != nil && !spec.Claim {
		return tenant.Database{}, err
	} else if own != nil {
		candidates = tenant.Pools{owner}
		if plan.ReadOnly.IsUnknown() { // an adopted one stays as suspended as it was
			spec.ReadOnly = own.ReadOnly
		}
	}
	var full []error
	for _, pool := range candidates {
		database, err := ensureIn(ctx, pool, plan, spec, r.meta.journal())
		if !tenant.HasCode(err, tenant.CodePoolFull) {
			return database, err
		}
		full = append(full, err)
	}
	return tenant.Database{}, tenant.Fail(
		tenant.CodePoolFull,
		fmt.Sprintf(
			"placing tenant %s on plan %q",
			spec.Tenant,
			plan.Plan.ValueString(),
		),
		errors.Join(full...),
	)
}

func ensureIn(
	ctx context.Context,
	pool tenant.Pool,
	plan databaseModel,
	spec tenant.DatabaseSpec,
	journal tenant.Journal,
) (tenant.Database, error) {
	place, err := placeIn(pool, plan)
	if err != nil {
		return tenant.Database{}, err
	}
	spec.Place, spec.MaxTenants = place, pool.MaxTenants
	return pool.Databases.Ensure(ctx, spec, journal)
}

// Read writes what the database has applied into migrations, so that a plan shows pending files as additions.
func (r *databaseResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state databaseModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	identify(ctx, resp.Identity, state.TenantID, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || r.backends() == nil {
		return
	}
	database, err := r.read(ctx, state)
	if errors.Is(err, tenant.ErrAbsent) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		addError(&resp.Diagnostics, tenant.StepDatabase, err)
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, state.seen(database))...)
}

func (r *databaseResource) read(ctx context.Context, state databaseModel) (tenant.Database, error) {
	pool, err := r.backends().Pools.Find(state.Pool.ValueString())
	if err != nil {
		return tenant.Database{}, err
	}
	return pool.Databases.Read(ctx, tenant.ID(state.TenantID.ValueString()), state.place())
}

// Update applies pending migrations and settings. When it fails, the state keeps what was reached.
func (r *databaseResource) Update(
	ctx context.Context,
	req resource.UpdateRequest,
	resp *resource.UpdateResponse,
) {
	var plan, state databaseModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, "update", plan.Timeouts.Update, &resp.Diagnostics)
	defer cancel()
	database, err := r.update(ctx, plan)
	if err == nil {
		resp.Diagnostics.Append(resp.State.Set(ctx, plan.with(database))...)
		identify(ctx, resp.Identity, plan.TenantID, &resp.Diagnostics)
		return
	}
	addError(&resp.Diagnostics, tenant.StepDatabase, inTime(ctx, err))
	if reached, err := r.read(context.WithoutCancel(ctx), state); err == nil {
		resp.Diagnostics.Append(resp.State.Set(ctx, state.seen(reached))...)
	}
}

func (r *databaseResource) update(ctx context.Context, plan databaseModel) (tenant.Database, error) {
	spec, err := r.spec(plan)
	if err != nil {
		return tenant.Database{}, err
	}
	pool, err := r.backends().Pools.Find(plan.Pool.ValueString())
	if err != nil {
		return tenant.Database{}, err
	}
	spec.Place, spec.MaxTenants = plan.place(), pool.MaxTenants
	return pool.Databases.Ensure(ctx, spec, r.meta.journal())
}

// spec is what the plan wants, still without a place.
func (r *databaseResource) spec(plan databaseModel) (tenant.DatabaseSpec, error) {
	files, err := r.load(plan.MigrationsPath)
	if err != nil {
		return tenant.DatabaseSpec{}, err
	}
	return plan.desired(files), nil
}

// Delete disposes of the database as on_destroy says. It reads for itself, so it works without a refresh.
func (r *databaseResource) Delete(
	ctx context.Context,
	req resource.DeleteRequest,
	resp *resource.DeleteResponse,
) {
	var state databaseModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if err := r.protects(state); err != nil {
		addError(&resp.Diagnostics, tenant.StepDatabase, err)
		return
	}
	ctx, cancel := within(ctx, "delete", state.Timeouts.Delete, &resp.Diagnostics)
	defer cancel()
	pool, err := r.backends().Pools.Find(state.Pool.ValueString())
	if err == nil {
		err = pool.Databases.Delete(ctx, tenant.ID(state.TenantID.ValueString()), state.place(),
			state.disposal(), r.meta.journal())
	}
	if !errors.Is(err, tenant.ErrAbsent) {
		addError(&resp.Diagnostics, tenant.StepDatabase, inTime(ctx, err))
	}
}
