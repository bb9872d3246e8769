package keycloak

import (
	"context"
	"errors"
	"slices"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// retireFormer ends what earlier administrators had from us in this tenant.
func (e *ensuring) retireFormer(ctx context.Context) error {
	if len(e.seen.organization.former) == 0 {
		return nil
	}
	for _, key := range e.seen.organization.former {
		_, err := e.release(ctx, e.spec.Tenant, e.seen.organization.id, key, e.journal)
		if err != nil {
			return err
		}
	}
	want := e.seen.organization
	want.former = nil
	if err := e.api.updateOrganization(ctx, want); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "identity.retired")
	e.seen.organization = want
	application, err := e.wantedApplication()
	if err != nil {
		return err
	}
	return e.api.updateApplication(ctx, application)
}

// release takes from a person the membership that we have given them, and their account if it carries a mark of ours and
// nothing needs it any more. It returns the failure that names a foreign person as foreign.
func (b *Backend) release(
	ctx context.Context, id tenant.ID, organizationID, key string, journal tenant.Journal,
) (foreign, err error) {
	person, err := b.personOf(ctx, id, key)
	if err != nil {
		return nil, err
	}
	if person.id != "" {
		if organizationID != "" {
			err := b.api.remove(
				ctx,
				"ending a membership of "+key,
				"organizations",
				organizationID,
				"members",
				person.id,
			)
			if err != nil {
				return nil, err
			}
			tenant.Failpoint(ctx, "membership.deleted")
		}
		gone, foreign, err := b.deletePerson(ctx, id, organizationID, person)
		if err != nil || !gone {
			return foreign, err
		}
	}
	err = journal.Removed(ctx, userObject(id, key))
	tenant.Failpoint(ctx, "user.removed")
	return nil, err
}

// personOf finds whom we have called by the address: also if they have another one now.
func (b *Backend) personOf(ctx context.Context, id tenant.ID, key string) (user, error) {
	person, err := b.api.findUser(ctx, key)
	if err != nil || person.id != "" {
		return person, err
	}
	holder, err := b.api.findUsername(ctx, usernameOf(key))
	if err != nil || holder.markedEmail != key {
		return user{}, err
	}
	if _, err := b.ownerOf(holder, id); err != nil {
		return user{}, nil //nolint:nilerr // somebody else's: they never had the address from us
	}
	return holder, nil
}

func (b *Backend) deletePerson(
	ctx context.Context, id tenant.ID, organizationID string, person user,
) (gone bool, foreign, err error) {
	owner, err := b.ownerOf(person, id)
	if errors.Is(err, tenant.ErrForeign) {
		return false, err, nil
	}
	if err != nil {
		return false, nil, err
	}
	needed, err := b.needed(ctx, person, owner == id, organizationID)
	if err != nil {
		return false, nil, err
	}
	if needed {
		return false, nil, b.lift(ctx, person, owner == id)
	}
	if err := b.api.remove(ctx, "deleting the user "+person.email, "users", person.id); err != nil {
		return false, nil, err
	}
	tenant.Failpoint(ctx, "user.deleted")
	left, err := b.api.userByID(ctx, person.id)
	return left.id == "", nil, err
}

// lift takes back from an account that stays what the suspension of its tenant has done to it.
func (b *Backend) lift(ctx context.Context, person user, owned bool) error {
	if !owned || !person.suspended {
		return nil
	}
	person.enabled, person.suspended = true, false
	err := refusedPerson(b.api.updateUser(ctx, person))
	tenant.Failpoint(ctx, "user.lifted")
	return err
}

// needed reports whether another organization needs the account: one that the person is a member of, or the one that made
// it, even if somebody has taken the membership away there.
func (b *Backend) needed(ctx context.Context, person user, owned bool, organizationID string) (bool, error) {
	elsewhere, err := b.memberElsewhere(ctx, person.id, organizationID)
	if err != nil || elsewhere || owned || person.organizationID == "" {
		return elsewhere, err
	}
	return b.api.organizationExists(ctx, person.organizationID)
}

// Delete removes what is the tenant's: its people first, unless something else needs their accounts, the organization
// last, because it says who the others are. What is foreign stays, and is told once the rest is gone.
func (b *Backend) Delete(
	ctx context.Context, id tenant.ID, names tenant.IdentityNames, journal tenant.Journal,
) error {
	names = b.named(id, names)
	found, err := b.api.findOrganization(ctx, names.Organization)
	if err != nil {
		return err
	}
	client, err := b.api.findApplication(ctx, names.Application)
	if err != nil {
		return err
	}
	foreign, err := b.disown(id, names, &found, &client)
	if err != nil {
		return err
	}
	foreignPerson, err := b.deletePeople(ctx, id, found, client, journal)
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return b.deleteApplication(ctx, id, names, client, journal) },
		func() error { return b.deleteProvider(ctx, id, found, journal) },
		func() error { return b.deleteOrganization(ctx, id, names, found, journal) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return errors.Join(foreign, foreignPerson)
}

// disown forgets what was found of foreign objects, and returns the failure that names one.
func (b *Backend) disown(
	id tenant.ID, names tenant.IdentityNames, found *organization, client *application,
) (foreign, err error) {
	if client.id != "" {
		err := b.config.Keyring.Owns(applicationObject(id, names.Application), client.mark)
		if err != nil && !errors.Is(err, tenant.ErrForeign) {
			return nil, err
		}
		if err != nil {
			foreign, *client = err, application{}
		}
	}
	if found.id != "" {
		err := b.config.Keyring.Owns(organizationObject(id, names.Organization), found.mark)
		if err != nil && !errors.Is(err, tenant.ErrForeign) {
			return nil, err
		}
		if err != nil {
			foreign, *found = err, organization{}
		}
	}
	return foreign, nil
}

// deletePeople releases everybody that this tenant has made or appointed. It returns the failure that names a foreign
// administrator.
func (b *Backend) deletePeople(
	ctx context.Context, id tenant.ID, found organization, client application, journal tenant.Journal,
) (foreign, err error) {
	keys := append(slices.Clone(found.former), client.people...)
	if found.call.Email != "" {
		keys = append(keys, emailKey(found.call.Email))
	}
	for _, key := range asSet(keys) {
		stranger, err := b.release(ctx, id, found.id, key, journal)
		if err != nil {
			return nil, err
		}
		// One in the place of a person whom we never made is nobody of the tenant's.
		if stranger != nil && found.administratorID != "" && key == emailKey(found.call.Email) {
			foreign = stranger
		}
	}
	return foreign, nil
}

func (b *Backend) deleteApplication(
	ctx context.Context, id tenant.ID, names tenant.IdentityNames, client application, journal tenant.Journal,
) error {
	if client.id != "" {
		if err := b.api.remove(
			ctx,
			"deleting the application "+client.clientID,
			"clients",
			client.id,
		); err != nil {
			return err
		}
		tenant.Failpoint(ctx, "application.deleted")
	}
	left, err := b.api.findApplication(ctx, names.Application)
	if err != nil || left.id != "" {
		return err
	}
	err = journal.Removed(ctx, applicationObject(id, names.Application))
	tenant.Failpoint(ctx, "application.removed")
	return err
}

func (b *Backend) deleteOrganization(
	ctx context.Context, id tenant.ID, names tenant.IdentityNames, found organization, journal tenant.Journal,
) error {
	if found.id != "" {
		if err := b.api.remove(
			ctx,
			"deleting the organization "+found.name,
			"organizations",
			found.id,
		); err != nil {
			return err
		}
		tenant.Failpoint(ctx, "organization.deleted")
	}
	left, err := b.api.findOrganization(ctx, names.Organization)
	if err != nil || left.id != "" {
		return err
	}
	err = journal.Removed(ctx, organizationObject(id, names.Organization))
	tenant.Failpoint(ctx, "organization.removed")
	return err
}
