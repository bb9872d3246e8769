package resources

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/migrations"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

var (
	_ resource.ResourceWithConfigure  = (*databaseResource)(nil)
	_ resource.ResourceWithModifyPlan = (*databaseResource)(nil)
)

// NewDatabase returns the resource tenant_database.
func NewDatabase() resource.Resource { return &databaseResource{folder: migrations.Load} }

type databaseResource struct {
	configured

	// folder reads a folder of migrations.
	folder func(path string) (tenant.Migrations, error)
}

type databaseModel struct {
	ID                 types.String `tfsdk:"id"`
	TenantID           types.String `tfsdk:"tenant_id"`
	Plan               types.String `tfsdk:"plan"`
	Pool               types.String `tfsdk:"pool"`
	MigrationsPath     types.String `tfsdk:"migrations_path"`
	DeletionProtection types.Bool   `tfsdk:"deletion_protection"`
	OnDestroy          types.String `tfsdk:"on_destroy"`
	ReadOnly           types.Bool   `tfsdk:"read_only"`
	Isolation          types.String `tfsdk:"isolation"`
	Name               types.String `tfsdk:"name"`
	Migrations         types.Map    `tfsdk:"migrations"`
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
	database, err := r.create(ctx, plan)
	if err != nil {
		addError(&resp.Diagnostics, tenant.StepDatabase, err)
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, plan.with(database))...)
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
	if owner, own, err := findOwn(ctx, candidates, spec.Tenant); err != nil {
		return tenant.Database{}, err
	} else if own != nil {
		candidates = tenant.Pools{owner}
	}
	var full []error
	for _, pool := range candidates {
		database, err := ensureIn(ctx, pool, spec, r.meta.journal())
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
	ctx context.Context, pool tenant.Pool, spec tenant.DatabaseSpec, journal tenant.Journal,
) (tenant.Database, error) {
	place, err := placeIn(pool, spec.Tenant)
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
	database, err := r.update(ctx, plan)
	if err == nil {
		resp.Diagnostics.Append(resp.State.Set(ctx, plan.with(database))...)
		return
	}
	addError(&resp.Diagnostics, tenant.StepDatabase, err)
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
	pool, err := r.backends().Pools.Find(state.Pool.ValueString())
	if err == nil {
		err = pool.Databases.Delete(ctx, tenant.ID(state.TenantID.ValueString()), state.place(),
			tenant.Disposal{How: tenant.OnDestroy(state.OnDestroy.ValueString())}, r.meta.journal())
	}
	if !errors.Is(err, tenant.ErrAbsent) {
		addError(&resp.Diagnostics, tenant.StepDatabase, err)
	}
}

func (m databaseModel) place() tenant.Place {
	return tenant.Place{
		Pool:      m.Pool.ValueString(),
		Isolation: tenant.Isolation(m.Isolation.ValueString()),
		Name:      m.Name.ValueString(),
	}
}

// desired is what the model wants the database to be.
func (m databaseModel) desired(files tenant.Migrations) tenant.DatabaseSpec {
	return tenant.DatabaseSpec{
		Tenant: tenant.ID(m.TenantID.ValueString()), Migrations: files, ReadOnly: m.ReadOnly.ValueBool(),
	}
}

// with is the planned model after an apply: what the plan left open is what was made.
func (m databaseModel) with(database tenant.Database) databaseModel {
	m.ID = m.TenantID
	m.Pool = types.StringValue(database.Place.Pool)
	m.Isolation = types.StringValue(string(database.Place.Isolation))
	m.Name = types.StringValue(database.Place.Name)
	return m.seen(database)
}

// seen is the model after a refresh: where the database lives is kept, what it has applied is new.
func (m databaseModel) seen(database tenant.Database) databaseModel {
	names := map[int64]string{}
	for name := range m.Migrations.Elements() {
		names[versionOf(name)] = name
	}
	sums := map[string]string{}
	for _, applied := range database.Applied {
		name := applied.Name
		// A file that was renamed after it was applied keeps its new name, so that no plan renames it back.
		if renamed, ok := names[applied.Version]; ok {
			name = renamed
		}
		sums[name] = applied.SHA256
	}
	m.Migrations = sumsValue(sums)
	m.ReadOnly = types.BoolValue(database.ReadOnly)
	return m
}
