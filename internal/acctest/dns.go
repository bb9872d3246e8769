package acctest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const soa = "@ 60 SOA ns hostmaster 1 3600 600 86400 60\n@ 60 NS ns\nns 60 A 127.0.0.1\n"

func freshZone() string { return "acc" + strings.ToLower(rand.Text()[:12]) + ".example" }

// BINDZone is a fresh zone on the real BIND, and what the provider's dns says of it.
func BINDZone(t *testing.T) (zone, dns string) {
	t.Helper()
	zone = freshZone()
	key := Service(t, "TENANT_TEST_BIND_TSIG_NAME")
	file := filepath.Join(Service(t, "TENANT_TEST_BIND_DIR"), zone+".zone")
	require.NoError(t, os.WriteFile(file, []byte(soa), 0o600))
	rndc := func(args ...string) {
		args = append([]string{"-c", Service(t, "TENANT_TEST_BIND_RNDC_CONF")}, args...)
		//nolint:gosec // the server's own tool, on the test's own zone
		command := exec.CommandContext(context.WithoutCancel(t.Context()), "rndc", args...)
		out, err := command.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	rndc("addzone", zone, fmt.Sprintf(
		`{ type primary; file "%s.zone"; update-policy { grant %[2]s zonesub ANY; }; allow-transfer { key %[2]s; }; };`,
		zone,
		key,
	))
	t.Cleanup(func() { rndc("delzone", "-clean", zone) })
	return zone, fmt.Sprintf(`{
    zone      = %q
    resolvers = [%q]
    rfc2136 = { server = %q, tsig_name = %q, tsig_secret = %q, tsig_algorithm = %q }
  }`, zone, Service(t, "TENANT_TEST_BIND_ADDR"), Service(t, "TENANT_TEST_BIND_ADDR"), key,
		Service(t, "TENANT_TEST_BIND_TSIG_SECRET"), Service(t, "TENANT_TEST_BIND_TSIG_ALGORITHM"))
}

// PowerDNSZone is a fresh zone on the real PowerDNS, and what the provider's dns says of it.
func PowerDNSZone(t *testing.T) (zone, dns string) {
	t.Helper()
	zone = freshZone()
	at, key := Service(t, "TENANT_TEST_POWERDNS_API_URL"), Service(t, "TENANT_TEST_POWERDNS_API_KEY")
	call := func(method, path string, body any) {
		text, err := json.Marshal(body)
		require.NoError(t, err)
		request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method,
			at+"/servers/localhost/zones"+path, bytes.NewReader(text))
		require.NoError(t, err)
		request.Header.Set("X-API-Key", key)
		answer(t, request)
	}
	call(http.MethodPost, "", map[string]any{
		"name": zone + ".", "kind": "Native", "nameservers": []string{"ns." + zone + "."},
	})
	t.Cleanup(func() { call(http.MethodDelete, "/"+zone+".", nil) })
	return zone, fmt.Sprintf(`{
    zone      = %q
    resolvers = [%q]
    powerdns  = { url = %q, api_key = %q }
  }`, zone, Service(t, "TENANT_TEST_POWERDNS_DNS_ADDR"), at, key)
}
