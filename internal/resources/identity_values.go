package resources

import (
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// The parts of an identity that a refresh can find gone, replaced, or both.
const (
	partOrganization  = "organization"
	partApplication   = "application"
	partAdministrator = "administrator"
	partSecret        = "application secret"
)

// desired is what the model wants the identity to be. Only a configured enabled is wanted: a planned one may be what
// the state happens to say; and only the configuration has what is write-only.
func (m identityModel) desired(config identityModel) tenant.IdentitySpec {
	return tenant.IdentitySpec{
		Names:         config.names(),
		Claim:         m.Claim.ValueBool(),
		Public:        m.Public.ValueBool(),
		Domains:       m.domains(),
		SingleSignOn:  config.singleSignOn(),
		Tenant:        tenant.ID(m.TenantID.ValueString()),
		DisplayName:   m.DisplayName.ValueString(),
		RedirectURIs:  slices.Sorted(slices.Values(stringsOf(m.RedirectURIs.Elements()))),
		Roles:         slices.Sorted(slices.Values(stringsOf(m.Roles.Elements()))),
		Administrator: administratorOf(m.Administrator),
		Enabled:       config.Enabled.ValueBoolPointer(),
		SecretVersion: m.CredentialsVersion.ValueInt64(),
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
	fill(&m.OrganizationName, types.StringValue(made.Organization))
	m.Credentials = m.credentials(made)
	m.Drift = driftValue(made.Drift)
	return m
}

// credentials is null for an application without a secret.
func (m identityModel) credentials(made tenant.Identity) types.Object {
	switch {
	case !m.Credentials.IsUnknown():
		return m.Credentials
	case made.Public:
		return types.ObjectNull(secretType())
	}
	return secretValue(made.Secret)
}

// seen is the model after a refresh.
func (m identityModel) seen(seen tenant.Identity) identityModel {
	m.DisplayName = types.StringValue(seen.DisplayName)
	m.Domains = domainNames(m.Domains, seen.Domains)
	m.SingleSignOn = m.singleSignOnValue(seen.SingleSignOn)
	m.Roles = textSet(seen.Roles)
	m.Enabled = types.BoolValue(seen.Enabled)
	altered := differs(nil, partOrganization, m.OrganizationID, seen.OrganizationID)
	if !slices.Contains(seen.Missing, partApplication) {
		m.RedirectURIs, m.Public = textSet(seen.RedirectURIs), types.BoolValue(seen.Public)
		altered = differs(altered, partApplication, m.ApplicationID, seen.ApplicationID)
		altered = differs(altered, partApplication, m.ClientID, seen.ClientID)
		altered = differs(altered, partSecret, fingerprintOf(m.Credentials), seen.Secret.Fingerprint)
	}
	if !slices.Contains(seen.Missing, partAdministrator) {
		m.Administrator = administratorValue(administratorOf(m.Administrator), seen.Administrator)
		altered = differs(altered, partAdministrator, m.AdministratorID, seen.AdministratorID)
	}
	m.Missing, m.Altered, m.Drift = textSet(seen.Missing), textSet(altered), driftValue(seen.Drift)
	return m
}

// names are those that the model gives; what it leaves open has the default.
func (m identityModel) names() tenant.IdentityNames {
	return tenant.IdentityNames{
		Organization: m.OrganizationName.ValueString(), Application: m.ClientID.ValueString(),
	}
}

// domains are verified where tenant_domain has verified the very hostname.
func (m identityModel) domains() []tenant.IdentityDomain {
	proved := stringsOf(m.Hostnames.Elements())
	var out []tenant.IdentityDomain
	for _, name := range slices.Sorted(slices.Values(stringsOf(m.Domains.Elements()))) {
		out = append(out, tenant.IdentityDomain{Name: name, Verified: slices.Contains(proved, name)})
	}
	return out
}

func (m identityModel) singleSignOn() *tenant.SingleSignOn {
	if m.SingleSignOn.IsNull() || m.SingleSignOn.IsUnknown() {
		return nil
	}
	out := &tenant.SingleSignOn{
		Issuer:   textOf(m.SingleSignOn, "issuer").ValueString(),
		ClientID: textOf(m.SingleSignOn, "client_id").ValueString(),
	}
	if secret := textOf(m.SingleSignOn, "client_secret"); known(secret) {
		out.ClientSecret = tenant.NewSecret(secret.ValueString())
	}
	return out
}

func singleSignOnType() map[string]attr.Type {
	return map[string]attr.Type{
		"issuer": types.StringType, "client_id": types.StringType,
		"client_secret": types.StringType, "client_secret_version": types.Int64Type,
	}
}

// singleSignOnValue is the model's, with what is seen of it; the version of the secret is known here only.
func (m identityModel) singleSignOnValue(seen *tenant.SingleSignOn) types.Object {
	if seen == nil {
		return types.ObjectNull(singleSignOnType())
	}
	version, ok := m.SingleSignOn.Attributes()["client_secret_version"]
	if !ok {
		version = types.Int64Null()
	}
	return types.ObjectValueMust(singleSignOnType(), map[string]attr.Value{
		"issuer": types.StringValue(seen.Issuer), "client_id": types.StringValue(seen.ClientID),
		"client_secret": types.StringNull(), "client_secret_version": version,
	})
}

// domainNames is null where none are configured and none are there.
func domainNames(was types.Set, seen []tenant.IdentityDomain) types.Set {
	if was.IsNull() && len(seen) == 0 {
		return was
	}
	names := make([]string, 0, len(seen))
	for _, domain := range seen {
		names = append(names, domain.Name)
	}
	return textSet(names)
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

func fingerprintOf(secret types.Object) types.String { return textOf(secret, "fingerprint") }

// textOf returns an object's text of that name; null if there is none.
func textOf(object types.Object, name string) types.String {
	if text, ok := object.Attributes()[name].(types.String); ok {
		return text
	}
	return types.StringNull()
}
