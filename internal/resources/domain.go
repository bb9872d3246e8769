package resources

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

var (
	_ resource.ResourceWithConfigure   = (*domainResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*domainResource)(nil)
	_ resource.ResourceWithIdentity    = (*domainResource)(nil)
	_ resource.ResourceWithImportState = (*domainResource)(nil)
)

// NewDomain returns the resource tenant_domain.
func NewDomain() resource.Resource { return &domainResource{} }

type domainResource struct{ configured }

type domainModel struct {
	ID                 types.String   `tfsdk:"id"`
	TenantID           types.String   `tfsdk:"tenant_id"`
	Plan               types.String   `tfsdk:"plan"`
	CustomHostname     types.String   `tfsdk:"custom_hostname"`
	Claim              types.Bool     `tfsdk:"claim"`
	TTL                types.Int64    `tfsdk:"ttl"`
	VerificationWindow types.String   `tfsdk:"verification_window"`
	DefaultHostname    types.String   `tfsdk:"default_hostname"`
	Verification       types.String   `tfsdk:"verification"`
	ProofSeen          types.Bool     `tfsdk:"proof_seen"`
	WindowPassed       types.Bool     `tfsdk:"window_passed"`
	UsableHostnames    types.List     `tfsdk:"usable_hostnames"`
	ActiveHostname     types.String   `tfsdk:"active_hostname"`
	RequiredRecords    types.List     `tfsdk:"required_records"`
	Upstream           types.String   `tfsdk:"upstream"`
	Missing            types.Set      `tfsdk:"missing"`
	Altered            types.Set      `tfsdk:"altered"`
	Timeouts           timeouts.Value `tfsdk:"timeouts"`
}

// Metadata names the resource.
func (r *domainResource) Metadata(
	_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse,
) {
	resp.TypeName = req.ProviderTypeName + "_domain"
}

// Create makes the tenant's hostnames or adopts its own, a verified one included. When it fails it leaves no state.
func (r *domainResource) Create(
	ctx context.Context,
	req resource.CreateRequest,
	resp *resource.CreateResponse,
) {
	var plan domainModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, "create", plan.Timeouts.Create, &resp.Diagnostics)
	defer cancel()
	seen, err := r.backends().Domains.Ensure(ctx, plan.desired(), r.meta.journal())
	if err != nil {
		addError(&resp.Diagnostics, tenant.StepDomain, inTime(ctx, err))
		return
	}
	addRivals(&resp.Diagnostics, seen.Claim)
	resp.Diagnostics.Append(resp.State.Set(ctx, plan.with(r.look(seen), plan.desired(), r.meta.now()))...)
	identify(ctx, resp.Identity, plan.TenantID, &resp.Diagnostics)
}

// Read moves observed things only: what is proved is moved by a planned change.
func (r *domainResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state domainModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	identify(ctx, resp.Identity, state.TenantID, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || r.backends() == nil {
		return
	}
	refreshed, err := r.refresh(ctx, state)
	if errors.Is(err, tenant.ErrAbsent) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		addError(&resp.Diagnostics, tenant.StepDomain, err)
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, refreshed)...)
}

func (r *domainResource) refresh(ctx context.Context, state domainModel) (domainModel, error) {
	if err := r.staysInZone(state); err != nil {
		return state, err
	}
	domains, spec := r.backends().Domains, state.desired()
	seen, err := domains.Read(ctx, spec.Tenant, spec.CustomHostname)
	if err != nil {
		return state, err
	}
	claims, err := domains.Claims.OpenClaims(ctx, spec.Tenant)
	if err != nil {
		return state, err
	}
	for _, claim := range claims {
		if claim.Hostname != spec.CustomHostname {
			seen.Altered = append(seen.Altered, "claim "+claim.Hostname+" (not in the configuration)")
		}
	}
	return state.seen(r.look(seen), r.meta.now()), nil
}

// Update does what the plan says of the claim and repairs what the refresh missed. When it fails, the state keeps what
// was reached.
func (r *domainResource) Update(
	ctx context.Context,
	req resource.UpdateRequest,
	resp *resource.UpdateResponse,
) {
	var plan, state domainModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, "update", plan.Timeouts.Update, &resp.Diagnostics)
	defer cancel()
	spec := plan.desired()
	seen, err := r.update(ctx, &spec, plan, state)
	if err == nil {
		addRivals(&resp.Diagnostics, seen.Claim)
		resp.Diagnostics.Append(resp.State.Set(ctx, plan.with(r.look(seen), spec, r.meta.now()))...)
		identify(ctx, resp.Identity, plan.TenantID, &resp.Diagnostics)
		return
	}
	addError(&resp.Diagnostics, tenant.StepDomain, inTime(ctx, err))
	if reached, err := r.refresh(context.WithoutCancel(ctx), state); err == nil {
		resp.Diagnostics.Append(resp.State.Set(ctx, reached)...)
	}
}

func (r *domainResource) update(
	ctx context.Context, spec *tenant.DomainSpec, plan, state domainModel,
) (tenant.Domain, error) {
	if err := r.staysInZone(state); err != nil {
		return tenant.Domain{}, err
	}
	domains := r.backends().Domains
	// Another window may expire a claim, or not; but nothing is verified that the plan did not announce.
	if plan.Verification.IsUnknown() && !plan.UsableHostnames.IsUnknown() {
		claim, err := domains.Claims.ReadClaim(ctx, spec.Tenant, spec.CustomHostname)
		if err != nil && !errors.Is(err, tenant.ErrAbsent) {
			return tenant.Domain{}, err
		}
		spec.Verification = spec.Verdict(claim, false, r.meta.now())
	}
	return domains.Ensure(ctx, *spec, r.meta.journal())
}

// Delete removes all of the tenant's hostnames. It reads for itself, so it works without a refresh.
func (r *domainResource) Delete(
	ctx context.Context,
	req resource.DeleteRequest,
	resp *resource.DeleteResponse,
) {
	var state domainModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, "delete", state.Timeouts.Delete, &resp.Diagnostics)
	defer cancel()
	err := r.staysInZone(state)
	if err == nil {
		err = r.backends().Domains.Delete(ctx, tenant.ID(state.TenantID.ValueString()), r.meta.journal())
	}
	addError(&resp.Diagnostics, tenant.StepDomain, inTime(ctx, err))
}

// sighting is what was seen of a domain, with the records that its claim requires.
type sighting struct {
	tenant.Domain

	required []tenant.RequiredRecord
}

func (r *domainResource) look(seen tenant.Domain) sighting {
	return sighting{Domain: seen, required: r.backends().Domains.Required(seen.Claim)}
}

// desired is what the model wants the domain to be. The verification is that of the plan; what it left open is
// decided by what is seen.
func (m domainModel) desired() tenant.DomainSpec {
	window, err := time.ParseDuration(m.VerificationWindow.ValueString())
	if err != nil {
		window = tenant.DefaultVerificationWindow
	}
	spec := tenant.DomainSpec{
		Tenant:         tenant.ID(m.TenantID.ValueString()),
		CustomHostname: m.CustomHostname.ValueString(),
		Upstream:       m.Upstream.ValueString(),
		Claim:          m.Claim.ValueBool(),
		TTL:            time.Duration(m.TTL.ValueInt64()) * time.Second,
		Window:         window,
	}
	if planned := m.Verification.ValueString(); planned != verificationNone {
		spec.Verification = tenant.ClaimState(planned)
	}
	return spec
}

// with is the planned model after an apply: what the plan left open is what was made.
func (m domainModel) with(seen sighting, spec tenant.DomainSpec, now time.Time) domainModel {
	m.ID = m.TenantID
	verification := verificationNone
	if seen.CustomHostname != "" {
		verification = string(seen.Claim.State)
	}
	fill(&m.DefaultHostname, types.StringValue(seen.DefaultHostname))
	fill(&m.Upstream, types.StringValue(seen.Upstream))
	fill(&m.Verification, types.StringValue(verification))
	fill(&m.ProofSeen, types.BoolValue(proofSeen(seen.Domain)))
	fill(&m.WindowPassed, types.BoolValue(windowPassed(spec, seen.Claim, now)))
	fill(&m.UsableHostnames, textList(seen.Usable()))
	fill(&m.ActiveHostname, types.StringValue(active(seen.Usable())))
	fill(&m.RequiredRecords, requiredValue(seen.required))
	return m
}

// seen is the model after a refresh.
func (m domainModel) seen(seen sighting, now time.Time) domainModel {
	if !slices.Contains(seen.Missing, "record "+seen.DefaultHostname+"/CNAME") {
		m.TTL = types.Int64Value(int64(seen.TTL / time.Second))
	}
	if !slices.Contains(seen.Missing, "binding "+seen.DefaultHostname) {
		m.Upstream = types.StringValue(seen.Upstream)
	}
	m.ProofSeen = types.BoolValue(proofSeen(seen.Domain))
	m.WindowPassed = types.BoolValue(windowPassed(m.desired(), seen.Claim, now))
	altered := seen.Altered
	if m.claimChanged(seen) {
		altered = append(slices.Clone(altered), "claim "+seen.CustomHostname)
	}
	m.Missing, m.Altered = textSet(seen.Missing), textSet(altered)
	return m
}

// claimChanged reports whether the claim is another one than the state tells of, or was verified and is no longer.
func (m domainModel) claimChanged(seen sighting) bool {
	if seen.Claim.Number == 0 {
		return false
	}
	demoted := m.verified() && seen.Claim.State != tenant.ClaimVerified
	return demoted || !m.RequiredRecords.Equal(requiredValue(seen.required))
}

// proofSeen counts a verified claim as proved: the customer may take the record away again.
func proofSeen(seen tenant.Domain) bool {
	return seen.ProofSeen || seen.Claim.State == tenant.ClaimVerified
}

func windowPassed(spec tenant.DomainSpec, claim tenant.Claim, now time.Time) bool {
	return claim.Hostname != "" && spec.Verdict(claim, false, now) == tenant.ClaimExpired
}

func active(usable []string) string { return usable[len(usable)-1] }

func requiredValue(records []tenant.RequiredRecord) types.List {
	elements := make([]attr.Value, 0, len(records))
	for _, record := range records {
		elements = append(
			elements,
			types.ObjectValueMust(requiredRecordType().AttrTypes, map[string]attr.Value{
				"purpose": types.StringValue(record.Purpose),
				"name":    types.StringValue(record.Name),
				"type":    types.StringValue(record.Type),
				"value":   types.StringValue(record.Value),
			}),
		)
	}
	return types.ListValueMust(requiredRecordType(), elements)
}
