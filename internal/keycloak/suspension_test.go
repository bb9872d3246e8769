package keycloak_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

func yes() *bool { value := true; return &value }

func no() *bool { value := false; return &value }

// active asks as the realm's service account whether the server still stands by a token (RFC 7662).
func (r *realm) active(tb testing.TB, token string) bool {
	tb.Helper()
	status, body := r.form(tb, "/realms/"+r.name+"/protocol/openid-connect/token/introspect", url.Values{
		"client_id": {accountID}, "client_secret": {accountSecret}, "token": {token},
	})
	require.Equal(tb, http.StatusOK, status, "of %s", body)
	return string(body) != `{"active":false}`
}

func (r *realm) userInfo(tb testing.TB, token string) int {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet,
		r.url+"/realms/"+r.name+"/protocol/openid-connect/userinfo", nil)
	require.NoError(tb, err)
	request.Header.Set("Authorization", "Bearer "+token)
	status, _ := send(tb, request)
	return status
}

// refused asserts that a log-in with the right password does not come back to the application with a code.
func (r *realm) refused(tb testing.TB, app *application, email string) {
	tb.Helper()
	b := r.browser()
	b.open(tb, app.login())
	if b.has("username") || b.has("password") {
		b.enter(tb, email, password)
	}
	require.Empty(tb, b.at.Query().Get("code"), "of %s", b.words())
}

// TestSuspension logs a person in, suspends the tenant and tries every way in, then reactivates it: what was ended stays
// ended.
func TestSuspension(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	backend := r.backend(t)
	spec, other := specOf("acme"), specOf("globex")
	ensure(t, backend, spec)
	ensure(t, backend, other)
	r.setPassword(t, spec.Administrator.Email)
	r.setPassword(t, other.Administrator.Email)
	app := r.application("acme", secretOf(t, backend, tenanttest.Keyring(t), "acme"))
	b := r.browser()
	b.open(t, app.login())
	b.enter(t, spec.Administrator.Email, password)
	got := app.returned(t, b)
	bystander := r.login(t, backend, "globex", other.Administrator.Email)
	require.Equal(t, http.StatusOK, r.userInfo(t, got.Access))

	spec.Enabled = no()
	require.False(t, ensure(t, backend, spec).Enabled)
	require.False(t, r.active(t, got.Access), "the access token that was given before")
	require.NotEqual(t, http.StatusOK, r.userInfo(t, got.Access))
	require.NotEmpty(t, app.refresh(t, got.Refresh).Error, "the refresh token")
	require.NotEmpty(t, app.token(t, url.Values{"grant_type": {"client_credentials"}}).Error)
	r.refused(t, app, spec.Administrator.Email)
	require.Equal(t, http.StatusOK, r.userInfo(t, bystander.Access), "another tenant's people")

	spec.Enabled = yes()
	require.True(t, ensure(t, backend, spec).Enabled)
	require.NotEmpty(t, app.refresh(t, got.Refresh).Error, "an ended session comes back to nobody")
	require.False(t, r.active(t, got.Access))
	require.NotEqual(t, http.StatusOK, r.userInfo(t, got.Access))
	b.open(t, app.login())
	require.Empty(t, b.at.Query().Get("code"), "the browser's session is over: %s", b.words())
	fresh := r.login(t, backend, "acme", spec.Administrator.Email)
	require.Equal(t, http.StatusOK, r.userInfo(t, fresh.Access))
	require.Equal(t, http.StatusOK, r.userInfo(t, bystander.Access))
}

// TestSuspensionOfMembers has the product's own people in the organization, one of whom somebody has locked out before.
func TestSuspensionOfMembers(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	backend := r.backend(t)
	spec, other := specOf("acme"), specOf("globex")
	ensure(t, backend, spec)
	ensure(t, backend, other)
	for _, email := range []string{"bob@acme.example.com", "locked@acme.example.com", "both@acme.example.com"} {
		r.plant(t, tenant.KindUser, email)
		r.join(t, "acme", email)
		r.setPassword(t, email)
	}
	r.join(t, "globex", "both@acme.example.com")
	r.change(t, r.in("/users/%s", text(r.user(t, "locked@acme.example.com"), "id")),
		func(user object) { user["enabled"] = false })
	before := ensure(t, backend, spec)
	require.Empty(t, before.Drift, "the product's members are the product's")

	app := r.application("acme", secretOf(t, backend, tenanttest.Keyring(t), "acme"))
	both := r.login(t, backend, "globex", "both@acme.example.com")
	spec.Enabled = no()
	suspended := ensure(t, backend, spec)
	require.Empty(t, suspended.Drift)
	require.Empty(t, suspended.Missing)
	require.Equal(t, http.StatusOK, r.userInfo(t, both.Access), "a session at another tenant")
	for _, email := range []string{"bob@acme.example.com", "locked@acme.example.com", "both@acme.example.com"} {
		r.refused(t, app, email)
	}
	spec.Enabled = yes()
	require.Equal(t, before, ensure(t, backend, spec))
	require.Equal(t, true, r.user(t, "bob@acme.example.com")["enabled"])
	require.Equal(t, true, r.user(t, "both@acme.example.com")["enabled"])
	require.Equal(t, false, r.user(t, "locked@acme.example.com")["enabled"], "nobody's lock is lifted")
}

// TestSuspensionOfSharedPerson suspends one of the two tenants of a person: the other one's log-in goes on.
func TestSuspensionOfSharedPerson(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	backend := r.backend(t)
	acme, globex := specOf("acme"), specOf("globex")
	globex.Administrator = acme.Administrator
	ensure(t, backend, acme)
	ensure(t, backend, globex)
	r.setPassword(t, acme.Administrator.Email)
	acme.Enabled = no()
	ensure(t, backend, acme)
	app := r.application("acme", secretOf(t, backend, tenanttest.Keyring(t), "acme"))
	r.refused(t, app, acme.Administrator.Email)
	r.login(t, backend, "globex", acme.Administrator.Email)
	acme.Enabled = yes()
	ensure(t, backend, acme)
	r.login(t, backend, "acme", acme.Administrator.Email)
}

// TestDeletionOfASuspendedTenant deletes a suspended tenant whose administrator another tenant has, too.
func TestDeletionOfASuspendedTenant(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	backend := r.backend(t)
	acme, globex := specOf("acme"), specOf("globex")
	ensure(t, backend, acme)
	ensure(t, backend, globex)
	acme.Enabled = no()
	ensure(t, backend, acme)
	r.join(t, "globex", acme.Administrator.Email) // as the product does
	require.NoError(t, backend.Delete(t.Context(), "acme", tenant.IdentityNames{}, tenant.NoJournal{}))
	require.NotNil(t, r.user(t, acme.Administrator.Email))
	r.setPassword(t, acme.Administrator.Email)
	r.login(t, backend, "globex", acme.Administrator.Email)
}
