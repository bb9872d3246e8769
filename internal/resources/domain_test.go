package resources

import (
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	ourHostname   = "acme.app.localhost"
	theirHostname = "portal.acme.example"
)

var requestedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func claimed(state tenant.ClaimState) sighting {
	claim := tenant.Claim{
		Number: 1, Tenant: "acme", Hostname: theirHostname, Target: "c1.claims.app.localhost", State: state,
		RequestedAt: requestedAt,
	}
	return sighting{
		Domain: tenant.Domain{
			DefaultHostname: ourHostname,
			CustomHostname:  theirHostname,
			Claim:           claim,
			TTL:             time.Minute,
			Upstream:        "app:80",
		},
		required: tenant.Domains{Target: "edge.app.localhost"}.Required(claim),
	}
}

func wantedDomain(custom string) domainModel {
	model := domainModel{
		TenantID: types.StringValue("acme"), CustomHostname: types.StringNull(), TTL: types.Int64Value(60),
		VerificationWindow: types.StringValue("72h"), Upstream: types.StringValue("app:80"),
	}
	if custom != "" {
		model.CustomHostname = types.StringValue(custom)
	}
	return model
}

func domains() *domainResource {
	return &domainResource{configured{&Meta{Backends: &tenant.Backends{
		Zone: "app.localhost", Upstreams: map[string]string{"": "app:80", "pro": "pro:80"},
	}}}}
}

func livingDomain(state tenant.ClaimState) domainModel {
	seen := claimed(state)
	planned := domains().planCreate(wantedDomain(theirHostname))
	return planned.with(seen, planned.desired(), requestedAt)
}

func TestADomainWithoutACustomHostnameIsKnownAtPlanTime(t *testing.T) {
	t.Parallel()
	planned := domains().planCreate(wantedDomain(""))
	require.Equal(t, ourHostname, planned.ActiveHostname.ValueString())
	require.Equal(t, textList([]string{ourHostname}), planned.UsableHostnames)
	require.Equal(t, "none", planned.Verification.ValueString())
	require.Empty(t, planned.RequiredRecords.Elements())
	require.Equal(t, planned, planned.with(sighting{Domain: tenant.Domain{DefaultHostname: ourHostname}},
		planned.desired(), requestedAt))
}

func TestAClaimIsLeftOpenUntilItIsMade(t *testing.T) {
	t.Parallel()
	for name, custom := range map[string]types.String{
		"known": types.StringValue(theirHostname), "unknown": types.StringUnknown(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wanted := wantedDomain("")
			wanted.CustomHostname = custom
			planned := domains().planCreate(wanted)
			require.True(t, planned.Verification.IsUnknown())
			require.True(t, planned.UsableHostnames.IsUnknown())
			require.True(t, planned.ActiveHostname.IsUnknown())
			require.True(t, planned.RequiredRecords.IsUnknown())
			require.Equal(t, ourHostname, planned.DefaultHostname.ValueString())
		})
	}
}

func TestTheDefaultHostnameWaitsForTheProvidersZone(t *testing.T) {
	t.Parallel()
	planned := (&domainResource{configured{&Meta{}}}).planCreate(wantedDomain(""))
	require.True(t, planned.DefaultHostname.IsUnknown())
	require.True(t, planned.ActiveHostname.IsUnknown())
	require.Equal(t, "none", planned.Verification.ValueString())
}

func TestAdoptionKeepsAVerifiedHostname(t *testing.T) {
	t.Parallel()
	state := livingDomain(tenant.ClaimVerified)
	require.Equal(t, "verified", state.Verification.ValueString())
	require.Equal(t, theirHostname, state.ActiveHostname.ValueString())
	require.True(t, state.ProofSeen.ValueBool())
}

func TestARefreshMovesNothingThatThePlanDoesNotSay(t *testing.T) {
	t.Parallel()
	prior := livingDomain(tenant.ClaimPending)
	proved := claimed(tenant.ClaimPending)
	proved.ProofSeen = true
	seen := prior.seen(proved, requestedAt)
	require.True(t, seen.ProofSeen.ValueBool())
	seen.ProofSeen = prior.ProofSeen
	require.Equal(t, prior, seen)
}

// second is the plan for an unchanged configuration after a refresh.
func second(state domainModel, seen sighting, now time.Time) (refreshed, planned domainModel) {
	refreshed = state.seen(seen, now)
	planned = wantedDomain(theirHostname).after(refreshed)
	planned.Upstream = types.StringValue("app:80")
	return refreshed, planned
}

func TestTheSecondPlanOfADomainIsEmpty(t *testing.T) {
	t.Parallel()
	late := requestedAt.Add(72 * time.Hour)
	for _, state := range []tenant.ClaimState{tenant.ClaimPending, tenant.ClaimVerified} {
		refreshed, planned := second(livingDomain(state), claimed(state), requestedAt)
		require.Equal(t, refreshed, planned)
	}
	expired := claimed(tenant.ClaimExpired)
	settled := domains().planCreate(wantedDomain(theirHostname))
	refreshed, planned := second(settled.with(expired, settled.desired(), late), expired, late)
	require.Equal(t, refreshed, planned)
	require.Equal(t, "expired", planned.Verification.ValueString())
}

func TestAProofThatWasSeenIsAPlannedVerification(t *testing.T) {
	t.Parallel()
	for _, state := range []tenant.ClaimState{tenant.ClaimPending, tenant.ClaimExpired} {
		proved := claimed(state)
		proved.ProofSeen = true
		_, planned := second(livingDomain(state), proved, requestedAt.Add(100*time.Hour))
		require.Equal(t, "verified", planned.Verification.ValueString())
		require.Equal(t, theirHostname, planned.ActiveHostname.ValueString())
		require.Equal(t, textList([]string{ourHostname, theirHostname}), planned.UsableHostnames)
		require.Equal(t, tenant.ClaimVerified, planned.desired().Verification)

		refreshed, again := second(
			planned.with(claimed(tenant.ClaimVerified), planned.desired(), requestedAt),
			claimed(tenant.ClaimVerified),
			requestedAt,
		)
		require.Equal(t, refreshed, again)
	}
}

func TestAPassedWindowIsAPlannedExpiry(t *testing.T) {
	t.Parallel()
	_, planned := second(
		livingDomain(tenant.ClaimPending),
		claimed(tenant.ClaimPending),
		requestedAt.Add(71*time.Hour),
	)
	require.Equal(t, "pending", planned.Verification.ValueString())
	refreshed, planned := second(livingDomain(tenant.ClaimPending), claimed(tenant.ClaimPending),
		requestedAt.Add(72*time.Hour))
	require.Equal(t, "pending", refreshed.Verification.ValueString())
	require.Equal(t, "expired", planned.Verification.ValueString())
	require.Equal(t, ourHostname, planned.ActiveHostname.ValueString())
}

func TestAnotherWindowLeavesOnlyTheVerificationOpen(t *testing.T) {
	t.Parallel()
	wanted := wantedDomain(theirHostname)
	wanted.VerificationWindow = types.StringValue("1h")
	planned := wanted.after(livingDomain(tenant.ClaimPending))
	require.True(t, planned.Verification.IsUnknown())
	require.Equal(t, textList([]string{ourHostname}), planned.UsableHostnames)
	planned = wanted.after(livingDomain(tenant.ClaimVerified))
	require.Equal(t, "verified", planned.Verification.ValueString())
}

func TestDriftOfADomainIsAPlannedChange(t *testing.T) {
	t.Parallel()
	drifted := claimed(tenant.ClaimVerified)
	drifted.Missing = []string{"record " + ourHostname + "/CNAME", "binding " + theirHostname}
	drifted.Altered = []string{"record x"}
	drifted.TTL = 0
	refreshed, planned := second(livingDomain(tenant.ClaimVerified), drifted, requestedAt)
	require.Len(t, refreshed.Missing.Elements(), 2)
	require.Len(t, refreshed.Altered.Elements(), 1)
	require.Equal(t, int64(60), refreshed.TTL.ValueInt64(), "a record that is gone has no TTL")
	require.Empty(t, planned.Missing.Elements())
	require.Empty(t, planned.Altered.Elements())
	require.Equal(t, "verified", planned.Verification.ValueString())

	drifted = claimed(tenant.ClaimVerified)
	drifted.TTL, drifted.Upstream = time.Second, "elsewhere:80"
	refreshed, _ = second(livingDomain(tenant.ClaimVerified), drifted, requestedAt)
	require.Equal(t, int64(1), refreshed.TTL.ValueInt64())
	require.Equal(t, "elsewhere:80", refreshed.Upstream.ValueString())
}

func TestALostClaimIsMadeAnew(t *testing.T) {
	t.Parallel()
	gone := claimed("")
	gone.Claim, gone.required, gone.Missing = tenant.Claim{}, nil, []string{"claim " + theirHostname}
	demoted := claimed(tenant.ClaimPending)
	renewed := claimed(tenant.ClaimPending)
	renewed.Claim.Number, renewed.Claim.Target = 2, "c2.claims.app.localhost"
	renewed.required = tenant.Domains{}.Required(renewed.Claim)
	for name, c := range map[string]struct {
		state tenant.ClaimState
		seen  sighting
	}{
		"gone": {tenant.ClaimPending, gone}, "no longer verified": {tenant.ClaimVerified, demoted},
		"another": {tenant.ClaimPending, renewed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refreshed, planned := second(livingDomain(c.state), c.seen, requestedAt)
			require.NotEqual(t, refreshed, planned)
			require.True(t, planned.Verification.IsUnknown())
			require.True(t, planned.RequiredRecords.IsUnknown())
			require.Empty(t, planned.desired().Verification)
		})
	}
}

func TestACustomHostnameCanGo(t *testing.T) {
	t.Parallel()
	planned := wantedDomain("").after(livingDomain(tenant.ClaimVerified))
	require.Equal(t, "none", planned.Verification.ValueString())
	require.Equal(t, textList([]string{ourHostname}), planned.UsableHostnames)
	require.Empty(t, planned.desired().CustomHostname)
}

func TestTheUpstreamFollowsThePlan(t *testing.T) {
	t.Parallel()
	for plan, want := range map[string]string{"pro": "pro:80", "free": "app:80"} {
		planned := wantedDomain("")
		planned.Plan = types.StringValue(plan)
		domains().planUpstream(&planned, nil)
		require.Equal(t, want, planned.Upstream.ValueString())
	}
	blind := &domainResource{configured{&Meta{}}}
	prior, planned := livingDomain(tenant.ClaimVerified), wantedDomain("")
	blind.planUpstream(&planned, &prior)
	require.Equal(t, "app:80", planned.Upstream.ValueString())
	blind.planUpstream(&planned, nil)
	require.True(t, planned.Upstream.IsUnknown())
}

func TestRivals(t *testing.T) {
	t.Parallel()
	claim := tenant.Claim{
		Hostname: theirHostname,
		Rivals:   []tenant.Rival{{Tenant: "other", State: tenant.ClaimPending}},
	}
	require.NoError(t, takenBy(claim))
	var diags diag.Diagnostics
	addRivals(&diags, claim)
	require.Equal(t, 1, diags.WarningsCount())
	require.Contains(t, diags[0].Summary(), "tenant other")
	claim.Rivals[0].State = tenant.ClaimVerified
	require.True(t, tenant.HasCode(takenBy(claim), tenant.CodeHostnameTaken))
}

func TestHostnamesStayInTheirZone(t *testing.T) {
	t.Parallel()
	state := livingDomain(tenant.ClaimPending)
	require.NoError(t, domains().staysInZone(state))
	state.DefaultHostname = types.StringValue("acme.old.example")
	require.True(t, tenant.HasCode(domains().staysInZone(state), tenant.CodeInvalidConfig))
}
