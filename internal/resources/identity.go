package resources

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

var (
	_ resource.ResourceWithConfigure   = (*identityResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*identityResource)(nil)
	_ resource.ResourceWithIdentity    = (*identityResource)(nil)
	_ resource.ResourceWithImportState = (*identityResource)(nil)
)

// NewIdentity returns the resource tenant_identity.
func NewIdentity() resource.Resource { return &identityResource{} }

type identityResource struct{ configured }

type identityModel struct {
	ID                 types.String   `tfsdk:"id"`
	TenantID           types.String   `tfsdk:"tenant_id"`
	DisplayName        types.String   `tfsdk:"display_name"`
	OrganizationName   types.String   `tfsdk:"organization_name"`
	Claim              types.Bool     `tfsdk:"claim"`
	Public             types.Bool     `tfsdk:"public"`
	Domains            types.Set      `tfsdk:"domains"`
	SingleSignOn       types.Object   `tfsdk:"single_sign_on"`
	Hostnames          types.List     `tfsdk:"hostnames"`
	RedirectPath       types.String   `tfsdk:"redirect_path"`
	Roles              types.Set      `tfsdk:"roles"`
	Administrator      types.Object   `tfsdk:"administrator"`
	Enabled            types.Bool     `tfsdk:"enabled"`
	CredentialsVersion types.Int64    `tfsdk:"credentials_version"`
	OrganizationID     types.String   `tfsdk:"organization_id"`
	ApplicationID      types.String   `tfsdk:"application_id"`
	ClientID           types.String   `tfsdk:"client_id"`
	AdministratorID    types.String   `tfsdk:"administrator_id"`
	RedirectURIs       types.Set      `tfsdk:"redirect_uris"`
	Credentials        types.Object   `tfsdk:"credentials"`
	Drift              types.Set      `tfsdk:"drift"`
	Missing            types.Set      `tfsdk:"missing"`
	Altered            types.Set      `tfsdk:"altered"`
	Timeouts           timeouts.Value `tfsdk:"timeouts"`
}

// Metadata names the resource.
func (r *identityResource) Metadata(
	_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse,
) {
	resp.TypeName = req.ProviderTypeName + "_identity"
}

// Create makes the identity or adopts the tenant's own. When it fails it leaves no state.
func (r *identityResource) Create(
	ctx context.Context,
	req resource.CreateRequest,
	resp *resource.CreateResponse,
) {
	var plan, config identityModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, "create", plan.Timeouts.Create, &resp.Diagnostics)
	defer cancel()
	made, err := r.backends().Identities.Ensure(ctx, plan.desired(config), r.meta.journal())
	if err != nil {
		addError(&resp.Diagnostics, tenant.StepIdentity, inTime(ctx, err))
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, plan.with(made))...)
	identify(ctx, resp.Identity, plan.TenantID, &resp.Diagnostics)
}

// Read writes what is seen of the desired things; the ids, which other resources and the module's output build upon,
// are only moved by a planned change.
func (r *identityResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state identityModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	identify(ctx, resp.Identity, state.TenantID, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || r.backends() == nil {
		return
	}
	seen, err := r.backends().Identities.Read(ctx, tenant.ID(state.TenantID.ValueString()), state.names())
	if errors.Is(err, tenant.ErrAbsent) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		addError(&resp.Diagnostics, tenant.StepIdentity, err)
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, state.seen(seen))...)
}

// Update changes what differs and makes again what is missing. When it fails, the state keeps what was reached.
func (r *identityResource) Update(
	ctx context.Context,
	req resource.UpdateRequest,
	resp *resource.UpdateResponse,
) {
	var plan, config, state identityModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, "update", plan.Timeouts.Update, &resp.Diagnostics)
	defer cancel()
	identities := r.backends().Identities
	made, err := identities.Ensure(ctx, plan.desired(config), r.meta.journal())
	if err == nil {
		resp.Diagnostics.Append(resp.State.Set(ctx, plan.with(made))...)
		identify(ctx, resp.Identity, plan.TenantID, &resp.Diagnostics)
		return
	}
	addError(&resp.Diagnostics, tenant.StepIdentity, inTime(ctx, err))
	id := tenant.ID(state.TenantID.ValueString())
	if reached, err := identities.Read(context.WithoutCancel(ctx), id, state.names()); err == nil {
		resp.Diagnostics.Append(resp.State.Set(ctx, state.seen(reached))...)
	}
}

// Delete removes the identity. It reads for itself, so it works without a refresh.
func (r *identityResource) Delete(
	ctx context.Context,
	req resource.DeleteRequest,
	resp *resource.DeleteResponse,
) {
	var state identityModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, "delete", state.Timeouts.Delete, &resp.Diagnostics)
	defer cancel()
	id := tenant.ID(state.TenantID.ValueString())
	err := r.backends().Identities.Delete(ctx, id, state.names(), r.meta.journal())
	if !errors.Is(err, tenant.ErrAbsent) {
		addError(&resp.Diagnostics, tenant.StepIdentity, inTime(ctx, err))
	}
}
