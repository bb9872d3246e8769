package keycloak

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// The attributes of a client besides attrMark and attrIncarnation.
const (
	attrSecretKey     = "tenantry.secret_key"
	attrSecretVersion = "tenantry.secret_version"
	attrPeople        = "tenantry.people" // e-mail keys, in lines: what finds the people if the organization is lost
)

// scopeOrganization is the client scope that puts a person's organization into tokens. An application asks for
// organization:ALIAS: without the alias, a member of two organizations gets none.
const scopeOrganization = "organization"

// scopeSetting is the setting that an update does not carry.
const scopeSetting = "the scope " + scopeOrganization

// application is what is stored of a tenant's client.
type application struct {
	id, clientID string
	enabled      bool
	public       bool
	redirectURIs []string // sorted
	roles        []role   // sorted by name
	secret       tenant.Secret
	keyID        string
	version      int64
	incarnation  string
	people       []string // sorted
	mark         string
	notBefore    int64             // seconds since 1970; tokens issued earlier are dead
	settings     map[string]string // see settingsOf
}

type role struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type clientRepresentation struct {
	ID             string            `json:"id"`
	ClientID       string            `json:"clientId"`
	Enabled        bool              `json:"enabled"`
	Public         bool              `json:"publicClient"`
	BearerOnly     bool              `json:"bearerOnly"`
	RedirectURIs   []string          `json:"redirectUris"`
	WebOrigins     []string          `json:"webOrigins"`
	Secret         string            `json:"secret"`
	NotBefore      int64             `json:"notBefore"`
	StandardFlow   bool              `json:"standardFlowEnabled"`
	ImplicitFlow   bool              `json:"implicitFlowEnabled"`
	DirectGrants   bool              `json:"directAccessGrantsEnabled"`
	FullScope      bool              `json:"fullScopeAllowed"`
	OptionalScopes []string          `json:"optionalClientScopes"`
	DefaultScopes  []string          `json:"defaultClientScopes"`
	Attributes     map[string]string `json:"attributes"`
}

func (r clientRepresentation) application() application {
	out := application{
		id:           r.ID,
		clientID:     r.ClientID,
		enabled:      r.Enabled,
		public:       r.Public,
		redirectURIs: asSet(r.RedirectURIs),
		mark:         r.Attributes[attrMark],
		keyID:        r.Attributes[attrSecretKey],
		incarnation:  r.Attributes[attrIncarnation],
		settings:     r.settings(),
		notBefore:    r.NotBefore,
	}
	out.version, _ = strconv.ParseInt(r.Attributes[attrSecretVersion], 10, 64) // 0 where there is none
	if people := r.Attributes[attrPeople]; people != "" {
		out.people = asSet(strings.Split(people, "\n"))
	}
	if r.Secret != "" && !r.Public {
		out.secret = tenant.NewSecret(r.Secret)
	}
	return out
}

// settings are what keeps a client safe and is in no field of tenant.Identity, as texts that can be compared.
func (r clientRepresentation) settings() map[string]string {
	scoped := slices.Contains(r.OptionalScopes, scopeOrganization) ||
		slices.Contains(r.DefaultScopes, scopeOrganization)
	return map[string]string{
		"the authorization code flow": strconv.FormatBool(r.StandardFlow && !r.BearerOnly),
		"the implicit flow":           strconv.FormatBool(r.ImplicitFlow),
		"log-in by password":          strconv.FormatBool(r.DirectGrants),
		"roles of other applications": strconv.FormatBool(r.FullScope),
		"the method of PKCE":          r.Attributes["pkce.code.challenge.method"],
		"web origins":                 strings.Join(asSet(r.WebOrigins), " "),
		scopeSetting:                  strconv.FormatBool(scoped),
	}
}

// settingsOf are the settings that a client with these redirect URIs has.
func settingsOf(redirectURIs []string) map[string]string {
	r := clientRepresentation{OptionalScopes: []string{scopeOrganization}}
	r.harden(redirectURIs)
	return r.settings()
}

// harden lets an application do no more than it needs: the code flow with PKCE (RFC 9700, section 2.1), tokens that
// carry its own roles only.
func (r *clientRepresentation) harden(redirectURIs []string) {
	r.RedirectURIs, r.WebOrigins = redirectURIs, originsOf(redirectURIs)
	r.StandardFlow = true
	if r.Attributes == nil {
		r.Attributes = map[string]string{}
	}
	r.Attributes["pkce.code.challenge.method"] = "S256"
	r.Attributes["post.logout.redirect.uris"] = "+" // the redirect URIs
}

// originsOf are the origins (RFC 6454, section 6.2) of the URIs.
func originsOf(uris []string) []string {
	var out []string
	for _, text := range uris {
		if uri, err := url.Parse(text); err == nil {
			out = append(out, uri.Scheme+"://"+uri.Host)
		}
	}
	return asSet(out)
}

func asSet(list []string) []string {
	set := append([]string{}, list...)
	slices.Sort(set)
	return slices.Compact(set)
}

func (a application) roleNames() []string {
	names := []string{}
	for _, role := range a.roles {
		names = append(names, role.Name)
	}
	return asSet(names)
}

func (a application) state() tenant.SecretState {
	if a.public {
		return tenant.SecretState{}
	}
	state := tenant.SecretState{KeyID: a.keyID, Version: a.version, Incarnation: a.incarnation}
	if a.secret.Reveal() != "" {
		state.Fingerprint = a.secret.Fingerprint()
	}
	return state
}

// representation is what a create or an update writes; an update keeps what is left out.
func (a application) representation() map[string]any {
	var hard clientRepresentation
	hard.harden(a.redirectURIs)
	attributes := hard.Attributes
	attributes[attrMark], attributes[attrIncarnation] = a.mark, a.incarnation
	attributes[attrSecretKey], attributes[attrSecretVersion] = a.keyID, strconv.FormatInt(a.version, 10)
	attributes[attrPeople] = strings.Join(a.people, "\n")
	out := map[string]any{
		"clientId": a.clientID, "protocol": "openid-connect", "enabled": a.enabled, "publicClient": a.public,
		"bearerOnly": false, "redirectUris": hard.RedirectURIs, "webOrigins": hard.WebOrigins,
		"standardFlowEnabled": true, "implicitFlowEnabled": false, "directAccessGrantsEnabled": false,
		"fullScopeAllowed": false, "attributes": attributes,
	}
	if !a.public {
		out["clientAuthenticatorType"], out["secret"] = "client-secret", a.secret.Reveal()
	}
	return out
}

// findApplication returns the client of that very id, with its roles; one without an id if there is none.
func (a *api) findApplication(ctx context.Context, clientID string) (application, error) {
	var found []clientRepresentation
	err := a.get(
		ctx,
		"looking for the application "+clientID,
		&found,
		url.Values{"clientId": {clientID}},
		"clients",
	)
	if err != nil || len(found) == 0 {
		return application{}, err
	}
	out := found[0].application()
	out.roles, err = a.rolesOf(ctx, out)
	return out, err
}

func (a *api) rolesOf(ctx context.Context, of application) ([]role, error) {
	roles := []role{}
	err := a.get(ctx, "reading the roles of the application "+of.clientID, &roles,
		url.Values{"briefRepresentation": {"true"}}, "clients", of.id, "roles")
	if absent(err) {
		return nil, nil
	}
	slices.SortFunc(roles, func(a, b role) int { return compare(a.Name, b.Name) })
	return roles, err
}

// createApplication returns the client's id. The client has the scopes that the realm gives to every new one.
func (a *api) createApplication(ctx context.Context, made application) (string, error) {
	got, err := a.post(ctx, "creating the application "+made.clientID, made.representation(), "clients")
	return got.id(), err
}

// givesScope reports whether the realm gives the scope organization to every new client, as a new realm does. It asks
// once: what changes later is drift of the client.
func (a *api) givesScope(ctx context.Context) (bool, error) {
	a.mu.Lock()
	known := a.scoped
	a.mu.Unlock()
	if known {
		return true, nil
	}
	for _, list := range []string{"default-optional-client-scopes", "default-default-client-scopes"} {
		var scopes []role // the same two fields
		if err := a.get(
			ctx,
			"reading the scopes that the realm gives to new clients",
			&scopes,
			nil,
			list,
		); err != nil {
			return false, err
		}
		if slices.ContainsFunc(scopes, func(s role) bool { return s.Name == scopeOrganization }) {
			a.mu.Lock()
			a.scoped = true
			a.mu.Unlock()
			return true, nil
		}
	}
	return false, nil
}

func (a *api) updateApplication(ctx context.Context, want application) error {
	body := want.representation()
	if want.notBefore > 0 {
		body["notBefore"] = want.notBefore
	}
	return a.put(ctx, "changing the application "+want.clientID, body, "clients", want.id)
}

// setRoles makes and removes roles until the application has those of the names. Somebody else may be doing the same.
func (a *api) setRoles(ctx context.Context, of application, names []string) error {
	for _, name := range names {
		if slices.ContainsFunc(of.roles, func(r role) bool { return r.Name == name }) {
			continue
		}
		doing := fmt.Sprintf("creating the role %s of the application %s", name, of.clientID)
		_, err := a.post(ctx, doing, map[string]any{"name": name}, "clients", of.id, "roles")
		if err != nil && !taken(err) {
			return err
		}
		tenant.Failpoint(ctx, "role.made")
	}
	for _, one := range of.roles {
		if slices.Contains(names, one.Name) {
			continue
		}
		doing := fmt.Sprintf("deleting the role %s of the application %s", one.Name, of.clientID)
		if err := a.remove(ctx, doing, "roles-by-id", one.ID); err != nil {
			return err
		}
		tenant.Failpoint(ctx, "role.deleted")
	}
	return nil
}

// scopeID returns the id of a client scope of the realm, "" if there is none.
func (a *api) scopeID(ctx context.Context, name string) (string, error) {
	var scopes []role // the same two fields
	err := a.get(ctx, "reading the client scopes of the realm", &scopes, nil, "client-scopes")
	for _, scope := range scopes {
		if scope.Name == name {
			return scope.ID, err
		}
	}
	return "", err
}

// session is one person's log-in at the realm.
type session struct {
	ID      string            `json:"id"`
	Clients map[string]string `json:"clients"` // those that it was used for
}

// sessionsOf are the sessions of the kind (user-sessions, offline-sessions) that were used for the application.
func (a *api) sessionsOf(ctx context.Context, of application, kind string) ([]session, error) {
	var all []session
	for first := 0; ; first += pageSize {
		var page []session
		err := a.get(
			ctx,
			"reading the sessions of the application "+of.clientID,
			&page,
			url.Values{
				"first": {strconv.Itoa(first)},
				"max":   {strconv.Itoa(pageSize)},
			},
			"clients",
			of.id,
			kind,
		)
		if err != nil && !absent(err) {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < pageSize {
			return all, nil
		}
	}
}
