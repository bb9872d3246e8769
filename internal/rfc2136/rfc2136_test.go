package rfc2136_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/rfc2136"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

func (w *world) cname(id tenant.ID) tenant.Record {
	return tenant.Record{
		Name: tenant.DefaultHostname(
			id,
			w.zone,
		),
		Type:   "CNAME",
		Values: []string{"edge." + w.zone},
		TTL:    5 * time.Minute,
	}
}

func requireFailure(tb testing.TB, err error, code tenant.Code, class tenant.Class, words ...string) {
	tb.Helper()
	require.Error(tb, err)
	require.True(tb, tenant.HasCode(err, code), "%v", err)
	require.Equal(tb, class, tenant.FailureOf(err).Class)
	for _, word := range words {
		require.ErrorContains(tb, err, word)
	}
}

// TestRefused: whoever may not, or is not known, is told so by a code, on both servers.
func TestRefused(t *testing.T) {
	t.Parallel()
	other := tenant.NewSecret("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
	cases := map[string]struct {
		change func(*rfc2136.Config)
		bind   string // what the failure says
	}{
		"wrong secret":    {func(c *rfc2136.Config) { c.TSIGSecret = other }, "BADSIG"},
		"unknown key":     {func(c *rfc2136.Config) { c.TSIGName = "stranger" }, "BADKEY"},
		"other algorithm": {func(c *rfc2136.Config) { c.TSIGAlgorithm = "hmac-sha512" }, "BADKEY"},
		"clock": {func(c *rfc2136.Config) {
			c.Now = func() time.Time { return time.Now().Add(-time.Hour) }
		}, "clocks differ"},
		"another zone": {func(c *rfc2136.Config) { c.Zone = "elsewhere.example" }, "REFUSED"},
	}
	for title, c := range cases {
		for server, fresh := range map[string]func(testing.TB) *world{"BIND": newBIND, "PowerDNS": newPowerDNS} {
			t.Run(title+" "+server, func(t *testing.T) {
				t.Parallel()
				w := fresh(t)
				config := w.config(tenanttest.Keyring(t))
				c.change(&config)
				record := w.cname("acme")
				record.Name = "acme." + config.Zone
				err := open(t, config).Ensure(t.Context(), "acme", record, tenant.NoJournal{})
				requireFailure(t, err, tenant.CodeInvalidConfig, tenant.Terminal, w.server)
				if server == "BIND" {
					require.ErrorContains(t, err, c.bind)
				}
				require.NotContains(t, err.Error(), config.TSIGSecret.Reveal())
				require.Empty(t, w.lookup(t, w.cname("acme").Name, "CNAME"))
				_, err = open(t, config).ListRecords(t.Context())
				requireFailure(t, err, tenant.CodeInvalidConfig, tenant.Terminal)
			})
		}
	}
}

// TestPolicy: the key is known and may do nothing.
func TestPolicy(t *testing.T) {
	t.Parallel()
	w := newBIND(t)
	config := w.config(tenanttest.Keyring(t))
	config.TSIGName = variable(t, "TENANT_TEST_BIND_NOBODY_TSIG_NAME")
	config.TSIGSecret = tenant.NewSecret(variable(t, "TENANT_TEST_BIND_NOBODY_TSIG_SECRET"))
	journal := &tenanttest.Journal{}
	err := open(t, config).Ensure(t.Context(), "acme", w.cname("acme"), journal)
	requireFailure(t, err, tenant.CodeInvalidConfig, tenant.Terminal, "REFUSED", "policy", "nobody")
	require.Empty(t, journal.Made())
	_, err = open(t, config).ListRecords(t.Context())
	requireFailure(t, err, tenant.CodeInvalidConfig, tenant.Terminal, "REFUSED")
}

func TestAway(t *testing.T) {
	t.Parallel()
	w := newBIND(t)
	w.server = closedPort(t)
	backend := w.open(t, tenanttest.Keyring(t))
	_, err := backend.Read(t.Context(), "acme", w.cname("acme").Name, "CNAME")
	requireFailure(t, err, tenant.CodeUnavailable, tenant.Retryable, w.server)
	err = backend.Delete(t.Context(), "acme", w.cname("acme").Name, "CNAME", tenant.NoJournal{})
	requireFailure(t, err, tenant.CodeUnavailable, tenant.Retryable, w.server)
}

func TestInvalidConfig(t *testing.T) {
	t.Parallel()
	good := rfc2136.Config{
		Server: "ns.example", Zone: "app.example", TSIGName: "k", TSIGSecret: tenant.NewSecret("c2VjcmV0"),
	}
	for title, change := range map[string]func(*rfc2136.Config){
		"no server":   func(c *rfc2136.Config) { c.Server = "" },
		"no zone":     func(c *rfc2136.Config) { c.Zone = "" },
		"odd zone":    func(c *rfc2136.Config) { c.Zone = "a b" },
		"no key":      func(c *rfc2136.Config) { c.TSIGName = "" },
		"no secret":   func(c *rfc2136.Config) { c.TSIGSecret = tenant.Secret{} },
		"odd secret":  func(c *rfc2136.Config) { c.TSIGSecret = tenant.NewSecret("not-base64!") },
		"weak digest": func(c *rfc2136.Config) { c.TSIGAlgorithm = "hmac-md5" },
	} {
		config := good
		change(&config)
		_, err := rfc2136.New(config)
		requireFailure(t, err, tenant.CodeInvalidConfig, tenant.Terminal)
		require.NotContains(t, err.Error(), "not-base64!", title)
	}
	backend, err := rfc2136.New(good)
	require.NoError(t, err)
	require.Equal(t, "app.example", backend.Zone())
}

// TestCut: the answer to an update is lost, or the update is; either way it happens once and the call succeeds.
func TestCut(t *testing.T) {
	t.Parallel()
	for title, how := range map[string]reply{"answer": cutAfter, "update": cutFirst} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := newBIND(t)
			record, journal := w.cname("acme"), &tenanttest.Journal{}
			f := putFront(t, w, once(how))
			require.NoError(t, w.open(t, tenanttest.Keyring(t)).Ensure(t.Context(), "acme", record, journal))
			require.Equal(t, 1, f.accepted())
			require.Contains(t, journal.Made(), record.Object("acme"))
			journal.RequireSound(t)

			f.mu.Lock()
			f.meddle = once(how)
			f.mu.Unlock()
			err := w.open(t, tenanttest.Keyring(t)).Delete(t.Context(), "acme", record.Name, "CNAME", journal)
			require.NoError(t, err)
			require.Equal(t, 2, f.accepted())
			require.Empty(t, w.lookup(t, record.Name, "CNAME"))
		})
	}
}

// TestCutForever: a connection that always ends is an outage, not a loop.
func TestCutForever(t *testing.T) {
	t.Parallel()
	w := newBIND(t)
	record := w.cname("acme")
	putFront(t, w, func(*dns.Msg, *dns.Msg) reply { return cutFirst })
	err := w.open(t, tenanttest.Keyring(t)).Ensure(t.Context(), "acme", record, tenant.NoJournal{})
	requireFailure(t, err, tenant.CodeUnavailable, tenant.Retryable)
}

// TestAnswerNotSigned: what an answer says does not count unless the key's holder says it.
func TestAnswerNotSigned(t *testing.T) {
	t.Parallel()
	for title, how := range map[string]reply{"unsigned": unsigned, "forged": forged} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := newBIND(t)
			record := w.cname("acme")
			f := putFront(t, w, once(how))
			journal := &tenanttest.Journal{}
			err := w.open(t, tenanttest.Keyring(t)).Ensure(t.Context(), "acme", record, journal)
			requireFailure(t, err, tenant.CodeInvalidConfig, tenant.Terminal, "sign")
			require.Empty(t, journal.Made())
			require.Equal(t, 1, f.accepted(), "it happened all the same")

			require.NoError(t, w.open(t, tenanttest.Keyring(t)).Ensure(t.Context(), "acme", record, journal))
			require.Equal(t, 1, f.accepted(), "the next run adopts it")
			journal.RequireSound(t)

			f.mu.Lock()
			f.meddle = func(*dns.Msg, *dns.Msg) reply { return how }
			f.mu.Unlock()
			_, err = w.open(t, tenanttest.Keyring(t)).Read(t.Context(), "acme", record.Name, "CNAME")
			requireFailure(t, err, tenant.CodeInvalidConfig, tenant.Terminal, "sign")
		})
	}
}

// TestCodes: each RCODE of an answer to an update has its class.
func TestCodes(t *testing.T) {
	t.Parallel()
	cases := map[int]struct {
		code  tenant.Code
		class tenant.Class
	}{
		dns.RcodeServerFailure:  {tenant.CodeUnavailable, tenant.Retryable},
		dns.RcodeRefused:        {tenant.CodeInvalidConfig, tenant.Terminal},
		dns.RcodeNotAuth:        {tenant.CodeInvalidConfig, tenant.Terminal},
		dns.RcodeNotZone:        {tenant.CodeInvalidConfig, tenant.Terminal},
		dns.RcodeNotImplemented: {tenant.CodeInvalidConfig, tenant.Terminal},
		dns.RcodeFormatError:    {tenant.CodeInternal, tenant.Terminal},
		dns.RcodeYXDomain:       {tenant.CodeConflict, tenant.Retryable},
		dns.RcodeYXRrset:        {tenant.CodeConflict, tenant.Retryable},
		dns.RcodeNXRrset:        {tenant.CodeConflict, tenant.Retryable},
		dns.RcodeNameError:      {tenant.CodeConflict, tenant.Retryable},
	}
	for rcode, want := range cases {
		t.Run(dns.RcodeToString[rcode], func(t *testing.T) {
			t.Parallel()
			w := newBIND(t)
			w.keepEmpty(t)
			putFront(t, w, func(question, answer *dns.Msg) reply {
				if answer == nil || !isChange(question) {
					return signed
				}
				answer.Rcode = rcode
				return signed
			})
			config := w.config(tenanttest.Keyring(t))
			config.Settle = 20 * time.Millisecond
			err := open(t, config).Ensure(t.Context(), "acme", w.cname("acme"), tenant.NoJournal{})
			requireFailure(t, err, want.code, want.class)
		})
	}
}

// keepEmpty has the front's changes made to nobody's zone: the world behind it refuses them.
func (w *world) keepEmpty(tb testing.TB) {
	tb.Helper()
	w.keyName = variable(tb, "TENANT_TEST_BIND_NOBODY_TSIG_NAME")
	w.keySecret = variable(tb, "TENANT_TEST_BIND_NOBODY_TSIG_SECRET")
}

// TestAccepted: the server says yes and does nothing, as some do to a CNAME's neighbour.
func TestAccepted(t *testing.T) {
	t.Parallel()
	w := newBIND(t)
	w.keepEmpty(t)
	putFront(t, w, func(question, answer *dns.Msg) reply {
		if answer != nil && isChange(question) {
			answer.Rcode = dns.RcodeSuccess
		}
		return signed
	})
	config := w.config(tenanttest.Keyring(t))
	config.Settle = 20 * time.Millisecond
	journal := &tenanttest.Journal{}
	err := open(t, config).Ensure(t.Context(), "acme", w.cname("acme"), journal)
	requireFailure(t, err, tenant.CodeUnavailable, tenant.Retryable, "does not show it")
	require.Empty(t, journal.Made())
}

// TestSecondary: the server is a real secondary that passes updates on and gets the zone back later.
func TestSecondary(t *testing.T) {
	t.Parallel()
	w := newBIND(t)
	primary, second := *w, variable(t, "TENANT_TEST_BIND_OTHER_ADDR")
	port := func(address string) string { return address[len("127.0.0.1:"):] }
	addZone(t, "TENANT_TEST_BIND_OTHER_RNDC_CONF", w.zone, fmt.Sprintf(
		`{ type secondary; file "%[1]s.zone"; primaries { 127.0.0.1 port %[2]s key %[3]s; }; allow-update-forwarding { key %[3]s; };
		allow-transfer { key %[3]s; }; min-refresh-time 1; max-refresh-time 1; };`,
		w.zone,
		port(w.server),
		w.keyName,
	))
	w.server = second
	require.Eventually(
		t,
		func() bool { return len(w.lookup(t, "ns."+w.zone, "A")) == 1 },
		20*time.Second,
		20*time.Millisecond,
	)

	backend, record := w.open(t, tenanttest.Keyring(t)), w.cname("acme")
	require.NoError(t, backend.Ensure(t.Context(), "acme", record, tenant.NoJournal{}))
	require.Equal(t, record.Values, primary.lookup(t, record.Name, "CNAME"))
	require.Equal(t, record.Values, w.lookup(t, record.Name, "CNAME"), "it was not waited for")
	require.NoError(t, backend.Delete(t.Context(), "acme", record.Name, "CNAME", tenant.NoJournal{}))
	require.Empty(t, w.lookup(t, record.Name, "CNAME"))
}

// TestDelegated: below a name that is delegated or redirected nobody would ever see our record.
func TestDelegated(t *testing.T) {
	t.Parallel()
	w := newBIND(t)
	w.update(t, func(m *dns.Msg) {
		m.Insert([]dns.RR{
			rr(t, "claims."+w.zone, "NS", "ns.other.example."), rr(t, "d."+w.zone, "DNAME", "other.example."),
		})
	})
	for _, name := range []string{"c1.claims." + w.zone, "claims." + w.zone, "x.y.d." + w.zone} {
		record := tenant.Record{Name: name, Type: "TXT", Values: []string{"x"}, TTL: time.Minute}
		err := w.open(t, tenanttest.Keyring(t)).Ensure(t.Context(), "acme", record, tenant.NoJournal{})
		requireFailure(t, err, tenant.CodeForeign, tenant.Terminal, name)
	}
}

// TestOwnConflict: a CNAME stands alone, also among a tenant's own records.
func TestOwnConflict(t *testing.T) {
	t.Parallel()
	w := newBIND(t)
	backend := w.open(t, tenanttest.Keyring(t))
	require.NoError(t, backend.Ensure(t.Context(), "acme", w.cname("acme"), tenant.NoJournal{}))
	address := tenant.Record{Name: w.cname("acme").Name, Type: "A", Values: []string{"192.0.2.1"}}
	err := backend.Ensure(t.Context(), "acme", address, tenant.NoJournal{})
	requireFailure(t, err, tenant.CodeConflict, tenant.Terminal)
}

// TestMinimalAny: a server that answers ANY as RFC 8482 lets it is asked type by type.
func TestMinimalAny(t *testing.T) {
	t.Parallel()
	w := newBIND(t)
	putFront(t, w, func(question, answer *dns.Msg) reply {
		if answer != nil && question.Opcode == dns.OpcodeQuery && question.Question[0].Qtype == dns.TypeANY &&
			len(answer.Answer) > 0 {
			name := question.Question[0].Name
			answer.Answer = []dns.RR{&dns.HINFO{
				Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeHINFO, Class: dns.ClassINET}, Cpu: "RFC8482",
			}}
		}
		return signed
	})
	backend, record := w.open(t, tenanttest.Keyring(t)), w.cname("acme")
	require.NoError(t, backend.Ensure(t.Context(), "acme", record, tenant.NoJournal{}))
	seen, err := backend.Read(t.Context(), "acme", record.Name, "CNAME")
	require.NoError(t, err)
	require.Equal(t, record, seen)
	w.update(t, func(m *dns.Msg) { m.Insert([]dns.RR{rr(t, "beta."+w.zone, "MX", "10 mail.example.")}) })
	err = backend.Ensure(t.Context(), "beta", w.cname("beta"), tenant.NoJournal{})
	requireFailure(t, err, tenant.CodeForeign, tenant.Terminal, "MX")
	require.NoError(t, backend.Delete(t.Context(), "acme", record.Name, "CNAME", tenant.NoJournal{}))
}

// TestSigned: what signing adds to a name is nobody's.
func TestSigned(t *testing.T) {
	t.Parallel()
	w := newBIND(t)
	w.zone = newZone(t)
	w.addPrimary(t, "dnssec-policy default;")
	signedYet := func() bool {
		return len(w.ask(t, w.zone, "DNSKEY").Answer) > 0 && len(w.lookup(t, w.zone, "NSEC")) == 1
	}
	require.Eventually(t, signedYet, 20*time.Second, 20*time.Millisecond)
	backend, record := w.open(t, tenanttest.Keyring(t)), w.cname("acme")
	require.NoError(t, backend.Ensure(t.Context(), "acme", record, tenant.NoJournal{}))
	record.TTL = time.Hour
	require.NoError(t, backend.Ensure(t.Context(), "acme", record, tenant.NoJournal{}))
	seen, err := backend.Read(t.Context(), "acme", record.Name, "CNAME")
	require.NoError(t, err)
	require.Equal(t, record, seen)
	found, err := backend.ListRecords(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[tenant.ID][]tenant.Record{"acme": {record}}, found)
	require.NoError(t, backend.Delete(t.Context(), "acme", record.Name, "CNAME", tenant.NoJournal{}))
	require.Empty(t, w.lookup(t, record.Name, "CNAME"))
}

// TestLargeZone: a transfer of many messages, each with its signature.
func TestLargeZone(t *testing.T) {
	t.Parallel()
	for server, fresh := range map[string]func(testing.TB) *world{"BIND": newBIND, "PowerDNS": newPowerDNS} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			w := fresh(t)
			for batch := range 10 {
				w.update(t, func(m *dns.Msg) {
					for n := range 200 {
						m.Insert(
							[]dns.RR{
								rr(
									t,
									fmt.Sprintf("n%d-%d.%s", batch, n, w.zone),
									"TXT",
									fmt.Sprintf("%0120d", n),
								),
							},
						)
					}
				})
			}
			backend := w.open(t, tenanttest.Keyring(t))
			require.NoError(t, backend.Ensure(t.Context(), "acme", w.cname("acme"), tenant.NoJournal{}))
			found, err := backend.ListRecords(t.Context())
			require.NoError(t, err)
			require.Equal(t, map[tenant.ID][]tenant.Record{"acme": {w.cname("acme")}}, found)
		})
	}
}
