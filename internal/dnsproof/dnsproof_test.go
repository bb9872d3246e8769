package dnsproof_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/dnsproof"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

// renamed gives the suite a zone acme.example of its own on a server that other tests use, too.
type renamed struct {
	tenant.Proofs

	to string
}

func (r renamed) Look(ctx context.Context, claim tenant.Claim) (bool, error) {
	claim.Hostname = r.name(claim.Hostname)
	return r.Proofs.Look(ctx, claim)
}

func (r renamed) name(name string) string { return strings.TrimSuffix(name, "acme.example") + r.to }

func TestProofs(t *testing.T) {
	t.Parallel()
	tenanttest.Proofs(t, func(tb testing.TB) tenanttest.ProofsWorld {
		tb.Helper()
		w := newWorld(tb, delegate)
		zone := w.customer(tb)
		names := renamed{w.open(), zone}
		return tenanttest.ProofsWorld{
			Open: func() tenant.Proofs { return names },
			Publish: func(tb testing.TB, name, recordType, data string) {
				tb.Helper()
				w.publish(tb, zone, names.name(name)+". 60 IN "+recordType+" "+data)
			},
			Withdraw: func(tb testing.TB, name string) {
				tb.Helper()
				w.withdraw(tb, zone, names.name(name))
			},
		}
	})
}

// TestWays: the proof stands somewhere else, and is found by every way that leads there.
func TestWays(t *testing.T) {
	t.Parallel()
	const target = "c7-0123.claims.app.example."
	cases := map[string]struct{ parent, customer string }{
		"a CNAME within the zone": {delegate, "_tenant-challenge.www CNAME proof\nproof CNAME " + target},
		"a text behind a CNAME":   {delegate, "_tenant-challenge.www CNAME proof\nproof TXT " + target},
		"a CNAME to another zone": {
			delegate + "\nelsewhere 60 TXT \"x " + target + "\"",
			"_tenant-challenge.www CNAME elsewhere.PARENT",
		},
		"a wildcard": {delegate, "*.www CNAME " + target},
		"a DNAME": {
			delegate,
			"www DNAME p\n_tenant-challenge.p CNAME " + target,
		},
		"a delegated label": {
			delegate + "\nns.far A " + thirdAddress,
			"_tenant-challenge.www NS ns.far.PARENT",
		},
		"a server by name": {
			"acme NS ns.far\nns.far A " + childAddress,
			"_tenant-challenge.www CNAME " + target,
		},
		"a server of CNAMEs": {
			"acme NS ns.far\nns.far CNAME real.far\nreal.far A " + childAddress,
			"_tenant-challenge.www CNAME " + target,
		},
		"a big answer": {
			delegate,
			big("_tenant-challenge.www") + "_tenant-challenge.www TXT " + target,
		},
		"one server away": {
			delegate + "\nacme NS ns9.acme\nns9.acme A " + silentAddress,
			"_tenant-challenge.www TXT " + target,
		},
		"one server not known": {delegate + "\nacme NS nowhere.acme", "_tenant-challenge.www TXT " + target},
	}
	for title, c := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.parent)
			w.customer(t, strings.ReplaceAll(c.customer, "PARENT", w.parent+"."))
			w.routes[thirdAddress] = serve(t, func(q *dns.Msg) *dns.Msg {
				return reply(t, q, true, q.Question[0].Name+" 60 IN CNAME "+target)
			})
			requireSeen(t, w.open(), "www.acme."+w.parent, true)
		})
	}
}

func big(name string) string {
	var text strings.Builder
	for n := range 20 {
		text.WriteString(name + " TXT " + strings.Repeat(string(rune('a'+n)), 200) + "\n")
	}
	return text.String()
}

// TestOnlyTCP: a network that lets no UDP through.
func TestOnlyTCP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, delegate)
	w.customer(t, "_tenant-challenge.www TXT c7-0123.claims.app.example")
	w.noUDP = true
	requireSeen(t, w.open(), "www.acme."+w.parent, true)
	for _, dial := range w.dials() {
		require.Contains(t, dial, ":53")
	}
}

// TestNotFound: whatever is missing, it is no error as long as somebody says so.
func TestNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, delegate)
	zone := w.customer(
		t,
		"_tenant-challenge.dangling CNAME nothing.PARENT",
		"_tenant-challenge.loop CNAME a",
		"a CNAME b",
		"b CNAME a",
		"_tenant-challenge.lost CNAME x.unknown.invalid.",
		"_tenant-challenge.self CNAME _tenant-challenge.self",
		"_tenant-challenge.mail MX 10 mail.invalid.",
	)
	for _, host := range []string{"dangling", "lost", "mail", "absent", "deep.below.absent"} {
		requireSeen(t, w.open(), host+"."+zone, false)
	}
	requireSeen(t, w.open(), "www.unregistered."+w.parent, false)
	for _, host := range []string{"loop", "self"} { // BIND answers these with SERVFAIL
		_, err := w.open().Look(t.Context(), claimOf(host+"."+zone))
		requireUnavailable(t, err, host+"."+zone)
	}
}

// TestLagging: only one of the zone's servers has the proof yet, whichever of them is asked first.
func TestLagging(t *testing.T) {
	t.Parallel()
	for _, fresh := range []string{childAddress, thirdAddress} {
		w := newWorld(t, delegate, "acme NS ns4.acme", "ns4.acme A "+thirdAddress)
		for _, address := range []string{childAddress, thirdAddress} {
			w.routes[address] = serve(t, func(q *dns.Msg) *dns.Msg {
				if address != fresh {
					return reply(t, q, true)
				}
				return reply(t, q, true, q.Question[0].Name+" 60 IN TXT c7-0123.claims.app.example")
			})
		}
		requireSeen(t, w.open(), "www.acme."+w.parent, true)
	}
}

// TestUnavailable: nobody says anything that can be used.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	answers := map[string]func(*dns.Msg) *dns.Msg{
		"silence": func(*dns.Msg) *dns.Msg { return nil },
		"refused": func(q *dns.Msg) *dns.Msg { return new(dns.Msg).SetRcode(q, dns.RcodeRefused) },
		"broken":  func(q *dns.Msg) *dns.Msg { return new(dns.Msg).SetRcode(q, dns.RcodeServerFailure) },
		"lame":    func(q *dns.Msg) *dns.Msg { return reply(t, q, false) },
		"a cache": func(q *dns.Msg) *dns.Msg {
			return reply(t, q, false, q.Question[0].Name+" 60 IN TXT c7-0123.claims.app.example")
		},
		"upwards": func(q *dns.Msg) *dns.Msg {
			return refer(t, q, "example", map[string]string{"ns.example": parentAddress})
		},
		"in circles": func(q *dns.Msg) *dns.Msg {
			zone := strings.Join(dns.SplitDomainName(q.Question[0].Name)[2:], ".")
			return refer(t, q, zone, map[string]string{"ns." + zone: childAddress})
		},
		"another question": func(q *dns.Msg) *dns.Msg {
			answer := reply(t, q, true, q.Question[0].Name+" 60 IN TXT c7-0123.claims.app.example")
			answer.Question[0].Name = "x.example."
			return answer
		},
	}
	for title, answer := range answers {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, delegate)
			w.routes[childAddress] = serve(t, answer)
			proofs := dnsproof.New(dnsproof.Config{
				Roots: []string{parentAddress}, Dial: w.dial, Try: 50 * time.Millisecond,
			})
			hostname := "www.acme." + w.parent
			seen, err := proofs.Look(t.Context(), claimOf(hostname))
			requireUnavailable(t, err, hostname)
			require.False(t, seen)
			_, err = proofs.LookTraffic(t.Context(), hostname)
			requireUnavailable(t, err, hostname)
		})
	}
}

func requireUnavailable(tb testing.TB, err error, hostname string) {
	tb.Helper()
	require.True(tb, tenant.HasCode(err, tenant.CodeUnavailable), "%v", err)
	require.ErrorContains(tb, err, hostname)
}

// TestHostileZone: a zone whose servers' names need other servers, which need others, is given up after some questions.
func TestHostileZone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var asked atomic.Int32
	w.routes[parentAddress] = serve(t, func(q *dns.Msg) *dns.Msg {
		n := asked.Add(1)
		glue := map[string]string{}
		for i := range 50 {
			glue[strings.Repeat("x", int(n%10)+1)+"-"+strings.Repeat("y", i+1)+".example"] = ""
		}
		return refer(t, q, strings.TrimSuffix(q.Question[0].Name, "."), glue)
	})
	_, err := w.open().Look(t.Context(), claimOf("www.acme.example"))
	requireUnavailable(t, err, "www.acme.example")
	require.LessOrEqual(t, asked.Load(), int32(400), "each question is put over UDP and perhaps TCP")
}

// TestLimit: the whole look has a limit, and the caller's end is told from it.
func TestLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, delegate)
	w.routes[childAddress] = serve(t, func(*dns.Msg) *dns.Msg { return nil })
	proofs := dnsproof.New(
		dnsproof.Config{Roots: []string{parentAddress}, Dial: w.dial, Timeout: 100 * time.Millisecond},
	)
	_, err := proofs.Look(t.Context(), claimOf("www.acme."+w.parent))
	requireUnavailable(t, err, "100ms")

	ctx, cancel := context.WithCancel(t.Context())
	w.routes[childAddress] = serve(t, func(*dns.Msg) *dns.Msg {
		cancel()
		return nil
	})
	_, err = w.open().Look(ctx, claimOf("www.acme."+w.parent))
	require.True(t, tenant.HasCode(err, tenant.CodeCanceled), "%v", err)
	require.ErrorIs(t, err, context.Canceled)
	_, err = w.open().LookTraffic(ctx, "www.acme."+w.parent)
	require.True(t, tenant.HasCode(err, tenant.CodeCanceled), "%v", err)
}

// TestNamesThatAreNone are refused before anybody is asked.
func TestNamesThatAreNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"a..b", strings.Repeat("a", 64) + ".example", strings.Repeat("a.", 130) + "example"} {
		_, err := w.open().Look(t.Context(), claimOf(name))
		require.True(t, tenant.HasCode(err, tenant.CodeInvalidConfig), "%v", err)
		_, err = w.open().LookTraffic(t.Context(), name)
		require.True(t, tenant.HasCode(err, tenant.CodeInvalidConfig), "%v", err)
	}
	require.Empty(t, w.dials())
}

// TestPublicRoot: from the public root the way goes over addresses that strangers chose. None of them may lie in our own network.
func TestPublicRoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "acme NS ns.acme", "ns.acme A 127.0.0.1", "acme NS ns2.acme", "ns2.acme A 10.0.0.1",
		"acme NS ns3.acme", "ns3.acme A 169.254.169.254", "ns3.acme AAAA ::1", "ns3.acme AAAA fd00::1",
		"ns3.acme AAAA ::ffff:127.0.0.1")
	proofs := dnsproof.New(
		dnsproof.Config{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.dialled = append(w.dialled, host)
			return (&net.Dialer{}).DialContext(ctx, network, w.routes[parentAddress])
		}},
	)
	_, err := proofs.Look(t.Context(), claimOf("www.acme."+w.parent))
	requireUnavailable(t, err, "www.acme."+w.parent)
	require.NotEmpty(t, w.dials())
	for _, host := range w.dials() {
		ip := net.ParseIP(host)
		require.False(t, ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast(), host)
	}
}
