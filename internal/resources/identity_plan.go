package resources

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// ModifyPlan plans the redirect URIs, the repair of what the refresh missed and the rotation of the secret.
func (r *identityResource) ModifyPlan(
	ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse,
) {
	if req.Plan.Raw.IsNull() {
		return
	}
	var plan, config identityModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	var prior *identityModel
	if !req.State.Raw.IsNull() {
		prior = &identityModel{}
		resp.Diagnostics.Append(req.State.Get(ctx, prior)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	plan.Enabled = config.Enabled
	plan.RedirectURIs = plan.redirects()
	plan.Missing, plan.Altered = textSet(nil), textSet(nil)
	if prior == nil {
		plan = plan.created()
		r.lookForForeign(ctx, plan, &resp.Diagnostics)
	} else if keepsTenant(&resp.Diagnostics, tenant.StepIdentity, prior.TenantID, plan.TenantID) {
		r.checkSecret(plan, *prior, &resp.Diagnostics)
		plan = plan.after(*prior)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, plan)...)
}

// created is the plan for an identity that does not exist. An enabled that is left out is unknown: a lost state may be
// adopted with an identity that is disabled.
func (m identityModel) created() identityModel {
	m.ID = m.TenantID
	m.OrganizationID, m.AdministratorID = types.StringUnknown(), types.StringUnknown()
	m.ApplicationID, m.ClientID = types.StringUnknown(), types.StringUnknown()
	m.Secret = types.ObjectUnknown(secretType())
	if m.Enabled.IsNull() {
		m.Enabled = types.BoolUnknown()
	}
	return m
}

// after is the plan for an identity that exists: what is missing or replaced comes to be known when it is made again.
func (m identityModel) after(prior identityModel) identityModel {
	wasEnabled := m.Enabled
	lost := append(stringsOf(prior.Missing.Elements()), stringsOf(prior.Altered.Elements())...)
	m.ID, m.OrganizationID, m.AdministratorID = prior.ID, prior.OrganizationID, prior.AdministratorID
	m.ApplicationID, m.ClientID, m.Secret = prior.ApplicationID, prior.ClientID, prior.Secret
	if slices.Contains(lost, partOrganization) {
		m = m.created()
		m.ID = prior.ID
	}
	if slices.Contains(lost, partApplication) {
		m.ApplicationID, m.ClientID = types.StringUnknown(), types.StringUnknown()
		m.Secret = types.ObjectUnknown(secretType())
	}
	if slices.Contains(lost, partSecret) || !m.SecretVersion.Equal(prior.SecretVersion) {
		m.Secret = types.ObjectUnknown(secretType())
	}
	sameMail := textOf(m.Administrator, "email").Equal(textOf(prior.Administrator, "email"))
	if slices.Contains(lost, partAdministrator) || !sameMail {
		m.AdministratorID = types.StringUnknown()
	}
	m.Enabled = wasEnabled
	if m.Enabled.IsNull() {
		m.Enabled = prior.Enabled
	}
	return m
}

// redirects are the redirect URIs for the hostnames, unknown as long as one of them is.
func (m identityModel) redirects() types.Set {
	hostnames := stringsOf(m.Hostnames.Elements())
	if m.Hostnames.IsUnknown() || m.RedirectPath.IsUnknown() ||
		len(hostnames) != len(m.Hostnames.Elements()) {
		return types.SetUnknown(types.StringType)
	}
	uris := make([]string, 0, len(hostnames))
	for _, hostname := range hostnames {
		uris = append(uris, "https://"+hostname+m.RedirectPath.ValueString())
	}
	return textSet(uris)
}

func (r *identityResource) lookForForeign(ctx context.Context, plan identityModel, diags *diag.Diagnostics) {
	if r.backends() == nil || !known(plan.TenantID) {
		return
	}
	_, err := r.backends().Identities.Read(ctx, tenant.ID(plan.TenantID.ValueString()), tenant.IdentityNames{})
	if !errors.Is(err, tenant.ErrAbsent) {
		addLookup(diags, tenant.StepIdentity, err)
	}
}

// checkSecret refuses a state whose secret nobody can derive any more, and a version that goes back: an old secret
// may be known to those it was taken from.
func (r *identityResource) checkSecret(plan, prior identityModel, diags *diag.Diagnostics) {
	if plan.SecretVersion.ValueInt64() < prior.SecretVersion.ValueInt64() && !plan.SecretVersion.IsUnknown() {
		addAttributeError(
			diags,
			path.Root("secret_version"),
			tenant.StepIdentity,
			tenant.Fail(tenant.CodeInvalidConfig,
				"lowering the secret_version of tenant "+prior.TenantID.ValueString(),
				fmt.Errorf("it is %d, and can only be raised", prior.SecretVersion.ValueInt64())),
		)
	}
	keyID := textOf(prior.Secret, "key_id")
	if r.backends() == nil || !known(keyID) {
		return
	}
	_, err := r.backends().Keyring.Derive(tenant.SecretRef{
		Tenant: tenant.ID(
			prior.TenantID.ValueString(),
		),
		Purpose: tenant.ApplicationSecret,
		KeyID:   keyID.ValueString(),
	})
	if err != nil {
		addAttributeError(diags, path.Root("secret"), tenant.StepIdentity, tenant.Fail(tenant.CodeUnknownKey,
			"planning the application's secret of tenant "+prior.TenantID.ValueString(), err))
	}
}
