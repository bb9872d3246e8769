package keycloak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func decode(text []byte, into any) error { return json.Unmarshal(text, into) }

func errProfile(realm string) error {
	return fmt.Errorf("the realm %s does not keep the user attribute %q, which carries the mark: set "+
		"unmanagedAttributePolicy to ADMIN_EDIT in its user profile, or declare the attribute there", realm, userAttribute)
}

func errScope(realm string) error {
	return fmt.Errorf("the realm %s has no client scope %q: make it again", realm, scopeOrganization)
}

// offered refuses what this isolation does not have.
func (b *Backend) offered(spec tenant.IdentitySpec) error {
	if b.config.Isolation == Organization {
		return nil
	}
	return tenant.Fail(tenant.CodeInvalidConfig, "checking the identity of tenant "+string(spec.Tenant),
		fmt.Errorf("there is no isolation %q", b.config.Isolation))
}

// PlanIdentity says what Ensure would refuse: every role that the service account lacks, every setting of the realm that
// would drop data or keep the first administrator out, and whatever is in the way and foreign.
func (b *Backend) PlanIdentity(ctx context.Context, spec tenant.IdentitySpec) ([]string, error) {
	if err := errors.Join(b.offered(spec), checkSpec(spec)); err != nil {
		return nil, err
	}
	notes, err := b.preflight(ctx, spec)
	if err != nil {
		return nil, err
	}
	e := &ensuring{
		Backend: b, spec: spec, names: b.named(spec.Tenant, spec.Names), journal: tenant.NoJournal{},
	}
	if err := e.look(ctx); err != nil {
		return nil, err
	}
	claimed, err := e.planClaim()
	return append(notes, claimed...), err
}

// planClaim tells what a claim would change.
func (e *ensuring) planClaim() ([]string, error) {
	o, a := e.seen.organization, e.seen.application
	if !e.spec.Claim {
		return nil, nil
	}
	if o.id == "" {
		return nil, e.nothingToClaim()
	}
	var notes []string
	if o.mark == "" {
		notes = append(
			notes,
			fmt.Sprintf("The organization %s is taken over: it is marked, and display name, domains and "+
				"administrator become those of the configuration.", o.name),
		)
	}
	if a.id != "" && a.mark == "" {
		notes = append(
			notes,
			fmt.Sprintf("The application %s is taken over: it is marked, gets another secret, and redirect "+
				"URIs, roles and flows become those of the configuration.", a.clientID),
		)
	}
	return notes, nil
}

// preflight names all that is missing at once, and says how the first administrator comes in.
func (b *Backend) preflight(ctx context.Context, spec tenant.IdentitySpec) ([]string, error) {
	faults, err := b.missingRoles(ctx, spec)
	if err != nil {
		return nil, err
	}
	var notes []string
	if len(faults) == 0 {
		if faults, notes, err = b.realmFaults(ctx); err != nil {
			return nil, err
		}
	}
	if len(faults) == 0 {
		return notes, nil
	}
	failure := tenant.Fail(
		tenant.CodeInvalidConfig,
		fmt.Sprintf(
			"checking whether the realm %s is set up for tenants",
			b.config.Realm,
		),
		errors.Join(faults...),
	)
	failure.Remedy = "Set up the realm as the message says; then plan again."
	return nil, failure
}

// missingRoles names each role that the service account lacks. It reads the account's own rights; where it can't even do
// that, it tries what it needs.
func (b *Backend) missingRoles(ctx context.Context, spec tenant.IdentitySpec) ([]error, error) {
	wanted := []string{"manage-organizations", "manage-clients", "manage-users"}
	if spec.SingleSignOn != nil {
		wanted = append(wanted, "manage-identity-providers")
	}
	held, err := b.api.heldRoles(ctx)
	if statusOf(err) == http.StatusForbidden {
		return b.refusedLooks(ctx)
	}
	if err != nil || slices.Contains(held, "realm-admin") {
		return nil, err
	}
	var faults []error
	for _, role := range wanted {
		if !slices.Contains(held, role) {
			faults = append(faults, b.lacks(role))
		}
	}
	return faults, nil
}

func (b *Backend) lacks(role string) error {
	return fmt.Errorf(
		"the service account %s lacks the role %s of the client realm-management",
		b.config.ClientID,
		role,
	)
}

func (b *Backend) refusedLooks(ctx context.Context) ([]error, error) {
	var faults []error
	for _, look := range []struct {
		role string
		try  func() error
	}{
		{"manage-organizations", func() error { _, err := b.api.findOrganization(ctx, "-"); return err }},
		{"manage-clients", func() error { _, err := b.api.findApplication(ctx, "-"); return err }},
		{"manage-users", func() error { _, err := b.api.findUsername(ctx, "-"); return err }},
	} {
		err := look.try()
		if statusOf(err) == http.StatusForbidden {
			faults = append(faults, b.lacks(look.role))
		} else if err != nil {
			return nil, err
		}
	}
	return faults, nil
}

// heldRoles are the effective roles of the service account for its own realm.
func (a *api) heldRoles(ctx context.Context) ([]string, error) {
	const doing = "reading the roles of the service account"
	ids := map[string]string{}
	for _, clientID := range []string{a.config.ClientID, "realm-management"} {
		var found []role // an id and more
		if err := a.get(ctx, doing, &found, url.Values{"clientId": {clientID}}, "clients"); err != nil {
			return nil, err
		}
		if len(found) == 0 { // an account of the realm master: what it may do is not told here
			return []string{"realm-admin"}, nil
		}
		ids[clientID] = found[0].ID
	}
	var account role
	if err := a.get(
		ctx,
		doing,
		&account,
		nil,
		"clients",
		ids[a.config.ClientID],
		"service-account-user",
	); err != nil {
		return nil, err
	}
	var held []role
	err := a.get(ctx, doing, &held, nil,
		"users", account.ID, "role-mappings", "clients", ids["realm-management"], "composite")
	names := make([]string, 0, len(held))
	for _, one := range held {
		names = append(names, one.Name)
	}
	return names, err
}

// realmRepresentation is what the preflight reads of a realm. What the account may not see is absent.
type realmRepresentation struct {
	Enabled       *bool             `json:"enabled"`
	Organizations *bool             `json:"organizationsEnabled"`
	Resets        *bool             `json:"resetPasswordAllowed"`
	SMTP          map[string]string `json:"smtpServer"`
}

func (a *api) realm(ctx context.Context) (realmRepresentation, error) {
	var out realmRepresentation
	err := a.get(ctx, "reading the settings of the realm "+a.config.Realm, &out, nil)
	return out, err
}

// visible reports whether the account may see the realm's settings: it needs the role view-realm.
func (r realmRepresentation) visible() bool { return r.Resets != nil }

// noWayIn names the settings that keep out a person who has no password yet.
func (r realmRepresentation) noWayIn() []error {
	var faults []error
	if !*r.Resets {
		faults = append(
			faults,
			errors.New("resetPasswordAllowed is off: a person without a password can't set one"),
		)
	}
	if r.SMTP["host"] == "" {
		faults = append(faults, errors.New("smtpServer is not set: the realm can't mail anybody a way in"))
	}
	return faults
}

func (b *Backend) realmFaults(ctx context.Context) (faults []error, notes []string, err error) {
	realm, err := b.api.realm(ctx)
	if err != nil {
		return nil, nil, err
	}
	if realm.Organizations != nil && !*realm.Organizations {
		faults = append(faults, errors.New("organizationsEnabled is off: the realm keeps no organization"))
	}
	kept, err := b.api.keepsMarks(ctx)
	if err != nil {
		return nil, nil, err
	}
	if !kept {
		faults = append(faults, errProfile(b.config.Realm))
	}
	if id, err := b.api.scopeID(ctx, scopeOrganization); err != nil {
		return nil, nil, err
	} else if id == "" && len(faults) == 0 {
		faults = append(faults, errScope(b.config.Realm))
	}
	if !realm.visible() {
		return faults, []string{
			fmt.Sprintf("Whether the realm %s lets a person without a password set one is not to be seen "+
				"without the role view-realm: it needs resetPasswordAllowed and smtpServer.", b.config.Realm),
		}, nil
	}
	note := "The first administrator comes in at the application's own address, by the log-in page's \"Forgot password?\": " +
		"the identity provider then mails them a link to set a password."
	return append(faults, realm.noWayIn()...), []string{note}, nil
}

// keepsMarks reports whether the realm's user profile lets us keep an attribute that its people can't change.
func (a *api) keepsMarks(ctx context.Context) (bool, error) {
	var profile struct {
		Policy     string `json:"unmanagedAttributePolicy"`
		Attributes []struct {
			Name        string `json:"name"`
			Permissions struct {
				Edit []string `json:"edit"`
			} `json:"permissions"`
		} `json:"attributes"`
	}
	if err := a.get(
		ctx,
		"reading the user profile of the realm "+a.config.Realm,
		&profile,
		nil,
		"users",
		"profile",
	); err != nil {
		return false, err
	}
	for _, attribute := range profile.Attributes {
		if attribute.Name == userAttribute {
			edit := attribute.Permissions.Edit
			return slices.Contains(edit, "admin") && !slices.Contains(edit, "user"), nil
		}
	}
	return profile.Policy == "ADMIN_EDIT", nil
}
