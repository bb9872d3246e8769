package keycloak_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

// specOf is an ordinary tenant's identity.
func specOf(id tenant.ID) tenant.IdentitySpec {
	return tenant.IdentitySpec{
		Tenant:       id,
		DisplayName:  "Acme Ltd",
		RedirectURIs: []string{"https://" + string(id) + ".app.example.com/auth/callback"},
		Roles:        []string{"reader", "accountant"},
		Administrator: tenant.Administrator{
			Email: "ada@" + string(id) + ".example.com",
			Name:  "Ada Lovelace",
		},
		SecretVersion: 1,
	}
}

func ensure(tb testing.TB, on tenant.Identities, spec tenant.IdentitySpec) tenant.Identity {
	tb.Helper()
	got, err := on.Ensure(tb.Context(), spec, tenant.NoJournal{})
	require.NoError(tb, err)
	return got
}

// mailbox is a real mail server that keeps what it is sent.
type mailbox struct{ url, host, port string }

func newMailbox(tb testing.TB) mailbox {
	tb.Helper()
	values := environment(tb, "TENANT_TEST_MAILPIT_URL", "TENANT_TEST_MAILPIT_SMTP")
	host, port, err := net.SplitHostPort(values[1])
	require.NoError(tb, err)
	return mailbox{values[0], host, port}
}

// serve has a realm send its mails there.
func (m mailbox) serve(body object) {
	body["smtpServer"] = object{"host": m.host, "port": m.port, "from": "identity@example.com"}
}

// mails returns the texts of the mails to an address, newest first.
func (m mailbox) mails(tb testing.TB, to string) []string {
	tb.Helper()
	var list struct {
		Messages []struct{ ID string } `json:"messages"`
	}
	m.get(tb, "/api/v1/search?query="+url.QueryEscape(`to:"`+to+`"`), &list)
	var texts []string
	for _, message := range list.Messages {
		var whole struct{ Text string }
		m.get(tb, "/api/v1/message/"+message.ID, &whole)
		texts = append(texts, whole.Text)
	}
	return texts
}

func (m mailbox) get(tb testing.TB, path string, out any) {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, m.url+path, nil)
	require.NoError(tb, err)
	status, body := send(tb, request)
	require.Equal(tb, http.StatusOK, status, "of %s", body)
	require.NoError(tb, json.Unmarshal(body, out))
}

// TestFirstLogin goes the way of the welcome mail: the application's plain address, "Forgot password?", the server's own mail, a
// password, and back at the application with a token that names the tenant. Nothing was sent before.
func TestFirstLogin(t *testing.T) {
	t.Parallel()
	for name, public := range map[string]bool{"confidential": false, "public": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mails := newMailbox(t)
			r := newRealm(t, mails.serve)
			backend := r.backend(t)
			spec := specOf("acme")
			spec.Public = public
			spec.Administrator.Email = "ada@" + r.name + ".example.com"
			ensure(t, backend, spec)
			invitation, err := backend.Invite(t.Context(), "acme", tenant.IdentityNames{})
			require.NoError(t, err)
			require.True(t, invitation.Reset)
			require.Zero(t, invitation.Expires)
			require.Equal(t, applicationURL("acme"), invitation.Link.Reveal())
			require.Empty(t, mails.mails(t, spec.Administrator.Email), "nothing is sent")

			var secret tenant.Secret
			if !public {
				secret = secretOf(t, backend, tenanttest.Keyring(t), "acme")
			}
			got := r.firstLogin(t, mails, r.application("acme", secret), spec.Administrator.Email)
			for _, token := range []string{got.ID, got.Access} {
				require.Equal(t, []any{named("acme")}, claims(t, token)["organization"])
				require.NotContains(t, token, "tenantry1", "the mark stays on the server")
			}
			require.Equal(t, spec.Administrator.Email, claims(t, got.ID)["email"])
			require.Equal(t, "Ada Lovelace", claims(t, got.ID)["name"])
			read, err := backend.Read(t.Context(), "acme", tenant.IdentityNames{})
			require.NoError(t, err)
			require.Empty(t, read.Drift, "a log-in is no drift")
		})
	}
}

// firstLogin is that of a person who has no password yet.
func (r *realm) firstLogin(tb testing.TB, mails mailbox, app *application, email string) tokens {
	tb.Helper()
	b := r.browser()
	b.open(tb, app.login())
	b.forgot(tb, email)
	b.submit(tb, url.Values{"username": {email}})
	received := mails.mails(tb, email)
	require.Len(tb, received, 1)
	link := regexp.MustCompile(`https?://\S+/login-actions/action-token\S+`).FindString(received[0])
	require.NotEmpty(tb, link, "of %s", received[0])
	b.open(tb, link)
	require.True(tb, b.has("password-new"), "of %s", b.words())
	b.submit(tb, url.Values{"password-new": {password}, "password-confirm": {password}})
	return app.returned(tb, b)
}

const password = "correct horse battery staple"

// TestPersonOfTwoTenants logs in at both, each token naming the tenant that asked.
func TestPersonOfTwoTenants(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	backend := r.backend(t)
	acme, globex := specOf("acme"), specOf("globex")
	globex.Administrator = acme.Administrator
	ensure(t, backend, acme)
	ensure(t, backend, globex)
	r.setPassword(t, acme.Administrator.Email)
	for _, id := range []tenant.ID{"acme", "globex"} {
		got := r.login(t, backend, id, acme.Administrator.Email)
		require.Equal(t, []any{named(id)}, claims(t, got.Access)["organization"])
	}
}

func (r *realm) setPassword(tb testing.TB, email string) {
	tb.Helper()
	path := r.in("/users/%s/reset-password", text(r.user(tb, email), "id"))
	body := object{"type": "password", "value": password, "temporary": false}
	require.True(tb, r.admin(tb, http.MethodPut, path, body, nil))
}

// login is that of a person with a password, in a browser of its own.
func (r *realm) login(tb testing.TB, on tenant.Identities, id tenant.ID, email string) tokens {
	tb.Helper()
	app := r.application(id, secretOf(tb, on, tenanttest.Keyring(tb), id))
	b := r.browser()
	b.open(tb, app.login())
	b.enter(tb, email, password)
	return app.returned(tb, b)
}
