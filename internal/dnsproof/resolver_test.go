package dnsproof_test

import (
	"strings"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// resolver knows the parent zone's server and has long remembered that there is nothing below it.
func (w *world) resolver(tb testing.TB) string {
	tb.Helper()
	return serve(tb, func(q *dns.Msg) *dns.Msg {
		asked := q.Question[0]
		name := strings.ToLower(asked.Name)
		switch {
		case name == w.parent+"." && asked.Qtype == dns.TypeNS:
			return reply(tb, q, false, name+" 60 IN NS ns."+name)
		case name == "ns."+w.parent+"." && asked.Qtype == dns.TypeA:
			return reply(tb, q, false, name+" 60 IN A "+parentAddress)
		case name == "alias.example." && asked.Qtype == dns.TypeNS: // as a resolver follows a CNAME
			return reply(
				tb,
				q,
				false,
				name+" 60 IN CNAME other.example.",
				"other.example. 60 IN NS ns.other.example.",
			)
		case strings.HasSuffix(name, "."+w.parent+"."):
			return new(dns.Msg).SetRcode(q, dns.RcodeNameError)
		}
		return reply(tb, q, false)
	})
}

// TestNegativeCache: what a resolver remembers of the time before is no obstacle.
func TestNegativeCache(t *testing.T) {
	t.Parallel()
	w := newWorld(t, delegate)
	zone := w.customer(t)
	proofs := w.open(w.resolver(t))
	requireSeen(t, proofs, "www."+zone, false)
	w.publish(t, zone, "_tenant-challenge.www."+zone+". 3600 IN CNAME c7-0123.claims.app.example.")
	requireSeen(t, proofs, "www."+zone, true)
	w.withdraw(t, zone, "_tenant-challenge.www."+zone)
	requireSeen(t, proofs, "www."+zone, false)
}

// TestResolvers: the second is asked if the first is silent, a CNAME's zone is not taken for the name's, and a name that
// nobody knows has no proof.
func TestResolvers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, delegate)
	zone := w.customer(t, "_tenant-challenge.www TXT c7-0123.claims.app.example")
	known := w.resolver(t)
	broken := serve(t, func(q *dns.Msg) *dns.Msg { return new(dns.Msg).SetRcode(q, dns.RcodeServerFailure) })
	requireSeen(t, w.open(broken, known), "www."+zone, true)
	requireSeen(t, w.open(known), "alias.example", false)
	requireSeen(t, w.open(known), "www.nowhere.invalid", false)

	_, err := w.open(broken).Look(t.Context(), claimOf("www."+zone))
	requireUnavailable(t, err, "www."+zone)
	require.Equal(t, tenant.Retryable, tenant.FailureOf(err).Class)
}
