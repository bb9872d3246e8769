package dnsproof_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/dnsproof"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Addresses that zones give their servers. Only loopback is real: dialling leads them to where the servers listen.
const (
	parentAddress = "192.0.2.1"
	childAddress  = "192.0.2.2"
	silentAddress = "192.0.2.3"
	thirdAddress  = "192.0.2.4"
)

// variable reads what make services prints.
func variable(tb testing.TB, name string) string {
	tb.Helper()
	value := os.Getenv(name)
	require.NotEmpty(tb, value, "%s is not set: start the servers with make services", name)
	return value
}

// world is a parent zone on one BIND, which delegates to zones on another.
type world struct {
	parent string // name of the parent zone

	mu      sync.Mutex
	routes  map[string]string // address of a zone's server to host:port
	dialled []string          // "udp 192.0.2.1:53", in order
	noUDP   bool
}

func newWorld(tb testing.TB, delegations ...string) *world {
	tb.Helper()
	id := make([]byte, 6)
	_, err := rand.Read(id)
	require.NoError(tb, err)
	w := &world{parent: "z" + hex.EncodeToString(id) + ".example", routes: map[string]string{
		parentAddress: variable(
			tb,
			"TENANT_TEST_BIND_ADDR",
		),
		childAddress: variable(tb, "TENANT_TEST_BIND_OTHER_ADDR"),
	}}
	w.addZone(
		tb,
		"TENANT_TEST_BIND",
		w.parent,
		strings.ReplaceAll(strings.Join(delegations, "\n"), "PARENT", w.parent+"."),
	)
	return w
}

// delegate is the parent's side of a zone on the other server.
const delegate = "acme 60 NS ns.acme\nns.acme 60 A " + childAddress

// addZone makes a zone on the server whose variables begin with prefix.
func (w *world) addZone(tb testing.TB, prefix, zone, records string) {
	tb.Helper()
	file := filepath.Join(variable(tb, prefix+"_DIR"), zone+".proof")
	text := "@ 60 SOA ns hostmaster 1 3600 600 86400 3600\n@ 60 NS ns\nns 60 A 127.0.0.1\n" + records + "\n"
	require.NoError(tb, os.WriteFile(file, []byte(text), 0o600))
	rndc(
		tb,
		prefix,
		"addzone",
		zone,
		fmt.Sprintf(`{ type primary; file "%s.proof"; check-names ignore;
		update-policy { grant %s zonesub ANY; }; };`,
			zone, variable(tb, "TENANT_TEST_BIND_TSIG_NAME")),
	)
	tb.Cleanup(func() { rndc(tb, prefix, "delzone", "-clean", zone) })
}

func rndc(tb testing.TB, prefix string, args ...string) {
	tb.Helper()
	conf := variable(tb, prefix+"_RNDC_CONF")
	out, err := exec.CommandContext(context.Background(), "rndc", append([]string{"-c", conf}, args...)...).
		CombinedOutput()
	require.NoError(tb, err, string(out))
}

// customer makes the zone acme below the parent, on the other server, and returns its name.
func (w *world) customer(tb testing.TB, records ...string) string {
	tb.Helper()
	zone := "acme." + w.parent
	w.addZone(tb, "TENANT_TEST_BIND_OTHER", zone, strings.Join(records, "\n"))
	return zone
}

func (w *world) update(tb testing.TB, zone string, fill func(*dns.Msg)) {
	tb.Helper()
	key := variable(tb, "TENANT_TEST_BIND_TSIG_NAME") + "."
	m := new(dns.Msg)
	m.SetUpdate(zone + ".")
	fill(m)
	m.SetTsig(key, dns.HmacSHA256, 300, time.Now().Unix())
	client := dns.Client{
		Net:        "tcp",
		TsigSecret: map[string]string{key: variable(tb, "TENANT_TEST_BIND_TSIG_SECRET")},
	}
	answer, _, err := client.ExchangeContext(
		context.Background(),
		m,
		variable(tb, "TENANT_TEST_BIND_OTHER_ADDR"),
	)
	require.NoError(tb, err)
	require.Equal(tb, dns.RcodeSuccess, answer.Rcode)
}

func (w *world) publish(tb testing.TB, zone, record string) {
	tb.Helper()
	rr, err := dns.NewRR(record)
	require.NoError(tb, err)
	w.update(tb, zone, func(m *dns.Msg) { m.Insert([]dns.RR{rr}) })
}

func (w *world) withdraw(tb testing.TB, zone, name string) {
	tb.Helper()
	w.update(tb, zone, func(m *dns.Msg) {
		m.RemoveName(
			[]dns.RR{
				&dns.ANY{Hdr: dns.RR_Header{Name: name + ".", Rrtype: dns.TypeANY, Class: dns.ClassANY}},
			},
		)
	})
}

// dial leads to the real server behind an address; who has none there is silent or away.
func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.dialled = append(w.dialled, network+" "+address)
	to, known := w.routes[host]
	blocked := w.noUDP && network == "udp"
	w.mu.Unlock()
	if !known && host != "127.0.0.1" || blocked {
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.ErrDeadlineExceeded}
	}
	if !known {
		to = address
	}
	return (&net.Dialer{}).DialContext(ctx, network, to)
}

func (w *world) dials() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dialled
}

func (w *world) open(resolvers ...string) *dnsproof.DNS {
	return dnsproof.New(dnsproof.Config{Resolvers: resolvers, Roots: []string{parentAddress}, Dial: w.dial})
}

// serve answers by handle on a loopback port of its own, over UDP and TCP, and returns host:port.
func serve(tb testing.TB, handle func(*dns.Msg) *dns.Msg) string {
	tb.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	packets, err := (&net.ListenConfig{}).ListenPacket(context.Background(), "udp", listener.Addr().String())
	require.NoError(tb, err)
	handler := dns.HandlerFunc(func(to dns.ResponseWriter, question *dns.Msg) {
		if answer := handle(question); answer != nil {
			_ = to.WriteMsg(answer)
		}
	})
	var group sync.WaitGroup
	tb.Cleanup(group.Wait) // the last of these: after all servers are shut down
	for _, server := range []*dns.Server{
		{Listener: listener, Net: "tcp", Handler: handler},
		{PacketConn: packets, Net: "udp", Handler: handler},
	} {
		started := make(chan struct{})
		server.NotifyStartedFunc = func() { close(started) }
		group.Go(func() { _ = server.ActivateAndServe() })
		<-started
		tb.Cleanup(func() { _ = server.Shutdown() })
	}
	return listener.Addr().String()
}

// reply answers with records in presentation form.
func reply(tb testing.TB, question *dns.Msg, authoritative bool, records ...string) *dns.Msg {
	tb.Helper()
	answer := new(dns.Msg)
	answer.SetReply(question)
	answer.Authoritative = authoritative
	for _, text := range records {
		rr, err := dns.NewRR(text)
		if err != nil {
			tb.Error(err)
			return answer
		}
		answer.Answer = append(answer.Answer, rr)
	}
	return answer
}

// refer answers that other servers have the zone; what is in glue is an A record.
func refer(tb testing.TB, question *dns.Msg, zone string, glue map[string]string) *dns.Msg {
	tb.Helper()
	answer := reply(tb, question, false)
	for server, address := range glue {
		ns, err := dns.NewRR(zone + ". 60 IN NS " + server + ".")
		if err != nil {
			tb.Error(err)
		}
		answer.Ns = append(answer.Ns, ns)
		if address == "" {
			continue
		}
		a, err := dns.NewRR(server + ". 60 IN A " + address)
		if err != nil {
			tb.Error(err)
		}
		answer.Extra = append(answer.Extra, a)
	}
	return answer
}

func claimOf(hostname string) tenant.Claim {
	return tenant.Claim{
		Number:   7,
		Tenant:   "acme",
		Hostname: hostname,
		State:    tenant.ClaimPending,
		Target:   "c7-0123.claims.app.example",
	}
}

func requireSeen(tb testing.TB, proofs tenant.Proofs, hostname string, want bool) {
	tb.Helper()
	seen, err := proofs.Look(tb.Context(), claimOf(hostname))
	require.NoError(tb, err)
	require.Equal(tb, want, seen)
}
