package keycloak_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

// what follows is what somebody does on the server behind the backend's back.

func named(id tenant.ID) string { return tenant.IdentityName(tenanttest.Installation, id) }

func (r *realm) in(format string, args ...any) string {
	escaped := make([]any, 0, len(args))
	for _, arg := range args {
		escaped = append(escaped, url.QueryEscape(fmt.Sprint(arg)))
	}
	return "/" + r.name + fmt.Sprintf(format, escaped...)
}

func (r *realm) get(tb testing.TB, path string, out any) {
	tb.Helper()
	require.True(tb, r.admin(tb, http.MethodGet, path, nil, out), "of %s", path)
}

// one returns the only object of a list, or nil.
func (r *realm) one(tb testing.TB, path string) object {
	tb.Helper()
	var found []object
	r.get(tb, path, &found)
	require.LessOrEqual(tb, len(found), 1, "of %s", path)
	if len(found) == 0 {
		return nil
	}
	return found[0]
}

func text(o object, key string) string {
	value, _ := o[key].(string)
	return value
}

// organization returns it whole, or nil.
func (r *realm) organization(tb testing.TB, name string) object {
	tb.Helper()
	found := r.one(tb, r.in("/organizations?exact=true&search=%s", name))
	if found == nil {
		return nil
	}
	var whole object
	r.get(tb, r.in("/organizations/%s", text(found, "id")), &whole)
	return whole
}

func (r *realm) client(tb testing.TB, clientID string) object {
	tb.Helper()
	return r.one(tb, r.in("/clients?clientId=%s", clientID))
}

func (r *realm) user(tb testing.TB, email string) object {
	tb.Helper()
	return r.one(tb, r.in("/users?exact=true&briefRepresentation=false&email=%s", strings.ToLower(email)))
}

func (r *realm) members(tb testing.TB, organizationID string) []string {
	tb.Helper()
	var members []object
	r.get(tb, r.in("/organizations/%s/members?max=1000", organizationID), &members)
	ids := make([]string, 0, len(members))
	for _, member := range members {
		ids = append(ids, text(member, "id"))
	}
	slices.Sort(ids)
	return ids
}

func (r *realm) memberOf(tb testing.TB, userID string) []string {
	tb.Helper()
	var organizations []object
	r.get(tb, r.in("/organizations/members/%s/organizations", userID), &organizations)
	names := make([]string, 0, len(organizations))
	for _, one := range organizations {
		names = append(names, text(one, "name"))
	}
	slices.Sort(names)
	return names
}

// plant makes an object that carries no mark.
func (r *realm) plant(tb testing.TB, kind tenant.Kind, name string) {
	tb.Helper()
	path, body := "", object{}
	switch kind {
	case tenant.KindOrganization:
		path, body = "/organizations", object{
			"name":       name,
			"alias":      name,
			"attributes": object{"theirs": []string{"1"}},
		}
	case tenant.KindApplication:
		path, body = "/clients", object{"clientId": name, "name": "theirs"}
	case tenant.KindUser:
		path, body = "/users", object{
			"username": name, "email": name, "firstName": "Somebody", "lastName": "Else", "enabled": true,
		}
	default:
		require.Fail(tb, "no such kind", kind)
	}
	require.True(tb, r.admin(tb, http.MethodPost, r.in(path), body, nil))
}

// snapshot is all that the server holds of the object, with its connections to others, as JSON.
func (r *realm) snapshot(tb testing.TB, kind tenant.Kind, name string) string {
	tb.Helper()
	var whole object
	switch kind {
	case tenant.KindOrganization:
		if whole = r.organization(tb, name); whole != nil {
			whole["members"] = r.members(tb, text(whole, "id"))
			var providers []object
			r.get(tb, r.in("/organizations/%s/identity-providers", text(whole, "id")), &providers)
			whole["identity providers"] = providers
		}
	case tenant.KindApplication:
		if whole = r.client(tb, name); whole != nil {
			whole["roles"] = r.roles(tb, name)
		}
	case tenant.KindUser:
		if whole = r.user(tb, name); whole != nil {
			whole["member of"] = r.memberOf(tb, text(whole, "id"))
			var mappings object
			r.get(tb, r.in("/users/%s/role-mappings", text(whole, "id")), &mappings)
			whole["role mappings"] = mappings
		}
	default:
		require.Fail(tb, "no such kind", kind)
	}
	if whole == nil {
		return ""
	}
	out, err := json.MarshalIndent(whole, "", " ")
	require.NoError(tb, err)
	return string(out)
}

func (r *realm) roles(tb testing.TB, clientID string) []string {
	tb.Helper()
	var roles []object
	r.get(tb, r.in("/clients/%s/roles?max=1000", text(r.client(tb, clientID), "id")), &roles)
	names := make([]string, 0, len(roles))
	for _, role := range roles {
		names = append(names, text(role, "name"))
	}
	slices.Sort(names)
	return names
}

func (r *realm) join(tb testing.TB, id tenant.ID, email string) {
	tb.Helper()
	path := r.in("/organizations/%s/members", text(r.organization(tb, named(id)), "id"))
	require.True(tb, r.admin(tb, http.MethodPost, path, text(r.user(tb, email), "id"), nil))
}

func (r *realm) damage(tb testing.TB, id tenant.ID, part tenanttest.IdentityPart, email string) {
	tb.Helper()
	method, path, body := http.MethodDelete, "", any(nil)
	switch part {
	case tenanttest.BrokenOrganization:
		path = r.in("/organizations/%s", text(r.organization(tb, named(id)), "id"))
	case tenanttest.BrokenApplication:
		path = r.in("/clients/%s", text(r.client(tb, named(id)), "id"))
	case tenanttest.BrokenAdministrator:
		path = r.in("/users/%s", text(r.user(tb, email), "id"))
	case tenanttest.BrokenMembership:
		path = r.in(
			"/organizations/%s/members/%s",
			text(r.organization(tb, named(id)), "id"),
			text(r.user(tb, email), "id"),
		)
	case tenanttest.BrokenSecret:
		method, path = http.MethodPost, r.in("/clients/%s/client-secret", text(r.client(tb, named(id)), "id"))
	default:
		require.Fail(tb, "unknown part", part)
	}
	require.True(tb, r.admin(tb, method, path, body, nil), "of %s", path)
}

// change puts an object of the server, altered.
func (r *realm) change(tb testing.TB, path string, alter func(object)) {
	tb.Helper()
	var whole object
	r.get(tb, path, &whole)
	alter(whole)
	require.True(tb, r.admin(tb, http.MethodPut, path, whole, nil))
}

// accepts asks with the application's own authentication whether a nonsense token is valid: an application that is let
// in gets an answer.
func (r *realm) accepts(tb testing.TB, clientID string, secret tenant.Secret) bool {
	tb.Helper()
	status, body := r.form(tb, "/realms/"+r.name+"/protocol/openid-connect/token/introspect", url.Values{
		"client_id": {clientID}, "client_secret": {secret.Reveal()}, "token": {"nonsense"},
	})
	if status == http.StatusUnauthorized {
		return false
	}
	require.Equal(tb, http.StatusOK, status, "of %s", body)
	return true
}

// dump is everything that may be read of the realm.
func (r *realm) dump(tb testing.TB) []byte {
	tb.Helper()
	var all []byte
	for _, path := range []string{
		"", "/organizations?max=1000&briefRepresentation=false", "/clients?max=1000",
		"/users?max=1000&briefRepresentation=false", "/admin-events", "/events", "/components",
	} {
		var part json.RawMessage
		r.get(tb, r.in(path), &part)
		all = append(all, part...)
	}
	return all
}
