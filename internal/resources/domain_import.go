package resources

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// ImportState finds the tenant's hostnames: the default one by its name, a custom one by the tenant's claim to it.
func (r *domainResource) ImportState(
	ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse,
) {
	id, ok := r.imported(ctx, tenant.StepDomain, req, &resp.Diagnostics)
	if !ok {
		return
	}
	seen, err := r.findDomain(ctx, id)
	if err != nil {
		addError(&resp.Diagnostics, tenant.StepDomain, notImported(id, "domain", err))
		return
	}
	model := r.asImported(id, seen)
	resp.Diagnostics.Append(resp.State.Set(ctx, model)...)
	identify(ctx, resp.Identity, model.TenantID, &resp.Diagnostics)
}

// asImported is the model of a domain that was found without a state.
func (r *domainResource) asImported(id tenant.ID, seen tenant.Domain) domainModel {
	model := importedDomain(id, seen, r.backends().Upstreams)
	model = model.with(r.look(seen), model.desired(), r.meta.now())
	model.Missing, model.Altered = textSet(seen.Missing), textSet(seen.Altered)
	return model
}

// findDomain takes the claim that counts, if the tenant has several: the first by name; the next plan tells of the others.
func (c *configured) findDomain(ctx context.Context, id tenant.ID) (tenant.Domain, error) {
	domains := c.backends().Domains
	claims, err := domains.Claims.OpenClaims(ctx, id)
	if err != nil {
		return tenant.Domain{}, err
	}
	custom := ""
	for _, claim := range claims {
		if custom == "" || claim.State == tenant.ClaimVerified {
			custom = claim.Hostname
		}
	}
	return domains.Read(ctx, id, custom)
}

// importedDomain is a domain of which only what was seen is known.
func importedDomain(id tenant.ID, seen tenant.Domain, upstreams map[string]string) domainModel {
	model := domainModel{
		TenantID:           types.StringValue(string(id)),
		Plan:               planOf(upstreams, seen.Upstream),
		TTL:                types.Int64Value(int64(seen.TTL / time.Second)),
		VerificationWindow: types.StringValue(defaultWindow),
		DefaultHostname:    types.StringUnknown(),
		Upstream:           types.StringUnknown(),
		Timeouts:           noTimeouts(),
	}
	if seen.CustomHostname != "" {
		model.CustomHostname = types.StringValue(seen.CustomHostname)
	}
	return model.undecided()
}

// planOf returns the plan whose tenants are served there, if it is the only one: no system remembers plans.
func planOf(upstreams map[string]string, upstream string) types.String {
	found := types.StringNull()
	for plan, address := range upstreams {
		if address != upstream || plan == "" {
			continue
		}
		if !found.IsNull() {
			return types.StringNull()
		}
		found = types.StringValue(plan)
	}
	return found
}
