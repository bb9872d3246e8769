package resources

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// ImportState finds the tenant's identity under its default names, or by its mark.
func (r *identityResource) ImportState(
	ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse,
) {
	id, ok := r.imported(ctx, tenant.StepIdentity, req, &resp.Diagnostics)
	if !ok {
		return
	}
	identity, err := r.findIdentity(ctx, id)
	if err != nil {
		addError(&resp.Diagnostics, tenant.StepIdentity, notImported(id, "identity", err))
		return
	}
	first := tenant.DefaultHostname(id, r.backends().Zone)
	resp.Diagnostics.Append(resp.State.Set(ctx, importedIdentity(id, first, identity))...)
	identify(ctx, resp.Identity, types.StringValue(string(id)), &resp.Diagnostics)
}

// findIdentity looks under the names that an identity has by default, then through the marks.
func (c *configured) findIdentity(ctx context.Context, id tenant.ID) (tenant.Identity, error) {
	identity, err := c.backends().Identities.Read(ctx, id, tenant.IdentityNames{})
	lister, ok := c.backends().Identities.(tenant.IdentityLister)
	if err == nil || !ok || !errors.Is(err, tenant.ErrAbsent) && !tenant.HasCode(err, tenant.CodeForeign) {
		return identity, err
	}
	all, listed := lister.ListIdentities(ctx)
	if identity, there := all[id]; there {
		return identity, nil
	}
	return tenant.Identity{}, errors.Join(err, listed)
}

func importedIdentity(id tenant.ID, first string, seen tenant.Identity) identityModel {
	hostnames, path := splitRedirects(first, seen.RedirectURIs)
	model := identityModel{
		TenantID:           types.StringValue(string(id)),
		OrganizationName:   types.StringUnknown(),
		OrganizationID:     types.StringUnknown(),
		ApplicationID:      types.StringUnknown(),
		ClientID:           types.StringUnknown(),
		AdministratorID:    types.StringUnknown(),
		Credentials:        types.ObjectUnknown(secretType()),
		CredentialsVersion: types.Int64Value(max(1, seen.Secret.Version)),
		Hostnames:          textList(hostnames),
		RedirectPath:       types.StringValue(path),
		RedirectURIs:       textSet(seen.RedirectURIs),
		Public:             types.BoolValue(seen.Public),
		Domains:            types.SetNull(types.StringType),
		SingleSignOn:       types.ObjectNull(singleSignOnType()),
		Administrator:      administratorValue(tenant.Administrator{}, seen.Administrator),
		Timeouts:           noTimeouts(),
	}
	return model.with(seen).seen(seen)
}

// splitRedirects takes redirect URIs apart into the hostnames, first in front, and the path that they share.
func splitRedirects(first string, uris []string) (hostnames []string, path string) {
	for _, uri := range uris {
		parsed, err := url.Parse(uri)
		if err != nil {
			continue
		}
		path = strings.TrimPrefix(uri, "https://"+parsed.Host)
		if parsed.Host == first {
			hostnames = append([]string{first}, hostnames...)
			continue
		}
		hostnames = append(hostnames, parsed.Host)
	}
	return hostnames, path
}
