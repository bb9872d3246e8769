package resources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
	plan.Enabled, plan.OrganizationName, plan.ClientID = config.Enabled, config.OrganizationName, config.ClientID
	plan.RedirectURIs = plan.redirects()
	plan.Missing, plan.Altered, plan.Drift = textSet(nil), textSet(nil), textSet(nil)
	if prior == nil {
		plan = plan.created()
		r.lookForForeign(ctx, plan, config, &resp.Diagnostics)
	} else if keepsTenant(&resp.Diagnostics, tenant.StepIdentity, prior.TenantID, plan.TenantID) {
		r.checkSecret(plan, *prior, &resp.Diagnostics)
		addError(&resp.Diagnostics, tenant.StepIdentity, plan.keepsNames(*prior))
		plan = plan.after(*prior)
		plan.tellDisabled(config, &resp.Diagnostics)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, plan)...)
}

// tellDisabled warns of an identity that was disabled past the configuration, which leaves it so.
func (m identityModel) tellDisabled(config identityModel, diags *diag.Diagnostics) {
	if !config.Enabled.IsNull() || m.Enabled.IsUnknown() || m.Enabled.ValueBool() {
		return
	}
	diags.AddAttributeWarning(
		path.Root("enabled"),
		fmt.Sprintf("Nobody can sign in to tenant %s", m.TenantID.ValueString()),
		"Its identity is disabled and stays so, because enabled is not set. Set enabled = true to let people in again.",
	)
}

// created is the plan for an identity that does not exist. An enabled that is left out is unknown: a lost state may be
// adopted with an identity that is disabled.
func (m identityModel) created() identityModel {
	m.ID = m.TenantID
	m.OrganizationID, m.AdministratorID = types.StringUnknown(), types.StringUnknown()
	m.ApplicationID = types.StringUnknown()
	open(&m.ClientID)
	open(&m.OrganizationName)
	m.Credentials = m.newCredentials()
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
	m.ApplicationID, m.ClientID, m.Credentials = prior.ApplicationID, prior.ClientID, prior.Credentials
	m.OrganizationName = prior.OrganizationName
	if slices.Contains(lost, partOrganization) {
		m = m.created()
		m.ID = prior.ID
	}
	if slices.Contains(lost, partApplication) {
		m.ApplicationID = types.StringUnknown()
		m.Credentials = m.newCredentials()
	}
	if slices.Contains(lost, partSecret) || !m.CredentialsVersion.Equal(prior.CredentialsVersion) ||
		!m.Public.Equal(prior.Public) {
		m.Credentials = m.newCredentials()
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

// newCredentials is what is known of a secret before it is derived.
func (m identityModel) newCredentials() types.Object {
	if m.Public.ValueBool() {
		return types.ObjectNull(secretType())
	}
	return types.ObjectUnknown(secretType())
}

// open makes a text that nobody has given one that the apply decides.
func open(text *types.String) {
	if text.IsNull() {
		*text = types.StringUnknown()
	}
}

// keepsNames refuses to look for an existing identity under other names: it would be made a second time.
func (m identityModel) keepsNames(prior identityModel) error {
	for what, texts := range map[string][2]types.String{
		"organization_name": {prior.OrganizationName, m.OrganizationName},
		"client_id":         {prior.ClientID, m.ClientID},
	} {
		if known(texts[1]) && known(texts[0]) && !texts[1].Equal(texts[0]) {
			return tenant.Fail(tenant.CodePlacementChange, fmt.Sprintf("changing the %s of tenant %s", what,
				prior.TenantID.ValueString()), fmt.Errorf("it is %q and never changes; %q is wanted",
				texts[0].ValueString(), texts[1].ValueString()))
		}
	}
	return nil
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

// lookForForeign looks for what is in the way, and for what the identity system would refuse.
func (r *identityResource) lookForForeign(
	ctx context.Context, plan, config identityModel, diags *diag.Diagnostics,
) {
	if r.backends() == nil || !known(plan.TenantID) {
		return
	}
	identities := r.backends().Identities
	planner, ok := identities.(tenant.IdentityPlanner)
	if !ok ||
		!known(plan.DisplayName, textOf(plan.Administrator, "email"), textOf(plan.Administrator, "name")) {
		_, err := identities.Read(ctx, tenant.ID(plan.TenantID.ValueString()), config.names())
		if !errors.Is(err, tenant.ErrAbsent) && !plan.Claim.ValueBool() {
			addLookup(diags, tenant.StepIdentity, err)
		}
		return
	}
	notes, err := planner.PlanIdentity(ctx, plan.desired(config))
	addLookup(diags, tenant.StepIdentity, err)
	if len(notes) > 0 {
		diags.AddWarning(
			"About the identity of tenant "+plan.TenantID.ValueString(),
			strings.Join(notes, "\n"),
		)
	}
}

// checkSecret refuses a state whose secret nobody can derive any more, and a version that goes back.
func (r *identityResource) checkSecret(plan, prior identityModel, diags *diag.Diagnostics) {
	was, is := prior.CredentialsVersion, plan.CredentialsVersion
	if !is.IsUnknown() && is.ValueInt64() < was.ValueInt64() {
		addAttributeError(diags, path.Root("credentials_version"), tenant.StepIdentity,
			lowered(prior.TenantID.ValueString(), was.ValueInt64()))
	}
	if r.backends() == nil {
		return
	}
	addAttributeError(diags, path.Root("credentials"), tenant.StepIdentity,
		derivable(r.backends().Keyring, prior.TenantID, prior.Credentials, tenant.ApplicationSecret))
}
