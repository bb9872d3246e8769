package rfc2136_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/rfc2136"
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

// world is a fresh zone on a real server.
type world struct {
	server, zone                  string
	keyName, keySecret, algorithm string
}

func newZone(tb testing.TB) string {
	tb.Helper()
	id := make([]byte, 6)
	_, err := rand.Read(id)
	require.NoError(tb, err)
	return "z" + hex.EncodeToString(id) + ".example"
}

func newBIND(tb testing.TB) *world {
	tb.Helper()
	w := &world{
		server: variable(tb, "TENANT_TEST_BIND_ADDR"), zone: newZone(tb),
		keyName:   variable(tb, "TENANT_TEST_BIND_TSIG_NAME"),
		keySecret: variable(tb, "TENANT_TEST_BIND_TSIG_SECRET"),
		algorithm: variable(tb, "TENANT_TEST_BIND_TSIG_ALGORITHM"),
	}
	w.addPrimary(tb, "")
	return w
}

const soa = "@ 60 SOA ns hostmaster 1 3600 600 86400 60\n@ 60 NS ns\nns 60 A 127.0.0.1\n"

func (w *world) addPrimary(tb testing.TB, options string) {
	tb.Helper()
	file := filepath.Join(variable(tb, "TENANT_TEST_BIND_DIR"), w.zone+".zone")
	require.NoError(tb, os.WriteFile(file, []byte(soa), 0o600))
	addZone(tb, "TENANT_TEST_BIND_RNDC_CONF", w.zone, fmt.Sprintf(
		`{ type primary; file "%[1]s.zone"; update-policy { grant %[2]s zonesub ANY; }; allow-transfer { key %[2]s; }; %[3]s };`,
		w.zone,
		w.keyName,
		options,
	))
}

// addZone makes a zone on the server that the variable's rndc.conf commands, until the test has ended.
func addZone(tb testing.TB, conf, zone, options string) {
	tb.Helper()
	rndc(tb, conf, "addzone", zone, options)
	tb.Cleanup(func() { rndc(tb, conf, "delzone", "-clean", zone) })
}

func rndc(tb testing.TB, conf string, args ...string) {
	tb.Helper()
	out, err := exec.CommandContext(
		context.Background(), "rndc", append([]string{"-c", variable(tb, conf)}, args...)...,
	).CombinedOutput()
	require.NoError(tb, err, string(out))
}

func newPowerDNS(tb testing.TB) *world {
	tb.Helper()
	w := &world{
		server: variable(tb, "TENANT_TEST_POWERDNS_DNS_ADDR"), zone: newZone(tb),
		keyName:   variable(tb, "TENANT_TEST_POWERDNS_TSIG_NAME"),
		keySecret: variable(tb, "TENANT_TEST_POWERDNS_TSIG_SECRET"),
		algorithm: variable(tb, "TENANT_TEST_POWERDNS_TSIG_ALGORITHM"),
	}
	api(tb, "POST", "/zones", map[string]any{
		"name": w.zone + ".", "kind": "Native", "nameservers": []string{"ns." + w.zone + "."},
		"master_tsig_key_ids": []string{w.keyName + "."},
	})
	tb.Cleanup(func() { api(tb, "DELETE", "/zones/"+w.zone+".", nil) })
	for kind, value := range map[string]string{
		"TSIG-ALLOW-DNSUPDATE": w.keyName, "SOA-EDIT-DNSUPDATE": "INCREASE",
	} {
		api(
			tb,
			"POST",
			"/zones/"+w.zone+"./metadata",
			map[string]any{"kind": kind, "metadata": []string{value}},
		)
	}
	// Right after its start the server has been seen to refuse a zone that it had just accepted.
	require.Eventually(
		tb,
		func() bool { return len(w.lookup(tb, w.zone, "SOA")) == 1 },
		10*time.Second,
		10*time.Millisecond,
	)
	return w
}

func api(tb testing.TB, method, path string, body any) {
	tb.Helper()
	text, err := json.Marshal(body)
	require.NoError(tb, err)
	request, err := http.NewRequestWithContext(context.Background(), method,
		variable(tb, "TENANT_TEST_POWERDNS_API_URL")+"/servers/localhost"+path, bytes.NewReader(text))
	require.NoError(tb, err)
	request.Header.Set("X-API-Key", variable(tb, "TENANT_TEST_POWERDNS_API_KEY"))
	response, err := http.DefaultClient.Do(request)
	require.NoError(tb, err)
	require.NoError(tb, response.Body.Close())
	require.Less(tb, response.StatusCode, 300, path)
}

func (w *world) config(ring *tenant.Keyring) rfc2136.Config {
	return rfc2136.Config{
		Server: w.server, Zone: w.zone, Keyring: ring,
		TSIGName: w.keyName, TSIGSecret: tenant.NewSecret(w.keySecret), TSIGAlgorithm: w.algorithm,
	}
}

func (w *world) open(tb testing.TB, ring *tenant.Keyring) *rfc2136.Backend {
	tb.Helper()
	return open(tb, w.config(ring))
}

func open(tb testing.TB, config rfc2136.Config) *rfc2136.Backend {
	tb.Helper()
	backend, err := rfc2136.New(config)
	require.NoError(tb, err)
	return backend
}

func (w *world) records(tb testing.TB) tenanttest.RecordsWorld {
	tb.Helper()
	return tenanttest.RecordsWorld{
		Open: func(ring *tenant.Keyring) tenant.Records { return w.open(tb, ring) },
		Add: func(tb testing.TB, name, recordType, data string) {
			tb.Helper()
			w.update(tb, func(m *dns.Msg) { m.Insert([]dns.RR{rr(tb, name, recordType, data)}) })
		},
		Replace: func(tb testing.TB, name, recordType, data string) {
			tb.Helper()
			w.update(tb, func(m *dns.Msg) {
				m.RemoveRRset([]dns.RR{rr(tb, name, recordType, "x.example")})
				if data != "" {
					m.Insert([]dns.RR{rr(tb, name, recordType, data)})
				}
			})
		},
		Lookup: w.lookup,
		Serial: func(tb testing.TB) uint32 {
			tb.Helper()
			for _, record := range w.ask(tb, w.zone, "SOA").Answer {
				if soa, ok := record.(*dns.SOA); ok {
					return soa.Serial
				}
			}
			return 0
		},
	}
}

// rr is a record as the suite gives it.
func rr(tb testing.TB, name, recordType, data string) dns.RR {
	tb.Helper()
	switch recordType {
	case "TXT":
		data = `"` + data + `"`
	case "CNAME":
		data += "."
	}
	record, err := dns.NewRR(fmt.Sprintf("%s. 300 IN %s %s", name, recordType, data))
	require.NoError(tb, err)
	return record
}

// update changes the zone as somebody else would who has the key.
func (w *world) update(tb testing.TB, fill func(*dns.Msg)) {
	tb.Helper()
	m := new(dns.Msg)
	m.SetUpdate(w.zone + ".")
	fill(m)
	require.Equal(tb, dns.RcodeSuccess, w.exchange(tb, m).Rcode)
}

func (w *world) ask(tb testing.TB, name, recordType string) *dns.Msg {
	tb.Helper()
	m := new(dns.Msg)
	m.SetQuestion(name+".", dns.StringToType[recordType])
	return w.exchange(tb, m)
}

func (w *world) exchange(tb testing.TB, m *dns.Msg) *dns.Msg {
	tb.Helper()
	m.SetTsig(w.keyName+".", dns.Fqdn(w.algorithm), 300, time.Now().Unix())
	client := dns.Client{
		Net:        "tcp",
		TsigSecret: map[string]string{w.keyName + ".": w.keySecret},
		Timeout:    10 * time.Second,
	}
	answer, _, err := client.ExchangeContext(context.Background(), m, w.server)
	require.NoError(tb, err)
	return answer
}

func (w *world) lookup(tb testing.TB, name, recordType string) []string {
	tb.Helper()
	var found []string
	for _, record := range w.ask(tb, name, recordType).Answer {
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
