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

// ModifyPlan turns what the refresh saw into planned changes: a proof into a verified hostname, a passed window into an
// expired one, what is missing or altered into a repair.
func (r *domainResource) ModifyPlan(
	ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse,
) {
	if req.Plan.Raw.IsNull() {
		return
	}
	var plan domainModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	var prior *domainModel
	if !req.State.Raw.IsNull() {
		prior = &domainModel{}
		resp.Diagnostics.Append(req.State.Get(ctx, prior)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	if prior != nil && !keepsTenant(&resp.Diagnostics, tenant.StepDomain, prior.TenantID, plan.TenantID) {
		return
	}
	if prior == nil {
		plan = r.planCreate(plan)
	} else {
		addError(&resp.Diagnostics, tenant.StepDomain, r.staysInZone(*prior))
		plan = plan.after(*prior)
	}
	r.planUpstream(&plan, prior)
	r.lookAround(ctx, plan, prior, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, plan)...)
	if r.backends() == nil && !resp.Plan.Raw.Equal(req.State.Raw) {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("upstream"), types.StringUnknown())...)
	}
}

func (r *domainResource) planCreate(plan domainModel) domainModel {
	plan.ID = plan.TenantID
	plan.DefaultHostname = types.StringUnknown()
	if r.backends() != nil && known(plan.TenantID) {
		hostname := tenant.DefaultHostname(tenant.ID(plan.TenantID.ValueString()), r.backends().Zone)
		plan.DefaultHostname = types.StringValue(hostname)
	}
	plan.Missing, plan.Altered = textSet(nil), textSet(nil)
	if plan.CustomHostname.IsNull() {
		return plan.withoutCustom()
	}
	return plan.undecided()
}

// after is the plan for a domain that exists.
func (m domainModel) after(prior domainModel) domainModel {
	m.ID, m.DefaultHostname = prior.ID, prior.DefaultHostname
	m.Missing, m.Altered = textSet(nil), textSet(nil)
	switch {
	case m.CustomHostname.IsNull():
		return m.withoutCustom()
	case !m.CustomHostname.Equal(prior.CustomHostname) || prior.lostClaim():
		return m.undecided()
	}
	m.RequiredRecords, m.ProofSeen, m.WindowPassed = prior.RequiredRecords, prior.ProofSeen, prior.WindowPassed
	m.Verification = prior.Verification
	switch {
	case prior.ProofSeen.ValueBool():
		m.Verification = types.StringValue(string(tenant.ClaimVerified))
		m.WindowPassed = types.BoolValue(false)
	case !m.VerificationWindow.Equal(prior.VerificationWindow):
		m.Verification, m.WindowPassed = types.StringUnknown(), types.BoolUnknown()
	case prior.WindowPassed.ValueBool():
		m.Verification = types.StringValue(string(tenant.ClaimExpired))
	}
	return m.withUsable()
}

// lostClaim reports whether the refresh found the claim gone, or another one in its place: then it is made anew, and
// what it comes to is not known.
func (m domainModel) lostClaim() bool {
	claim := "claim " + m.CustomHostname.ValueString()
	return slices.Contains(stringsOf(m.Missing.Elements()), claim) ||
		slices.Contains(stringsOf(m.Altered.Elements()), claim)
}

func (m domainModel) withoutCustom() domainModel {
	m.Verification = types.StringValue(verificationNone)
	m.ProofSeen, m.WindowPassed = types.BoolValue(false), types.BoolValue(false)
	m.RequiredRecords = requiredValue(nil)
	return m.withUsable()
}

// undecided leaves open all that a claim comes to: a lost state may be adopted with a hostname that is verified.
func (m domainModel) undecided() domainModel {
	m.Verification, m.ActiveHostname = types.StringUnknown(), types.StringUnknown()
	m.ProofSeen, m.WindowPassed = types.BoolUnknown(), types.BoolUnknown()
	m.UsableHostnames = types.ListUnknown(types.StringType)
	m.RequiredRecords = types.ListUnknown(requiredRecordType())
	return m
}

func (m domainModel) withUsable() domainModel {
	if m.DefaultHostname.IsUnknown() {
		m.ActiveHostname, m.UsableHostnames = types.StringUnknown(), types.ListUnknown(types.StringType)
		return m
	}
	usable := tenant.UsableHostnames(m.DefaultHostname.ValueString(), m.CustomHostname.ValueString(),
		tenant.ClaimState(m.Verification.ValueString()))
	m.ActiveHostname, m.UsableHostnames = types.StringValue(active(usable)), textList(usable)
	return m
}

// planUpstream plans where the edge sends the traffic. While the provider's configuration is unknown, an existing
// domain keeps what it has; if something else of it changes, the upstream is open too.
func (r *domainResource) planUpstream(plan, prior *domainModel) {
	switch {
	case r.backends() != nil && !plan.Plan.IsUnknown():
		plan.Upstream = types.StringValue(upstreamFor(r.backends().Upstreams, plan.Plan.ValueString()))
	case prior != nil && plan.Plan.Equal(prior.Plan):
		plan.Upstream = prior.Upstream
	default:
		plan.Upstream = types.StringUnknown()
	}
}

func upstreamFor(upstreams map[string]string, plan string) string {
	if upstream, ok := upstreams[plan]; ok {
		return upstream
	}
	return upstreams[""]
}

// lookAround looks for what is in the way: foreign objects before a create, and other tenants' claims to the custom
// hostname until it is verified.
func (r *domainResource) lookAround(
	ctx context.Context, plan domainModel, prior *domainModel, diags *diag.Diagnostics,
) {
	if r.backends() == nil || !known(plan.TenantID) {
		return
	}
	id, domains := tenant.ID(plan.TenantID.ValueString()), r.backends().Domains
	if prior == nil {
		if _, err := domains.Read(ctx, id, ""); !errors.Is(err, tenant.ErrAbsent) {
			addLookup(diags, tenant.StepDomain, err)
		}
	}
	if !known(plan.CustomHostname) {
		return
	}
	at, hostname := path.Root("custom_hostname"), plan.CustomHostname.ValueString()
	if err := tenant.CheckHostname(hostname, r.backends().Zone); err != nil {
		addAttributeError(diags, at, tenant.StepDomain, err)
		return
	}
	if prior != nil && prior.verified() && plan.verified() {
		return
	}
	claim, err := domains.Claims.ReadClaim(ctx, id, hostname)
	if err != nil && !errors.Is(err, tenant.ErrAbsent) {
		addLookup(diags, tenant.StepDomain, err)
		return
	}
	claim.Hostname = hostname
	if taken := takenBy(claim); taken != nil {
		addAttributeError(diags, at, tenant.StepDomain, taken)
		return
	}
	addRivals(diags, claim)
}

// verified reports whether the custom hostname counts as proved. No plan goes from one verified hostname to another:
// between them lies the claim to the other.
func (m domainModel) verified() bool {
	return m.Verification.ValueString() == string(tenant.ClaimVerified)
}

// takenBy returns the failure that the hostname is verified for another tenant, if it is.
func takenBy(claim tenant.Claim) error {
	for _, rival := range claim.Rivals {
		if rival.State == tenant.ClaimVerified && claim.State != tenant.ClaimVerified {
			return tenant.Fail(tenant.CodeHostnameTaken, "claiming hostname "+claim.Hostname,
				fmt.Errorf("it is verified for tenant %s", rival.Tenant))
		}
	}
	return nil
}

// addRivals warns of other tenants that wait for the proof of the same hostname.
func addRivals(diags *diag.Diagnostics, claim tenant.Claim) {
	if claim.State == tenant.ClaimVerified {
		return
	}
	for _, rival := range claim.Rivals {
		diags.AddAttributeWarning(
			path.Root("custom_hostname"),
			fmt.Sprintf("Hostname %s is claimed by tenant %s too", claim.Hostname, rival.Tenant),
			fmt.Sprintf(
				"The claim of tenant %s is %s. Whoever's proof is seen first gets the hostname; the other is "+
					"refused then. If one of the two is a mistake, take the custom_hostname out of its configuration.",
				rival.Tenant,
				rival.State,
			),
		)
	}
}

// staysInZone returns a failure if the provider is now configured with another zone than the hostnames were made in:
// there they would be looked for in vain, and left behind.
func (r *domainResource) staysInZone(state domainModel) error {
	if r.backends() == nil {
		return nil
	}
	id := state.TenantID.ValueString()
	if tenant.DefaultHostname(tenant.ID(id), r.backends().Zone) == state.DefaultHostname.ValueString() {
		return nil
	}
	return tenant.Fail(tenant.CodeInvalidConfig, "looking for the hostnames of tenant "+id,
		fmt.Errorf("they were made as %s, and the provider's zone is %s now",
			state.DefaultHostname.ValueString(), r.backends().Zone))
}
