package keycloak_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/keycloak"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

// server is a real Keycloak, with a service account that may make realms and do everything in them.
type server struct {
	url, clientID, secret string

	mu      sync.Mutex
	token   string
	renewed time.Time
}

// tokenLife is shorter than the 60 s for which the server's realm master gives tokens.
const tokenLife = 45 * time.Second

// environment returns the variables of a service, in order.
func environment(tb testing.TB, names ...string) []string {
	tb.Helper()
	var values []string
	for _, name := range names {
		value := os.Getenv(name)
		if value == "" && os.Getenv("CI") != "" {
			tb.Fatalf("%s is not set: start the servers with make services", name)
		}
		if value == "" {
			//nolint:forbidigo // a clone without servers must be able to run its tests; CI has them, and fails above without
			tb.Skipf("%s is not set: start the servers with make services", name)
		}
		values = append(values, value)
	}
	return values
}

func newServer(tb testing.TB) *server {
	tb.Helper()
	values := environment(tb, "TENANT_TEST_KEYCLOAK_URL", "TENANT_TEST_KEYCLOAK_ADMIN_CLIENT_ID",
		"TENANT_TEST_KEYCLOAK_ADMIN_CLIENT_SECRET")
	return &server{url: values[0], clientID: values[1], secret: values[2]}
}

func (s *server) bearer(tb testing.TB) string {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.renewed) < tokenLife {
		return s.token
	}
	status, body := s.form(tb, "/realms/master/protocol/openid-connect/token", url.Values{
		"grant_type": {"client_credentials"}, "client_id": {s.clientID}, "client_secret": {s.secret},
	})
	require.Equal(tb, http.StatusOK, status, "of %s", body)
	var got struct {
		Token string `json:"access_token"`
	}
	require.NoError(tb, json.Unmarshal(body, &got))
	s.token, s.renewed = got.Token, time.Now()
	return s.token
}

// form posts fields and returns status and body.
func (s *server) form(tb testing.TB, path string, fields url.Values) (int, []byte) {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, s.url+path,
		strings.NewReader(fields.Encode()))
	require.NoError(tb, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return send(tb, request)
}

func send(tb testing.TB, request *http.Request) (int, []byte) {
	tb.Helper()
	response, err := http.DefaultClient.Do(request)
	require.NoError(tb, err)
	defer func() { require.NoError(tb, response.Body.Close()) }()
	body, err := io.ReadAll(response.Body)
	require.NoError(tb, err)
	return response.StatusCode, body
}

// admin makes a call below /admin/realms as the service account; a 404 is false.
func (s *server) admin(tb testing.TB, method, path string, body, out any) bool {
	tb.Helper()
	var text []byte
	if body != nil {
		var err error
		text, err = json.Marshal(body)
		require.NoError(tb, err)
	}
	request, err := http.NewRequestWithContext(
		tb.Context(),
		method,
		s.url+"/admin/realms"+path,
		bytes.NewReader(text),
	)
	require.NoError(tb, err)
	request.Header.Set("Authorization", "Bearer "+s.bearer(tb))
	request.Header.Set("Content-Type", "application/json")
	status, answer := send(tb, request)
	if status == http.StatusNotFound {
		return false
	}
	require.Less(tb, status, 300, "%s %s: %s", method, path, answer)
	if out != nil {
		require.NoError(tb, json.Unmarshal(answer, out), "of %s", answer)
	}
	return true
}

const (
	accountID     = "tenantry"
	accountSecret = "the secret of the service account"
)

// accountRoles are those that the backend's service account needs.
func accountRoles() []string {
	return []string{
		"manage-organizations", "manage-clients", "manage-users", "view-realm", "manage-identity-providers",
	}
}

// realm is a realm of its own for one test. New ones have EC keys: RSA ones cost seconds.
type realm struct {
	*server

	name string
}

type object = map[string]any

// defaultProfile is what a new realm has, but open for the marks.
func defaultProfile() object {
	everybody := object{"view": []string{"admin", "user"}, "edit": []string{"admin", "user"}}
	required := object{"roles": []string{"user"}}
	person := object{"length": object{"max": 255}, "person-name-prohibited-characters": object{}}
	return object{
		"attributes": []object{
			{"name": "username", "permissions": everybody, "validations": object{
				"length": object{"min": 3, "max": 255}, "username-prohibited-characters": object{},
				"up-username-not-idn-homograph": object{},
			}},
			{"name": "email", "permissions": everybody, "required": required, "validations": object{
				"email": object{}, "length": object{"max": 255},
			}},
			{"name": "firstName", "permissions": everybody, "required": required, "validations": person},
			{"name": "lastName", "permissions": everybody, "required": required, "validations": person},
		},
		"unmanagedAttributePolicy": "ADMIN_EDIT",
	}
}

// readyRealm is a realm that is set up for the backend, whose service account has the roles.
func readyRealm(tb testing.TB, name string, profile object, roles []string) object {
	tb.Helper()
	keys := []object{
		{
			"name":       "ec",
			"providerId": "ecdsa-generated",
			"config":     object{"ecdsaEllipticCurveKey": []string{"P-256"}},
		},
		{"name": "hmac", "providerId": "hmac-generated", "config": object{"algorithm": []string{"HS512"}}},
		{"name": "aes", "providerId": "aes-generated", "config": object{}},
	}
	profileText, err := json.Marshal(profile)
	require.NoError(tb, err)
	return object{
		"realm": name, "enabled": true, "organizationsEnabled": true, "resetPasswordAllowed": true,
		"defaultSignatureAlgorithm": "ES256",
		"smtpServer":                object{"host": "127.0.0.1", "port": "9", "from": "identity@example.com"},
		"components": object{
			"org.keycloak.keys.KeyProvider": keys,
			"org.keycloak.userprofile.UserProfileProvider": []object{{
				"providerId": "declarative-user-profile",
				"config":     object{"kc.user.profile.config": []string{string(profileText)}},
			}},
		},
		"clients": []object{
			{
				"clientId":               accountID,
				"secret":                 accountSecret,
				"serviceAccountsEnabled": true,
				"standardFlowEnabled":    false,
				"attributes":             object{"client.use.lightweight.access.token.enabled": "true"},
			},
		},
		"users": []object{{
			"username": "service-account-" + accountID, "enabled": true, "serviceAccountClientId": accountID,
			"clientRoles": object{"realm-management": roles},
		}},
	}
}

// newRealm makes a realm and removes it after the test; changes alter it.
func newRealm(tb testing.TB, changes ...func(object)) *realm {
	tb.Helper()
	return makeRealm(tb, newServer(tb), defaultProfile(), accountRoles(), changes...)
}

func makeRealm(tb testing.TB, on *server, profile object, roles []string, changes ...func(object)) *realm {
	tb.Helper()
	r := &realm{on, "t" + strings.ToLower(rand.Text()[:12])}
	body := readyRealm(tb, r.name, profile, roles)
	for _, change := range changes {
		change(body)
	}
	tb.Cleanup(func() { r.drop(tb) })
	require.True(tb, r.admin(tb, http.MethodPost, "", body, nil))
	return r
}

// drop removes the realm when the context of the test has ended already.
func (r *realm) drop(tb testing.TB) {
	tb.Helper()
	//nolint:noctx // see above
	request, err := http.NewRequest(http.MethodDelete, r.url+"/admin/realms/"+r.name, nil)
	require.NoError(tb, err)
	request.Header.Set("Authorization", "Bearer "+r.token)
	response, err := http.DefaultClient.Do(request)
	require.NoError(tb, err)
	require.NoError(tb, response.Body.Close())
}

func applicationURL(id tenant.ID) string { return "https://" + string(id) + ".app.example.com/" }

// backend returns a backend on the realm; changes alter its configuration.
func (r *realm) backend(tb testing.TB, changes ...func(*keycloak.Config)) *keycloak.Backend {
	tb.Helper()
	config := keycloak.Config{
		URL: r.url, Realm: r.name, ClientID: accountID, ClientSecret: tenant.NewSecret(accountSecret),
		Keyring: tenanttest.Keyring(tb), ApplicationURL: applicationURL,
		RequestsPerSecond: 1000, // the tests' own pace is the server's
	}
	for _, change := range changes {
		change(&config)
	}
	return keycloak.New(config)
}

func with(ring *tenant.Keyring) func(*keycloak.Config) {
	return func(config *keycloak.Config) { config.Keyring = ring }
}
