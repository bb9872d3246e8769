package keycloak

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// The attributes of an organization. Each value is at most 255 characters long: the server can store no more.
const (
	attrMark        = "tenantry.mark"
	attrIncarnation = "tenantry.incarnation"
	attrAdminEmail  = "tenantry.administrator_email"
	attrAdminName   = "tenantry.administrator_name"
	attrAdminID     = "tenantry.administrator_id"
	attrFormer      = "tenantry.former_administrators"
	attrApplication = "tenantry.application"
	attrProvider    = "tenantry.identity_provider"
)

// organization is what is stored of a tenant's organization.
type organization struct {
	id, name        string
	displayName     string
	enabled         bool
	domains         []tenant.IdentityDomain // sorted by name
	mark            string
	incarnation     string
	call            tenant.Administrator // what the tenant calls its administrator
	administratorID string
	former          []string // e-mail keys of administrators whose account or membership is still to be taken away
	application     string   // client id
	provider        string   // alias of the identity provider that we have linked
	raw             json.RawMessage
}

type organizationRepresentation struct {
	ID          string                 `json:"id"`
	Name        string                 `json:"name"`
	Description string                 `json:"description"`
	Enabled     bool                   `json:"enabled"`
	Domains     []domainRepresentation `json:"domains"`
	Attributes  map[string][]string    `json:"attributes"`
}

type domainRepresentation struct {
	Name     string `json:"name"`
	Verified bool   `json:"verified"`
}

func readOrganization(raw json.RawMessage) (organization, error) {
	var r organizationRepresentation
	if err := json.Unmarshal(raw, &r); err != nil {
		return organization{}, tenant.Fail(tenant.CodeUnavailable, "reading an organization", err)
	}
	first := func(name string) string {
		if values := r.Attributes[name]; len(values) > 0 {
			return values[0]
		}
		return ""
	}
	out := organization{
		id:          r.ID,
		name:        r.Name,
		displayName: r.Description,
		enabled:     r.Enabled,
		mark:        first(attrMark),
		incarnation: first(
			attrIncarnation,
		),
		administratorID: first(attrAdminID),
		application:     first(attrApplication),
		provider: first(
			attrProvider,
		),
		raw:    raw,
		former: slices.Sorted(slices.Values(r.Attributes[attrFormer])),
		call:   tenant.Administrator{Email: first(attrAdminEmail), Name: first(attrAdminName)},
	}
	for _, domain := range r.Domains {
		out.domains = append(out.domains, tenant.IdentityDomain(domain))
	}
	sortDomains(out.domains)
	return out, nil
}

func sortDomains(domains []tenant.IdentityDomain) {
	slices.SortFunc(domains, func(a, b tenant.IdentityDomain) int { return compare(a.Name, b.Name) })
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// attributes are those that are ours. One without a value is left out.
func (o organization) attributes() map[string][]string {
	out := map[string][]string{}
	for name, value := range map[string]string{
		attrMark: o.mark, attrIncarnation: o.incarnation, attrAdminEmail: o.call.Email, attrAdminName: o.call.Name,
		attrAdminID: o.administratorID, attrApplication: o.application, attrProvider: o.provider,
	} {
		if value != "" {
			out[name] = []string{value}
		}
	}
	if len(o.former) > 0 {
		out[attrFormer] = o.former
	}
	return out
}

// representation is the whole of the organization, with what others have written into it: an update replaces all.
func (o organization) representation() (map[string]any, error) {
	whole, others := map[string]any{}, struct {
		Attributes map[string][]string `json:"attributes"`
	}{}
	if len(o.raw) > 0 {
		if err := json.Unmarshal(o.raw, &whole); err != nil {
			return nil, tenant.Fail(tenant.CodeInternal, "reading an organization", err)
		}
		if err := json.Unmarshal(o.raw, &others); err != nil {
			return nil, tenant.Fail(tenant.CodeInternal, "reading an organization", err)
		}
	}
	attributes := o.attributes()
	for name, values := range others.Attributes {
		if !isOurs(name) {
			attributes[name] = values
		}
	}
	domains := make([]domainRepresentation, 0, len(o.domains))
	for _, domain := range o.domains {
		domains = append(domains, domainRepresentation(domain))
	}
	whole["name"], whole["description"], whole["enabled"] = o.name, o.displayName, o.enabled
	whole["attributes"], whole["domains"] = attributes, domains
	return whole, nil
}

func isOurs(attribute string) bool {
	return slices.Contains([]string{
		attrMark,
		attrIncarnation,
		attrAdminEmail,
		attrAdminName,
		attrAdminID,
		attrFormer,
		attrApplication,
		attrProvider,
	}, attribute)
}

// same reports whether writing b over a would change nothing.
func (o organization) same(b organization) bool {
	return o.displayName == b.displayName && o.enabled == b.enabled && o.mark == b.mark &&
		o.incarnation == b.incarnation && o.call == b.call && o.administratorID == b.administratorID &&
		o.application == b.application && o.provider == b.provider && slices.Equal(o.former, b.former) &&
		slices.Equal(o.domains, b.domains)
}

// findOrganization returns the organization of that very name; one without an id if there is none.
func (a *api) findOrganization(ctx context.Context, name string) (organization, error) {
	found, err := a.searchOrganizations(ctx, name)
	if err != nil {
		return organization{}, err
	}
	for _, one := range found { // the search finds the owners of a domain of that name, too
		if one.name == name {
			return one, nil
		}
	}
	return organization{}, nil
}

// domainOwners are the organizations that have the domain.
func (a *api) domainOwners(ctx context.Context, domain string) ([]organization, error) {
	found, err := a.searchOrganizations(ctx, domain)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(o organization) bool {
		return !slices.ContainsFunc(o.domains, func(d tenant.IdentityDomain) bool { return d.Name == domain })
	}), nil
}

func (a *api) searchOrganizations(ctx context.Context, nameOrDomain string) ([]organization, error) {
	return a.listOrganizations(ctx, "looking for the organization "+nameOrDomain, url.Values{
		"search": {nameOrDomain}, "exact": {"true"}, "briefRepresentation": {"false"},
	})
}

func (a *api) listOrganizations(ctx context.Context, doing string, query url.Values) ([]organization, error) {
	var raws []json.RawMessage
	if err := a.get(ctx, doing, &raws, query, "organizations"); err != nil {
		return nil, err
	}
	out := make([]organization, 0, len(raws))
	for _, raw := range raws {
		one, err := readOrganization(raw)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// createOrganization returns its id. Its alias is its name: no search finds an alias.
func (a *api) createOrganization(ctx context.Context, o organization) (string, error) {
	body, err := o.representation()
	if err != nil {
		return "", err
	}
	body["alias"] = o.name
	made, err := a.post(ctx, "creating the organization "+o.name, body, "organizations")
	return made.id(), err
}

func (a *api) updateOrganization(ctx context.Context, o organization) error {
	body, err := o.representation()
	if err != nil {
		return err
	}
	return a.put(ctx, "changing the organization "+o.name, body, "organizations", o.id)
}

// isMember reports whether the person is a member of the organization.
func (a *api) isMember(ctx context.Context, organizationID, userID string) (bool, error) {
	var member struct{}
	err := a.get(ctx, "looking for a member of an organization", &member, nil,
		"organizations", organizationID, "members", userID)
	if absent(err) {
		return false, nil
	}
	return err == nil, err
}

// organizationsOf are the ids of all organizations that the person is a member of.
func (a *api) organizationsOf(ctx context.Context, userID string) ([]string, error) {
	var found []struct {
		ID string `json:"id"`
	}
	err := a.get(ctx, "reading the organizations of a person", &found, nil,
		"organizations", "members", userID, "organizations")
	if absent(err) {
		return nil, nil
	}
	ids := make([]string, 0, len(found))
	for _, one := range found {
		ids = append(ids, one.ID)
	}
	return ids, err
}

// organizationExists asks by id.
func (a *api) organizationExists(ctx context.Context, organizationID string) (bool, error) {
	var found struct{}
	err := a.get(ctx, "looking for an organization", &found, nil, "organizations", organizationID)
	if absent(err) {
		return false, nil
	}
	return err == nil, err
}
