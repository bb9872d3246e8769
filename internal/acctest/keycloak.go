package acctest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// KeycloakRealm is a realm of a test's own on the real server: that of examples/keycloak, with mails that Mailpit keeps.
type KeycloakRealm struct {
	URL, Realm, ClientSecret string
}

// NewKeycloakRealm makes the realm; it is removed at the test's end.
func NewKeycloakRealm(t *testing.T) KeycloakRealm {
	t.Helper()
	realm := KeycloakRealm{
		URL: Service(t, "TENANT_TEST_KEYCLOAK_URL"), Realm: "acc" + strings.ToLower(rand.Text()[:12]),
		ClientSecret: rand.Text(),
	}
	content, err := os.ReadFile(filepath.Join(Repository(), "examples", "keycloak", "realm.json"))
	require.NoError(t, err)
	var body map[string]any
	require.NoError(t, json.Unmarshal(content, &body))
	host, port, err := net.SplitHostPort(Service(t, "TENANT_TEST_MAILPIT_SMTP"))
	require.NoError(t, err)
	body["realm"] = realm.Realm
	body["smtpServer"] = map[string]string{"host": host, "port": port, "from": "identity@example.com"}
	clients, ok := body["clients"].([]any)
	require.True(t, ok)
	account, ok := clients[0].(map[string]any)
	require.True(t, ok)
	account["secret"] = realm.ClientSecret
	text, err := json.Marshal(body)
	require.NoError(t, err)
	realm.admin(t, http.MethodPost, "", text)
	t.Cleanup(func() { realm.admin(t, http.MethodDelete, "/"+realm.Realm, nil) })
	return realm
}

// admin makes a call below /admin/realms as whoever may make realms.
func (r KeycloakRealm) admin(t *testing.T, method, path string, body []byte) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	var token struct {
		Token string `json:"access_token"`
	}
	form := url.Values{
		"grant_type":    {"client_credentials"},
		"client_id":     {Service(t, "TENANT_TEST_KEYCLOAK_ADMIN_CLIENT_ID")},
		"client_secret": {Service(t, "TENANT_TEST_KEYCLOAK_ADMIN_CLIENT_SECRET")},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		r.URL+"/realms/master/protocol/openid-connect/token", strings.NewReader(form.Encode()))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	require.NoError(t, json.Unmarshal(answer(t, request), &token))
	request, err = http.NewRequestWithContext(ctx, method, r.URL+"/admin/realms"+path, bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+token.Token)
	request.Header.Set("Content-Type", "application/json")
	answer(t, request)
}

func answer(t *testing.T, request *http.Request) []byte {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Less(
		t,
		response.StatusCode,
		http.StatusMultipleChoices,
		"%s %s: %s",
		request.Method,
		request.URL,
		body,
	)
	return body
}
