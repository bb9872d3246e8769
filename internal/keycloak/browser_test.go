package keycloak_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// jar keeps all cookies of one server. Unlike that of net/http it gives secure ones back over http, as browsers do on a
// loopback address.
type jar map[string]*http.Cookie

func (j jar) SetCookies(_ *url.URL, cookies []*http.Cookie) {
	for _, cookie := range cookies {
		if cookie.MaxAge < 0 || cookie.Value == "" {
			delete(j, cookie.Name)
			continue
		}
		j[cookie.Name] = cookie
	}
}

func (j jar) Cookies(*url.URL) []*http.Cookie {
	var out []*http.Cookie
	for _, cookie := range j {
		//nolint:gosec // it is sent, not set
		out = append(out, &http.Cookie{Name: cookie.Name, Value: cookie.Value})
	}
	return out
}

// browser is a person's. It stays on the realm's server: where it is sent away from there, it stops.
type browser struct {
	on     *realm
	client *http.Client
	status int
	page   string
	at     *url.URL // of the page, or where it was sent to
}

func (r *realm) browser() *browser {
	b := &browser{on: r}
	b.client = &http.Client{Jar: jar{}, CheckRedirect: func(request *http.Request, _ []*http.Request) error {
		if !strings.HasPrefix(request.URL.String(), r.url) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	return b
}

func (b *browser) do(tb testing.TB, request *http.Request) {
	tb.Helper()
	response, err := b.client.Do(request)
	require.NoError(tb, err)
	defer func() { require.NoError(tb, response.Body.Close()) }()
	body, err := io.ReadAll(response.Body)
	require.NoError(tb, err)
	b.status, b.page, b.at = response.StatusCode, string(body), response.Request.URL
	if away, err := response.Location(); err == nil {
		b.at, b.page = away, ""
	}
}

func (b *browser) open(tb testing.TB, address string) {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, address, nil)
	require.NoError(tb, err)
	b.do(tb, request)
}

// submit fills in the form of the page.
func (b *browser) submit(tb testing.TB, fields url.Values) {
	tb.Helper()
	action := regexp.MustCompile(`<form[^>]*action="([^"]+)"`).FindStringSubmatch(b.page)
	require.NotNil(tb, action, "a form on %s", b.words())
	target, err := b.at.Parse(html.UnescapeString(action[1]))
	require.NoError(tb, err)
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, target.String(),
		strings.NewReader(fields.Encode()))
	require.NoError(tb, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	b.do(tb, request)
}

// link opens the page's link that leads to a path with that ending.
func (b *browser) link(tb testing.TB, ending string) {
	tb.Helper()
	found := regexp.MustCompile(`href="([^"]*` + regexp.QuoteMeta(ending) + `[^"]*)"`).
		FindStringSubmatch(b.page)
	require.NotNil(tb, found, "a link to %s on %s", ending, b.words())
	target, err := b.at.Parse(html.UnescapeString(found[1]))
	require.NoError(tb, err)
	b.open(tb, target.String())
}

// has reports whether the page's form asks for a field.
func (b *browser) has(field string) bool { return strings.Contains(b.page, `name="`+field+`"`) }

// words is the page's text, to be read by a person.
func (b *browser) words() string {
	text := regexp.MustCompile(`(?s)<(script|style|head).*?</(script|style|head)>|<[^>]*>`).
		ReplaceAllString(b.page, " ")
	return fmt.Sprintf("%s (%d): %s", b.at, b.status, strings.Join(strings.Fields(text), " "))
}

// application is the product as it talks to the identity provider: authorization code with PKCE (RFC 7636).
type application struct {
	on       *realm
	clientID string
	secret   tenant.Secret
	callback string
	verifier string
	state    string
}

func (r *realm) application(id tenant.ID, secret tenant.Secret) *application {
	return &application{
		on:       r,
		clientID: named(id),
		secret:   secret,
		callback: "https://" + string(
			id,
		) + ".app.example.com/auth/callback",
		verifier: rand.Text() + rand.Text(),
		state:    rand.Text(),
	}
}

// login is where the application sends a person to log in.
func (a *application) login() string {
	sum := sha256.Sum256([]byte(a.verifier))
	return a.on.url + "/realms/" + a.on.name + "/protocol/openid-connect/auth?" + url.Values{
		"client_id": {
			a.clientID,
		},
		"redirect_uri":          {a.callback},
		"response_type":         {"code"},
		"state":                 {a.state},
		"scope":                 {"openid organization:" + a.clientID},
		"code_challenge":        {base64.RawURLEncoding.EncodeToString(sum[:])},
		"code_challenge_method": {"S256"},
	}.Encode()
}

// tokens is an answer of the token endpoint (RFC 6749, section 5.1).
type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	ID      string `json:"id_token"`
	Error   string `json:"error"`
}

func (a *application) token(tb testing.TB, fields url.Values) tokens {
	tb.Helper()
	fields.Set("client_id", a.clientID)
	if a.secret.Reveal() != "" {
		fields.Set("client_secret", a.secret.Reveal())
	}
	_, body := a.on.form(tb, "/realms/"+a.on.name+"/protocol/openid-connect/token", fields)
	var out tokens
	require.NoError(tb, json.Unmarshal(body, &out), "of %s", body)
	return out
}

// returned takes the code with which the browser came back.
func (a *application) returned(tb testing.TB, b *browser) tokens {
	tb.Helper()
	require.True(
		tb,
		strings.HasPrefix(b.at.String(), a.callback+"?"),
		"back at the application, not on %s",
		b.words(),
	)
	require.Equal(tb, a.state, b.at.Query().Get("state"))
	got := a.token(tb, url.Values{
		"grant_type": {
			"authorization_code",
		},
		"code":          {b.at.Query().Get("code")},
		"redirect_uri":  {a.callback},
		"code_verifier": {a.verifier},
	})
	require.Empty(tb, got.Error)
	return got
}

func (a *application) refresh(tb testing.TB, refresh string) tokens {
	tb.Helper()
	return a.token(tb, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}})
}

// claims are those of a token that the server itself has just handed out.
func claims(tb testing.TB, token string) object {
	tb.Helper()
	parts := strings.Split(token, ".")
	require.Len(tb, parts, 3)
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(tb, err)
	var out object
	require.NoError(tb, json.Unmarshal(body, &out))
	return out
}

// enter gives the log-in pages an address and a password, whether they ask for both at once or one after the other.
func (b *browser) enter(tb testing.TB, email, password string) {
	tb.Helper()
	if !b.has("password") {
		b.submit(tb, url.Values{"username": {email}})
	}
	if b.has("password") {
		b.submit(tb, url.Values{"username": {email}, "password": {password}})
	}
}

// forgot goes to the page that mails a way to choose a new password.
func (b *browser) forgot(tb testing.TB, email string) {
	tb.Helper()
	const reset = "/login-actions/reset-credentials"
	if !strings.Contains(b.page, reset) {
		b.submit(tb, url.Values{"username": {email}})
	}
	b.link(tb, reset)
}

// follow goes from the application's plain address to the page where a person has a way in mailed, and sends nothing.
func (r *realm) follow(tb testing.TB, link string) error {
	tb.Helper()
	host, err := url.Parse(link)
	require.NoError(tb, err)
	id, _, _ := strings.Cut(host.Host, ".")
	b := r.browser()
	b.open(tb, r.application(tenant.ID(id), tenant.Secret{}).login())
	b.forgot(tb, "ada@"+id+".example.com")
	if !b.has("username") {
		return errors.New("no page to reset a password: " + b.words())
	}
	return nil
}
