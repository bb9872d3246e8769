package keycloak

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// settle changes what differs from spec. A suspension begins with the application, where people come in, and ends with
// the organization; a reactivation goes the other way: whatever ends it half-way, the tenant stays suspended.
func (e *ensuring) settle(ctx context.Context) error {
	up := e.wantEnabled()
	e.spec.Enabled = &up // the first step must not change what the later ones want
	steps := []func(context.Context) error{
		e.settlePerson, e.settleMembership, e.settleProvider, e.settleOrganization, e.settleApplication,
	}
	if !up {
		steps = []func(context.Context) error{
			e.settleApplication,
			e.endSessions,
			e.settlePerson,
			e.settleMembership,
			e.settleProvider,
			e.settleOrganization,
		}
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// settlePerson leaves a person who belongs to another tenant as they are.
func (e *ensuring) settlePerson(ctx context.Context) error {
	if e.owner != e.spec.Tenant {
		return nil
	}
	want, up := e.person, e.wantEnabled()
	want.organizationID = e.seen.organization.id
	if emailKey(want.email) != emailKey(e.spec.Administrator.Email) {
		want.email = emailKey(e.spec.Administrator.Email)
	}
	if want.called(e.spec.Administrator) != e.spec.Administrator {
		want.firstName, want.lastName = namesOf(e.spec.Administrator.Name)
	}
	if err := e.suspendPerson(ctx, &want, up); err != nil {
		return err
	}
	if want.attribute() == e.person.attribute() && want.email == e.person.email &&
		want.enabled == e.person.enabled &&
		want.firstName == e.person.firstName &&
		want.lastName == e.person.lastName {
		return nil
	}
	if err := refusedPerson(e.api.updateUser(ctx, want)); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "user.settled")
	e.person = want
	return nil
}

// suspendPerson disables an account that only this tenant needs, and enables one that it has disabled.
func (e *ensuring) suspendPerson(ctx context.Context, want *user, up bool) error {
	if up {
		if want.suspended {
			want.enabled, want.suspended = true, false
		}
		return nil
	}
	if want.suspended || !want.enabled {
		return nil
	}
	elsewhere, err := e.memberElsewhere(ctx, want.id, e.seen.organization.id)
	if err != nil || elsewhere {
		return err
	}
	want.enabled, want.suspended = false, true
	return nil
}

func (b *Backend) memberElsewhere(ctx context.Context, userID, organizationID string) (bool, error) {
	ids, err := b.api.organizationsOf(ctx, userID)
	return slices.ContainsFunc(ids, func(id string) bool { return id != organizationID }), err
}

func (e *ensuring) settleMembership(ctx context.Context) error {
	if e.seen.administrator.id == e.person.id && e.seen.member {
		return nil
	}
	doing := "making " + e.person.email + " a member of the organization " + e.names.Organization
	_, err := e.api.post(ctx, doing, e.person.id, "organizations", e.seen.organization.id, "members")
	if err != nil && !taken(err) {
		if absent(err) || statusOf(err) == 400 { // one of the two is gone
			return tenant.Fail(tenant.CodeConflict, doing, errors.New(err.Error()))
		}
		return err
	}
	tenant.Failpoint(ctx, "membership.made")
	return nil
}

func (e *ensuring) settleOrganization(ctx context.Context) error {
	want := e.seen.organization
	want.displayName, want.enabled, want.call = e.spec.DisplayName, e.wantEnabled(), e.spec.Administrator
	want.administratorID, want.application, want.former = e.person.id, e.names.Application, e.former()
	want.domains = e.spec.Domains
	if len(want.domains) == 0 {
		want.domains = nil
	}
	if want.same(e.seen.organization) {
		return nil
	}
	if err := e.writeOrganization(ctx, want); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "organization.settled")
	e.seen.organization = want
	return nil
}

// writeOrganization serialises the writing of domains, and reads back whether another organization has taken one at the
// same time: the server lets both. The later one to look gives way.
func (e *ensuring) writeOrganization(ctx context.Context, want organization) error {
	if slices.Equal(want.domains, e.seen.organization.domains) {
		return e.api.updateOrganization(ctx, want)
	}
	e.domains.Lock()
	defer e.domains.Unlock()
	if err := e.checkDomains(ctx, want); err != nil {
		return err
	}
	if err := e.api.updateOrganization(ctx, want); err != nil {
		// Another process was faster: the server answers 400 without a reason of its own.
		if taken := e.checkDomains(ctx, want); taken != nil {
			return taken
		}
		return err
	}
	err := e.checkDomains(ctx, want)
	if err == nil {
		return nil
	}
	back := want
	back.domains = e.seen.organization.domains
	return errors.Join(err, e.api.updateOrganization(ctx, back))
}

// checkDomains fails if another organization has one of the domains.
func (e *ensuring) checkDomains(ctx context.Context, want organization) error {
	for _, domain := range want.domains {
		owners, err := e.api.domainOwners(ctx, domain.Name)
		if err != nil {
			return err
		}
		for _, owner := range owners {
			if owner.id != want.id {
				return tenant.Fail(tenant.CodeHostnameTaken,
					"giving the domain "+domain.Name+" to the organization "+want.name,
					errors.New("the organization "+owner.name+" has it"))
			}
		}
	}
	return nil
}

func (e *ensuring) settleApplication(ctx context.Context) error {
	want, err := e.wantedApplication()
	if err != nil {
		return err
	}
	stored := e.seen.application
	if !want.same(stored) {
		if err := e.writeApplication(ctx, want); err != nil {
			return err
		}
	}
	if err := e.settleScope(ctx); err != nil {
		return err
	}
	return e.api.setRoles(ctx, stored, e.spec.Roles)
}

// same reports whether writing a over what is stored would change nothing.
func (a application) same(stored application) bool {
	for what, want := range settingsOf(a.redirectURIs) {
		if stored.settings[what] != want && what != scopeSetting {
			return false
		}
	}
	return a.enabled == stored.enabled && a.public == stored.public && a.mark == stored.mark &&
		a.keyID == stored.keyID && a.version == stored.version && a.incarnation == stored.incarnation &&
		slices.Equal(a.redirectURIs, stored.redirectURIs) && slices.Equal(a.people, stored.people) &&
		a.secret.Reveal() == stored.secret.Reveal()
}

// settleScope gives the application the organization scope again.
func (e *ensuring) settleScope(ctx context.Context) error {
	a := e.seen.application
	if a.settings[scopeSetting] == "true" {
		return nil
	}
	id, err := e.api.scopeID(ctx, scopeOrganization)
	if err != nil {
		return err
	}
	doing := "giving the application " + a.clientID + " the scope " + scopeOrganization
	if id == "" {
		return tenant.Fail(tenant.CodeInvalidConfig, doing, errScope(e.config.Realm))
	}
	return e.api.put(ctx, doing, struct{}{}, "clients", a.id, "optional-client-scopes", id)
}

// writeApplication ends, with every change of enabled, all tokens that were issued before: a session that outlived the
// suspension must not come back with the application. The server compares whole seconds.
func (e *ensuring) writeApplication(ctx context.Context, want application) error {
	stored := e.seen.application
	if want.enabled && !stored.enabled {
		if err := e.logOut(ctx); err != nil {
			return err
		}
	}
	if want.enabled != stored.enabled {
		want.notBefore = max(stored.notBefore, e.api.serverTime().Unix())
		if !want.enabled {
			want.notBefore++
		}
	}
	if err := e.api.updateApplication(ctx, want); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "application.settled")
	return nil
}

// endSessions logs people out while a suspension is not complete yet.
func (e *ensuring) endSessions(ctx context.Context) error {
	if !e.seen.organization.enabled {
		return nil
	}
	return e.logOut(ctx)
}

// logOut ends the sessions that have been used for this application only. One that other applications share lives on for
// them: for this application its tokens are dead.
func (e *ensuring) logOut(ctx context.Context) error {
	for _, kind := range []string{"user-sessions", "offline-sessions"} {
		if err := e.logOutOf(ctx, kind); err != nil {
			return err
		}
	}
	tenant.Failpoint(ctx, "sessions.ended")
	return nil
}

func (e *ensuring) logOutOf(ctx context.Context, kind string) error {
	sessions, err := e.api.sessionsOf(ctx, e.seen.application, kind)
	if err != nil {
		return err
	}
	for _, one := range sessions {
		if len(one.Clients) > 1 {
			continue
		}
		_, err := e.api.do(ctx, request{
			doing:  "ending a session of the application " + e.names.Application,
			method: http.MethodDelete,
			path: []string{
				"sessions",
				one.ID,
			},
			query: url.Values{"isOffline": {strconv.FormatBool(kind != "user-sessions")}},
		})
		if err != nil && !absent(err) {
			return err
		}
	}
	return nil
}
