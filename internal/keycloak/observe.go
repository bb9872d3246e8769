package keycloak

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Parts of an identity that may be gone.
const (
	partApplication   = "application"
	partAdministrator = "administrator"
	partMembership    = "membership"
)

// pageSize of lists; the server's own default is 10.
const pageSize = 100

// observed is all that the server holds of one tenant; what does not exist has an empty id.
type observed struct {
	names         tenant.IdentityNames
	organization  organization
	application   application
	administrator user // whom the organization names
	member        bool // the administrator of the organization
	provider      provider
}

// observe reads what there is under a tenant's names.
func (b *Backend) observe(ctx context.Context, names tenant.IdentityNames) (observed, error) {
	found, err := b.api.findOrganization(ctx, names.Organization)
	if err != nil {
		return observed{}, err
	}
	return b.observeParts(ctx, names, found)
}

func (b *Backend) observeParts(
	ctx context.Context, names tenant.IdentityNames, found organization,
) (seen observed, err error) {
	seen.names, seen.organization = names, found
	if seen.application, err = b.api.findApplication(ctx, names.Application); err != nil {
		return observed{}, err
	}
	if id := found.administratorID; id != "" {
		if seen.administrator, err = b.api.userByID(ctx, id); err != nil {
			return observed{}, err
		}
	}
	if seen.administrator.id != "" {
		if seen.member, err = b.api.isMember(ctx, found.id, seen.administrator.id); err != nil {
			return observed{}, err
		}
	}
	if found.provider != "" {
		seen.provider, err = b.api.findProvider(ctx, found.provider)
	}
	return seen, err
}

// enabled is false as soon as one part is disabled: nothing that was suspended comes back by itself.
func (seen observed) enabled() bool {
	organizationUp := seen.organization.id == "" || seen.organization.enabled
	applicationUp := seen.application.id == "" || seen.application.enabled
	return organizationUp && applicationUp
}

// Read returns what is, and writes nothing. It takes five requests.
func (b *Backend) Read(
	ctx context.Context, id tenant.ID, names tenant.IdentityNames,
) (tenant.Identity, error) {
	seen, err := b.observe(ctx, b.named(id, names))
	if err != nil {
		return tenant.Identity{}, err
	}
	if seen.organization.id == "" {
		return tenant.Identity{}, tenant.ErrAbsent
	}
	err = b.config.Keyring.Owns(organizationObject(id, seen.names.Organization), seen.organization.mark)
	if err != nil {
		return tenant.Identity{}, err
	}
	return b.identity(id, seen)
}

// identity tells what was observed. The organization must be ours already.
func (b *Backend) identity(id tenant.ID, seen observed) (tenant.Identity, error) {
	o := seen.organization
	out := tenant.Identity{
		Organization:   o.name,
		OrganizationID: o.id,
		DisplayName:    o.displayName,
		Administrator:  o.call,
		Enabled:        seen.enabled(),
		Domains:        o.domains,
		SingleSignOn:   b.tellProvider(id, seen),
	}
	err := gone(seen.application.id, func() error {
		return b.config.Keyring.Owns(applicationObject(id, seen.names.Application), seen.application.mark)
	})
	switch {
	case errors.Is(err, tenant.ErrAbsent):
		out.Missing = append(out.Missing, partApplication)
	case err != nil:
		return tenant.Identity{}, err
	default:
		a := seen.application
		out.ApplicationID, out.ClientID, out.Public = a.id, a.clientID, a.public
		out.RedirectURIs, out.Roles, out.Secret = a.redirectURIs, a.roleNames(), a.state()
		out.Drift = a.drift()
	}
	return out, b.tellAdministrator(id, seen, &out)
}

// drift is what differs from what harden says.
func (a application) drift() []tenant.Drift {
	var out []tenant.Drift
	for what, want := range settingsOf(a.redirectURIs) {
		if is := a.settings[what]; is != want {
			out = append(out, tenant.Drift{
				What: what + " of the application " + a.clientID + " is " + strconv.Quote(is) +
					" instead of " + strconv.Quote(want),
			})
		}
	}
	slices.SortFunc(out, func(a, b tenant.Drift) int { return compare(a.What, b.What) })
	return out
}

// tellAdministrator fills in the administrator. A person who belongs to another tenant is told as this tenant calls
// them: their own data is the other tenant's. The server keeps less of a name than was given; it is told as it was
// given unless somebody has changed what the server keeps.
func (b *Backend) tellAdministrator(id tenant.ID, seen observed, out *tenant.Identity) error {
	person := seen.administrator
	var owner tenant.ID
	err := gone(person.id, func() (err error) {
		owner, err = b.ownerOf(person, id)
		return err
	})
	if errors.Is(err, tenant.ErrAbsent) {
		out.Missing = append(out.Missing, partAdministrator)
		return nil
	}
	if err != nil {
		return err
	}
	out.AdministratorID = person.id
	if owner == id {
		out.Administrator = person.called(seen.organization.call)
	}
	if !seen.member {
		out.Missing = append(out.Missing, partMembership)
	}
	return nil
}

// called is how the person is told whom somebody calls so.
func (u user) called(call tenant.Administrator) tenant.Administrator {
	if emailKey(call.Email) != emailKey(u.email) {
		call.Email = u.email
	}
	first, last := namesOf(call.Name)
	switch {
	case first == u.firstName && last == u.lastName:
	case u.lastName == "":
		call.Name = u.firstName
	default:
		call.Name = u.firstName + " " + u.lastName
	}
	return call
}

// gone answers tenant.ErrAbsent for an object that does not exist and for one that somebody has put in the place of
// ours: Ensure is what refuses that one by name.
func gone(objectID string, owns func() error) error {
	if objectID == "" {
		return tenant.ErrAbsent
	}
	err := owns()
	if errors.Is(err, tenant.ErrForeign) {
		return tenant.ErrAbsent
	}
	return err
}

// ListIdentities returns the identities of this installation. It reads all organizations page by page, and four
// requests' worth of parts for each that is ours. One that can't be told, because its key is not configured, is left out:
// reading it by itself says why.
func (b *Backend) ListIdentities(ctx context.Context) (map[tenant.ID]tenant.Identity, error) {
	out := map[tenant.ID]tenant.Identity{}
	for first := 0; ; first += pageSize {
		page, err := b.api.listOrganizations(ctx, "listing the organizations", url.Values{
			"first": {strconv.Itoa(first)}, "max": {strconv.Itoa(pageSize)}, "briefRepresentation": {"false"},
		})
		if err != nil {
			return nil, err
		}
		for _, found := range page {
			if err := b.list(ctx, found, out); err != nil {
				return nil, err
			}
		}
		if len(page) < pageSize {
			return out, nil
		}
	}
}

func (b *Backend) list(ctx context.Context, found organization, into map[tenant.ID]tenant.Identity) error {
	id, ok := b.config.Keyring.MarkedTenant(found.mark)
	if !ok || b.config.Keyring.Owns(organizationObject(id, found.name), found.mark) != nil {
		return nil //nolint:nilerr // somebody else's is left out of the list
	}
	names := b.named(id, tenant.IdentityNames{Organization: found.name, Application: found.application})
	seen, err := b.observeParts(ctx, names, found)
	if err != nil {
		return err
	}
	if identity, err := b.identity(id, seen); err == nil {
		into[id] = identity
	}
	return nil
}
