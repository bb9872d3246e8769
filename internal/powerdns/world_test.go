package powerdns_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/powerdns"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

// variable reads what make services prints.
func variable(tb testing.TB, name string) string {
	tb.Helper()
	value := os.Getenv(name)
	require.NotEmpty(tb, value, "%s is not set: start the servers with make services", name)
	return value
}

// world is a fresh zone on the real server, and the turns of one process.
type world struct {
	url, key, dns, zone string

	turns *powerdns.Turns
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	id := make([]byte, 6)
	_, err := rand.Read(id)
	require.NoError(tb, err)
	w := &world{
		url: variable(tb, "TENANT_TEST_POWERDNS_API_URL"), key: variable(tb, "TENANT_TEST_POWERDNS_API_KEY"),
		dns: variable(tb, "TENANT_TEST_POWERDNS_DNS_ADDR"), zone: "p" + hex.EncodeToString(id) + ".example",
		turns: powerdns.NewTurns(),
	}
	w.api(tb, http.MethodPost, "", map[string]any{
		"name": w.zone + ".", "kind": "Native", "nameservers": []string{"ns." + w.zone + "."},
	}, nil)
	tb.Cleanup(func() { w.api(tb, http.MethodDelete, "/"+w.zone+".", nil, nil) })
	// Right after its start the server has been seen to refuse a zone that it had just accepted.
	require.Eventually(
		tb,
		func() bool { return len(w.lookup(tb, w.zone, "SOA")) == 1 },
		10*time.Second,
		10*time.Millisecond,
	)
	return w
}

func (w *world) api(tb testing.TB, method, path string, body, into any) {
	tb.Helper()
	text, err := json.Marshal(body)
	require.NoError(tb, err)
	request, err := http.NewRequestWithContext(
		context.Background(), method, w.url+"/servers/localhost/zones"+path, bytes.NewReader(text))
	require.NoError(tb, err)
	request.Header.Set("X-API-Key", w.key)
	response, err := http.DefaultClient.Do(request)
	require.NoError(tb, err)
	answer, err := io.ReadAll(response.Body)
	require.NoError(tb, err)
	require.NoError(tb, response.Body.Close())
	require.Less(tb, response.StatusCode, 300, string(answer))
	if into != nil {
		require.NoError(tb, json.Unmarshal(answer, into))
	}
}

func (w *world) config(ring *tenant.Keyring) powerdns.Config {
	return powerdns.Config{
		URL: w.url, APIKey: tenant.NewSecret(w.key), Zone: w.zone, Keyring: ring, Turns: w.turns,
	}
}

func (w *world) open(tb testing.TB, ring *tenant.Keyring) *powerdns.Backend {
	tb.Helper()
	return open(tb, w.config(ring))
}

func open(tb testing.TB, config powerdns.Config) *powerdns.Backend {
	tb.Helper()
	backend, err := powerdns.New(config)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, backend.Close()) })
	return backend
}

func (w *world) records(tb testing.TB) tenanttest.RecordsWorld {
	tb.Helper()
	return tenanttest.RecordsWorld{
		Open: func(ring *tenant.Keyring) tenant.Records { return w.open(tb, ring) },
		Add: func(tb testing.TB, name, recordType, data string) {
			tb.Helper()
			w.set(
				tb,
				name,
				recordType,
				append(w.contents(tb, name, recordType), content(recordType, data))...)
		},
		Replace: func(tb testing.TB, name, recordType, data string) {
			tb.Helper()
			if data == "" {
				w.set(tb, name, recordType)
				return
			}
			w.set(tb, name, recordType, content(recordType, data))
		},
		Lookup: w.lookup,
		Serial: func(tb testing.TB) uint32 {
			tb.Helper()
			for _, record := range w.ask(tb, w.zone, "SOA") {
				if soa, ok := record.(*dns.SOA); ok {
					return soa.Serial
				}
			}
			return 0
		},
	}
}

// content is a record's data as the API takes it.
func content(recordType, data string) string {
	switch recordType {
	case "TXT":
		return `"` + data + `"`
	case "CNAME":
		return data + "."
	default:
		return data
	}
}

type rrset struct {
	Name       string           `json:"name"`
	Type       string           `json:"type"`
	TTL        int              `json:"ttl"`
	ChangeType string           `json:"changetype,omitempty"`
	Records    []map[string]any `json:"records"`
}

// set gives the record set these contents, as somebody else would; none deletes it.
func (w *world) set(tb testing.TB, name, recordType string, contents ...string) {
	tb.Helper()
	set := rrset{
		Name:       name + ".",
		Type:       recordType,
		TTL:        300,
		ChangeType: "REPLACE",
		Records:    []map[string]any{},
	}
	for _, content := range contents {
		set.Records = append(set.Records, map[string]any{"content": content, "disabled": false})
	}
	w.api(tb, http.MethodPatch, "/"+w.zone+".", map[string]any{"rrsets": []rrset{set}}, nil)
}

func (w *world) contents(tb testing.TB, name, recordType string) []string {
	tb.Helper()
	var zone struct {
		RRsets []rrset `json:"rrsets"`
	}
	w.api(tb, http.MethodGet, "/"+w.zone+".", nil, &zone)
	var found []string
	for _, set := range zone.RRsets {
		if set.Name == name+"." && set.Type == recordType {
			for _, record := range set.Records {
				found = append(found, fmt.Sprint(record["content"]))
			}
		}
	}
	return found
}

func (w *world) ask(tb testing.TB, name, recordType string) []dns.RR {
	tb.Helper()
	m := new(dns.Msg)
	m.SetQuestion(name+".", dns.StringToType[recordType])
	client := dns.Client{Net: "tcp", Timeout: 10 * time.Second}
	answer, _, err := client.ExchangeContext(context.Background(), m, w.dns)
	require.NoError(tb, err)
	return answer.Answer
}

// lookup asks the server as a resolver does, not by its API.
func (w *world) lookup(tb testing.TB, name, recordType string) []string {
	tb.Helper()
	var found []string
	for _, record := range w.ask(tb, name, recordType) {
		header := record.Header()
		if strings.EqualFold(header.Name, name+".") && dns.TypeToString[header.Rrtype] == recordType {
			found = append(found, data(tb, record))
		}
	}
	slices.Sort(found)
	return found
}

// data is what the suite compares.
func data(tb testing.TB, record dns.RR) string {
	tb.Helper()
	switch record := record.(type) {
	case *dns.CNAME:
		return strings.TrimSuffix(record.Target, ".")
	case *dns.A:
		return record.A.String()
	case *dns.AAAA:
		return record.AAAA.String()
	case *dns.TXT:
		// On the wire there are no escapes.
		wire := make([]byte, dns.MaxMsgSize)
		end, err := dns.PackRR(record, wire, 0, nil, false)
		require.NoError(tb, err)
		text, rest := "", wire[end-int(record.Hdr.Rdlength):end]
		for len(rest) > 0 {
			size := int(rest[0])
			text, rest = text+string(rest[1:1+size]), rest[1+size:]
		}
		return text
	default:
		return record.String()
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	variable(t, "TENANT_TEST_POWERDNS_API_URL")
	tenanttest.Records(t, func(tb testing.TB) tenanttest.RecordsWorld {
		tb.Helper()
		return newWorld(tb).records(tb)
	})
}
