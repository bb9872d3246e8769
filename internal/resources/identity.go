package resources

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

var (
	_ resource.ResourceWithConfigure  = (*identityResource)(nil)
	_ resource.ResourceWithModifyPlan = (*identityResource)(nil)
)

// NewIdentity returns the resource tenant_identity.
func NewIdentity() resource.Resource { return &identityResource{} }

type identityResource struct{ configured }

type identityModel struct {
	ID              types.String `tfsdk:"id"`
	TenantID        types.String `tfsdk:"tenant_id"`
	DisplayName     types.String `tfsdk:"display_name"`
	Hostnames       types.List   `tfsdk:"hostnames"`
	RedirectPath    types.String `tfsdk:"redirect_path"`
	Roles           types.Set    `tfsdk:"roles"`
	Administrator   types.Object `tfsdk:"administrator"`
	Enabled         types.Bool   `tfsdk:"enabled"`
	SecretVersion   types.Int64  `tfsdk:"secret_version"`
	OrganizationID  types.String `tfsdk:"organization_id"`
	ApplicationID   types.String `tfsdk:"application_id"`
	ClientID        types.String `tfsdk:"client_id"`
	AdministratorID types.String `tfsdk:"administrator_id"`
	RedirectURIs    types.Set    `tfsdk:"redirect_uris"`
	Secret          types.Object `tfsdk:"secret"`
	Missing         types.Set    `tfsdk:"missing"`
	Altered         types.Set    `tfsdk:"altered"`
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
	made, err := r.backends().Identities.Ensure(ctx, plan.desired(config.Enabled), r.meta.journal())
	if err != nil {
		addError(&resp.Diagnostics, tenant.StepIdentity, err)
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, plan.with(made))...)
}

// Read writes what is seen of the desired things; the ids, which other resources and the module's output build upon,
// are only moved by a planned change.
func (r *identityResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state identityModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() || r.backends() == nil {
		return
	}
	seen, err := r.backends().Identities.Read(ctx, tenant.ID(state.TenantID.ValueString()), tenant.IdentityNames{})
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
	identities := r.backends().Identities
	made, err := identities.Ensure(ctx, plan.desired(config.Enabled), r.meta.journal())
	if err == nil {
		resp.Diagnostics.Append(resp.State.Set(ctx, plan.with(made))...)
		return
	}
	addError(&resp.Diagnostics, tenant.StepIdentity, err)
	id := tenant.ID(state.TenantID.ValueString())
	if reached, err := identities.Read(context.WithoutCancel(ctx), id, tenant.IdentityNames{}); err == nil {
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
	id := tenant.ID(state.TenantID.ValueString())
	if err := r.backends().Identities.Delete(ctx, id, tenant.IdentityNames{}, r.meta.journal()); !errors.Is(err, tenant.ErrAbsent) {
		addError(&resp.Diagnostics, tenant.StepIdentity, err)
	}
}

// The parts of an identity that a refresh can find gone, replaced, or both.
const (
	partOrganization  = "organization"
	partApplication   = "application"
	partAdministrator = "administrator"
	partSecret        = "application secret"
)

// desired is what the model wants the identity to be. Only a configured enabled is wanted: a planned one may be what
// the state happens to say.
func (m identityModel) desired(configured types.Bool) tenant.IdentitySpec {
	return tenant.IdentitySpec{
		Tenant:        tenant.ID(m.TenantID.ValueString()),
		DisplayName:   m.DisplayName.ValueString(),
		RedirectURIs:  slices.Sorted(slices.Values(stringsOf(m.RedirectURIs.Elements()))),
		Roles:         slices.Sorted(slices.Values(stringsOf(m.Roles.Elements()))),
		Administrator: administratorOf(m.Administrator),
		Enabled:       configured.ValueBoolPointer(),
		SecretVersion: m.SecretVersion.ValueInt64(),
	}
}

// with is the planned model after an apply: what the plan left open is what was made.
func (m identityModel) with(made tenant.Identity) identityModel {
	m.ID = m.TenantID
	fill(&m.OrganizationID, types.StringValue(made.OrganizationID))
	fill(&m.ApplicationID, types.StringValue(made.ApplicationID))
	fill(&m.ClientID, types.StringValue(made.ClientID))
	fill(&m.AdministratorID, types.StringValue(made.AdministratorID))
	fill(&m.RedirectURIs, textSet(made.RedirectURIs))
	fill(&m.Enabled, types.BoolValue(made.Enabled))
	fill(&m.Secret, secretValue(made.Secret))
	return m
}

// seen is the model after a refresh.
func (m identityModel) seen(seen tenant.Identity) identityModel {
	m.DisplayName = types.StringValue(seen.DisplayName)
	m.Roles = textSet(seen.Roles)
	m.Enabled = types.BoolValue(seen.Enabled)
	altered := differs(nil, partOrganization, m.OrganizationID, seen.OrganizationID)
	if !slices.Contains(seen.Missing, partApplication) {
		m.RedirectURIs = textSet(seen.RedirectURIs)
		altered = differs(altered, partApplication, m.ApplicationID, seen.ApplicationID)
		altered = differs(altered, partApplication, m.ClientID, seen.ClientID)
		altered = differs(altered, partSecret, fingerprintOf(m.Secret), seen.Secret.Fingerprint)
	}
	if !slices.Contains(seen.Missing, partAdministrator) {
		m.Administrator = administratorValue(administratorOf(m.Administrator), seen.Administrator)
		altered = differs(altered, partAdministrator, m.AdministratorID, seen.AdministratorID)
	}
	m.Missing, m.Altered = textSet(seen.Missing), textSet(altered)
	return m
}

func differs(altered []string, part string, was types.String, is string) []string {
	if was.ValueString() == is {
		return altered
	}
	return append(altered, part)
}

func administratorType() map[string]attr.Type {
	return map[string]attr.Type{"email": types.StringType, "name": types.StringType}
}

func administratorOf(object types.Object) tenant.Administrator {
	return tenant.Administrator{
		Email: textOf(object, "email").ValueString(), Name: textOf(object, "name").ValueString(),
	}
}

// administratorValue keeps the configured spelling of an address that a system stores in lower case.
func administratorValue(was, is tenant.Administrator) types.Object {
	if strings.EqualFold(was.Email, is.Email) {
		is.Email = was.Email
	}
	return types.ObjectValueMust(administratorType(), map[string]attr.Value{
		"email": types.StringValue(is.Email), "name": types.StringValue(is.Name),
	})
}

func secretValue(secret tenant.SecretState) types.Object {
	return types.ObjectValueMust(secretType(), map[string]attr.Value{
		"key_id":      types.StringValue(secret.KeyID),
		"version":     types.Int64Value(secret.Version),
		"fingerprint": types.StringValue(secret.Fingerprint),
	})
}

func fingerprintOf(secret types.Object) types.String { return textOf(secret, "fingerprint") }

// textOf returns an object's text of that name; null if there is none.
func textOf(object types.Object, name string) types.String {
	if text, ok := object.Attributes()[name].(types.String); ok {
		return text
	}
	return types.StringNull()
}
