package keycloak

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// ensuring is one Ensure at work.
type ensuring struct {
	*Backend
	spec    tenant.IdentitySpec
	names   tenant.IdentityNames
	journal tenant.Journal
	seen    observed
	person  user      // has the administrator's e-mail address
	owner   tenant.ID // of the person
}

// Ensure makes the identity as spec says. It looks for foreign objects and checks the administrator before it writes
// anything.
//
// A person who already is another tenant's administrator becomes a member of this one, too, and keeps their own data.
// When the administrator changes, the former one's membership ends, and their account goes if it is ours and nothing
// else needs it. A rotated secret has no overlap: a client of the server has one secret.
func (b *Backend) Ensure(
	ctx context.Context, spec tenant.IdentitySpec, journal tenant.Journal,
) (tenant.Identity, error) {
	if err := errors.Join(b.offered(spec), checkSpec(spec)); err != nil {
		return tenant.Identity{}, err
	}
	spec.RedirectURIs, spec.Roles = asSet(spec.RedirectURIs), asSet(spec.Roles)
	spec.Domains = slices.Clone(spec.Domains)
	sortDomains(spec.Domains)
	e := &ensuring{Backend: b, spec: spec, names: b.named(spec.Tenant, spec.Names), journal: journal}
	for _, step := range []func(context.Context) error{
		e.look, e.claim, e.ensureOrganization, e.ensureApplication, e.ensureAdministrator, e.settle, e.retireFormer,
	} {
		if err := step(ctx); err != nil {
			return tenant.Identity{}, err
		}
	}
	return b.Read(ctx, spec.Tenant, spec.Names)
}

// look observes, and refuses whatever is in the way and not ours.
func (e *ensuring) look(ctx context.Context) error {
	seen, err := e.observe(ctx, e.names)
	if err != nil {
		return err
	}
	e.seen = seen
	if seen.organization.id != "" && !e.claims(seen.organization.mark) {
		if err := e.config.Keyring.Owns(e.organizationObject(), seen.organization.mark); err != nil {
			return err
		}
	}
	if seen.application.id != "" && !e.claims(seen.application.mark) {
		if err := e.config.Keyring.Owns(e.applicationObject(), seen.application.mark); err != nil {
			return err
		}
	}
	if err := e.lookForPerson(ctx); err != nil {
		return err
	}
	return e.checkVersion()
}

// lookForPerson finds who has the administrator's address. A person who has changed their own address since is the same
// one as long as the tenant calls them so.
func (e *ensuring) lookForPerson(ctx context.Context) (err error) {
	key, known := emailKey(e.spec.Administrator.Email), e.seen.administrator
	if known.id != "" && emailKey(known.email) == key {
		e.person = known
	} else if e.person, err = e.api.findUser(ctx, key); err != nil {
		return err
	}
	if e.person.id == "" && known.id != "" && emailKey(e.seen.organization.call.Email) == key {
		if owner, err := e.ownerOf(known, e.spec.Tenant); err == nil && owner == e.spec.Tenant {
			e.person = known
		}
	}
	if e.person.id != "" {
		e.owner, err = e.ownerOf(e.person, e.spec.Tenant)
	}
	return err
}

func (e *ensuring) organizationObject() tenant.Object {
	return organizationObject(e.spec.Tenant, e.names.Organization)
}

func (e *ensuring) applicationObject() tenant.Object {
	return applicationObject(e.spec.Tenant, e.names.Application)
}

// checkVersion refuses to bring an earlier secret back to life.
func (e *ensuring) checkVersion() error {
	wanted, stored := max(1, e.spec.SecretVersion), e.seen.application.version
	if wanted >= stored || e.spec.Public {
		return nil
	}
	return tenant.Fail(tenant.CodeInvalidConfig, "checking the secret of application "+e.names.Application,
		fmt.Errorf("its version is %d and can only be raised, not set to %d", stored, wanted))
}

func (e *ensuring) wantEnabled() bool {
	if e.spec.Enabled != nil {
		return *e.spec.Enabled
	}
	return e.seen.enabled()
}

// ensureOrganization creates the organization with its mark. An application that has survived its organization hands
// down what the secret is derived from, and that it was suspended.
func (e *ensuring) ensureOrganization(ctx context.Context) error {
	object := e.organizationObject()
	if e.seen.organization.id != "" {
		return e.journal.Adopted(ctx, object, e.seen.organization.id)
	}
	incarnation := e.seen.application.incarnation
	if incarnation == "" {
		incarnation = strings.ToLower(rand.Text())
	}
	made := organization{
		name:        object.Name,
		displayName: e.spec.DisplayName,
		enabled:     e.wantEnabled(),
		incarnation: incarnation,
		mark:        e.config.Keyring.Mark(object),
		call:        e.spec.Administrator,
		application: e.names.Application,
		former: slices.DeleteFunc(slices.Clone(e.seen.application.people), func(key string) bool {
			return key == emailKey(e.spec.Administrator.Email)
		}),
	}
	_, err := tenant.Make(ctx, e.journal, object, func(ctx context.Context) (string, error) {
		id, err := e.api.createOrganization(ctx, made)
		if err != nil {
			return e.foundInstead(ctx, err, func() string { return e.seen.organization.id })
		}
		made.id = id
		e.seen.organization = made
		return id, nil
	})
	return err
}

// foundInstead observes what somebody else has made in the meantime: it is adopted if it is ours.
func (e *ensuring) foundInstead(ctx context.Context, err error, found func() string) (string, error) {
	if !taken(err) {
		return "", err
	}
	if err := e.look(ctx); err != nil {
		return "", err
	}
	if found() == "" { // something else of it is taken: an organization's alias, say
		return "", err
	}
	return found(), nil
}

func (e *ensuring) ensureApplication(ctx context.Context) error {
	object := e.applicationObject()
	if e.seen.application.id != "" {
		return e.journal.Adopted(ctx, object, e.seen.application.id)
	}
	made, err := e.wantedApplication()
	if err != nil {
		return err
	}
	scoped, err := e.api.givesScope(ctx)
	if err != nil {
		return err
	}
	_, err = tenant.Make(ctx, e.journal, object, func(ctx context.Context) (string, error) {
		id, err := e.api.createApplication(ctx, made)
		if err != nil {
			return e.foundInstead(ctx, err, func() string { return e.seen.application.id })
		}
		made.id, made.settings = id, settingsOf(made.redirectURIs)
		made.settings[scopeSetting] = strconv.FormatBool(scoped)
		e.seen.application = made
		return id, nil
	})
	return err
}

// wantedApplication is what should be stored. The secret is derived with the key that it has, unless there is none yet or
// its version is raised; then with the current key.
func (e *ensuring) wantedApplication() (application, error) {
	stored := e.seen.application
	want := application{
		id: stored.id, clientID: e.names.Application, enabled: e.wantEnabled(), public: e.spec.Public,
		redirectURIs: e.spec.RedirectURIs, incarnation: e.seen.organization.incarnation,
		mark: e.config.Keyring.Mark(e.applicationObject()), people: e.people(),
		keyID: e.config.Keyring.CurrentKeyID(), version: max(1, e.spec.SecretVersion),
	}
	if e.config.Keyring.Owns(e.applicationObject(), stored.mark) == nil {
		want.mark = stored.mark
	}
	if stored.version == want.version && stored.incarnation == want.incarnation {
		want.keyID = stored.keyID
	}
	if want.public {
		want.version = max(want.version, stored.version)
		return want, nil
	}
	secret, err := e.config.Keyring.Derive(want.state().Ref(e.spec.Tenant, tenant.ApplicationSecret))
	want.secret = secret
	return want, err
}

// people are those whom the application remembers for the organization.
func (e *ensuring) people() []string {
	return asSet(append(e.former(), emailKey(e.spec.Administrator.Email)))
}

// ensureAdministrator creates the person; nobody is told.
func (e *ensuring) ensureAdministrator(ctx context.Context) error {
	key := emailKey(e.spec.Administrator.Email)
	object := userObject(e.spec.Tenant, key)
	if e.person.id != "" {
		return e.journal.Adopted(ctx, object, e.person.id)
	}
	if err := e.callAdministrator(ctx); err != nil {
		return err
	}
	up := e.wantEnabled()
	made := user{
		username: usernameOf(
			key,
		),
		email:          key,
		enabled:        up,
		suspended:      !up,
		mark:           e.config.Keyring.Mark(object),
		markedEmail:    key,
		organizationID: e.seen.organization.id,
	}
	made.firstName, made.lastName = namesOf(e.spec.Administrator.Name)
	_, err := tenant.Make(ctx, e.journal, object, func(ctx context.Context) (string, error) {
		id, err := e.api.createUser(ctx, made)
		if err != nil {
			return e.foundPerson(ctx, made, refusedPerson(err))
		}
		return id, e.keptPerson(ctx, id, made)
	})
	return err
}

// refusedPerson tells the refusal of a person's data by the realm's rules.
func refusedPerson(err error) error {
	if statusOf(err) != 400 {
		return err
	}
	failure := tenant.FailureOf(err)
	failure.Code, failure.Class, failure.Remedy = tenant.CodeAdminRefused, "", ""
	return &failure
}

// keptPerson reads the person again. One that the server has stored without the mark would be nobody's: it is taken away.
func (e *ensuring) keptPerson(ctx context.Context, id string, made user) error {
	stored, err := e.api.userByID(ctx, id)
	switch {
	case err != nil:
		return err
	case stored.id == "":
		return tenant.Fail(
			tenant.CodeConflict,
			"making the user "+made.email,
			errors.New("somebody removed it at once"),
		)
	case stored.mark != made.mark:
		return e.takeBack(ctx, stored)
	}
	e.person, e.owner = stored, e.spec.Tenant
	return nil
}

// foundPerson looks who has the address, or the user name, that a new person can't have.
func (e *ensuring) foundPerson(ctx context.Context, made user, err error) (string, error) {
	if !taken(err) {
		return "", err
	}
	if err := e.lookForPerson(ctx); err != nil {
		return "", err
	}
	if e.person.id != "" {
		return e.person.id, nil
	}
	holder, findErr := e.api.findUsername(ctx, made.username)
	if findErr == nil && holder.id != "" {
		_, findErr = e.ownerOf(holder, e.spec.Tenant)
	}
	if findErr != nil {
		return "", findErr
	}
	return "", err
}

func (e *ensuring) takeBack(ctx context.Context, stored user) error {
	if err := e.api.remove(ctx, "removing the user "+stored.email+" again", "users", stored.id); err != nil {
		return err
	}
	return tenant.Fail(
		tenant.CodeInvalidConfig,
		"creating the user "+stored.email,
		errProfile(e.config.Realm),
	)
}

// callAdministrator writes down whom the tenant calls its administrator, before the account is made: so it is found
// again whatever happens.
func (e *ensuring) callAdministrator(ctx context.Context) error {
	want := e.seen.organization
	want.former = e.former()
	want.call = e.spec.Administrator
	if want.same(e.seen.organization) {
		return nil
	}
	if err := e.api.updateOrganization(ctx, want); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "administrator.called")
	e.seen.organization = want
	return nil
}

// former are those whom the organization still has to release when the administrator is the one of the spec.
func (e *ensuring) former() []string {
	key, o := emailKey(e.spec.Administrator.Email), e.seen.organization
	keys := slices.Clone(o.former)
	if was := emailKey(o.call.Email); was != "" {
		keys = append(keys, was)
	}
	keys = slices.DeleteFunc(asSet(keys), func(k string) bool { return k == key })
	if len(keys) == 0 {
		return nil
	}
	return keys
}
