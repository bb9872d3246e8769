package resources

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

var (
	_ resource.ResourceWithConfigure      = (*seedResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*seedResource)(nil)
	_ resource.ResourceWithValidateConfig = (*seedResource)(nil)
	_ resource.ResourceWithIdentity       = (*seedResource)(nil)
	_ resource.ResourceWithImportState    = (*seedResource)(nil)
)

// NewSeed returns the resource tenant_seed.
func NewSeed() resource.Resource { return &seedResource{} }

type seedResource struct{ configured }

type seedModel struct {
	ID         types.String   `tfsdk:"id"`
	TenantID   types.String   `tfsdk:"tenant_id"`
	Database   types.Object   `tfsdk:"database"`
	Tables     types.String   `tfsdk:"tables"` // sealed: see Sealed
	OnEdit     types.String   `tfsdk:"on_edit"`
	EditedRows types.List     `tfsdk:"edited_rows"`
	KeptRows   types.List     `tfsdk:"kept_rows"`
	Timeouts   timeouts.Value `tfsdk:"timeouts"`
}

// Metadata names the resource.
func (r *seedResource) Metadata(
	_ context.Context,
	req resource.MetadataRequest,
	resp *resource.MetadataResponse,
) {
	resp.TypeName = req.ProviderTypeName + "_seed"
}

// Create writes the seed, or goes on with the tenant's own. When it fails it leaves no state, and no row.
func (r *seedResource) Create(
	ctx context.Context,
	req resource.CreateRequest,
	resp *resource.CreateResponse,
) {
	var plan seedModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, "create", plan.Timeouts.Create, &resp.Diagnostics)
	defer cancel()
	made, err := r.apply(ctx, plan)
	if err != nil {
		addError(&resp.Diagnostics, tenant.StepSeed, inTime(ctx, err))
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, plan.with(made))...)
	identify(ctx, resp.Identity, plan.TenantID, &resp.Diagnostics)
}

func (r *seedResource) apply(ctx context.Context, plan seedModel) (tenant.Seed, error) {
	seeds, err := r.seeds(plan)
	if err != nil {
		return tenant.Seed{}, err
	}
	spec, err := plan.desired()
	if err != nil {
		return tenant.Seed{}, err
	}
	return seeds.Apply(ctx, spec, r.meta.journal())
}

func (r *seedResource) seeds(model seedModel) (tenant.Seeds, error) {
	pool, err := r.backends().Pools.Find(model.place().Pool)
	if err != nil {
		return nil, err
	}
	return pool.Seeds, nil
}

func (r *seedResource) read(ctx context.Context, model seedModel) (tenant.Seed, error) {
	seeds, err := r.seeds(model)
	if err != nil {
		return tenant.Seed{}, err
	}
	return seeds.Read(ctx, tenant.ID(model.TenantID.ValueString()), model.place())
}

// Read writes which rows were edited, never the rows: they are the configuration's.
func (r *seedResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state seedModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	identify(ctx, resp.Identity, state.TenantID, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || r.backends() == nil {
		return
	}
	seen, err := r.read(ctx, state)
	if errors.Is(err, tenant.ErrAbsent) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		addError(&resp.Diagnostics, tenant.StepSeed, err)
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, state.seen(seen))...)
}

// Update writes the seed as it is now, all of it or nothing: when it fails, the state stays as it was.
func (r *seedResource) Update(
	ctx context.Context,
	req resource.UpdateRequest,
	resp *resource.UpdateResponse,
) {
	var plan seedModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, "update", plan.Timeouts.Update, &resp.Diagnostics)
	defer cancel()
	made, err := r.apply(ctx, plan)
	if err != nil {
		addError(&resp.Diagnostics, tenant.StepSeed, inTime(ctx, err))
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, plan.with(made))...)
	identify(ctx, resp.Identity, plan.TenantID, &resp.Diagnostics)
}

// Delete forgets the seed. It reads for itself, so it works without a refresh; a database that is gone took it along.
func (r *seedResource) Delete(
	ctx context.Context,
	req resource.DeleteRequest,
	resp *resource.DeleteResponse,
) {
	var state seedModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, "delete", state.Timeouts.Delete, &resp.Diagnostics)
	defer cancel()
	seeds, err := r.seeds(state)
	if err == nil {
		err = seeds.Delete(ctx, tenant.ID(state.TenantID.ValueString()), state.place(), r.meta.journal())
	}
	if !errors.Is(err, tenant.ErrAbsent) {
		addError(&resp.Diagnostics, tenant.StepSeed, inTime(ctx, err))
	}
}

func (m seedModel) place() tenant.Place {
	return tenant.Place{
		Pool:      textOf(m.Database, "pool").ValueString(),
		Isolation: tenant.Isolation(textOf(m.Database, "isolation").ValueString()),
		Name:      textOf(m.Database, "name").ValueString(),
	}
}

// desired is what the model, wholly known, wants the seed to be.
func (m seedModel) desired() (tenant.SeedSpec, error) {
	spec := tenant.SeedSpec{
		Tenant: tenant.ID(m.TenantID.ValueString()),
		Place:  m.place(),
		OnEdit: tenant.OnEdit(m.OnEdit.ValueString()),
	}
	tables, err := readTables(m.Tables)
	for _, table := range tables.elements {
		spec.Tables = append(spec.Tables, table.desired())
	}
	return spec, err
}

func (t seedTable) desired() tenant.SeedTable {
	out := tenant.SeedTable{Name: t.name.ValueString(), Rows: make([]tenant.Row, 0, len(t.rows.elements))}
	for _, column := range t.key.elements {
		out.Key = append(out.Key, column.ValueString())
	}
	for _, row := range t.rows.elements {
		cells := make(tenant.Row, len(row.cells))
		for column, text := range row.cells {
			cells[column] = text.ValueStringPointer()
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

// with is the planned model after an apply: what the plan left open is what was made.
func (m seedModel) with(made tenant.Seed) seedModel {
	m.ID = m.TenantID
	fill(&m.EditedRows, editsValue(made.Edited))
	fill(&m.KeptRows, editsValue(made.Kept))
	return m
}

// seen is the model after a refresh.
func (m seedModel) seen(seen tenant.Seed) seedModel {
	m.EditedRows, m.KeptRows = editsValue(seen.Edited), editsValue(seen.Kept)
	return m
}

func editsValue(edits []tenant.RowEdit) types.List {
	lines := make([]string, 0, len(edits))
	for _, edit := range edits {
		lines = append(lines, edit.String())
	}
	slices.Sort(lines)
	return textList(lines)
}
