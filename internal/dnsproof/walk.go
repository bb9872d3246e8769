package dnsproof

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/miekg/dns"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// What one look may cost at most, whatever strangers' zones say.
const (
	maxChain     = 8  // CNAMEs (as resolvers do)
	maxReferrals = 12 // from a zone to the one below
	maxServers   = 8  // addresses of one zone's servers that are asked
	maxNesting   = 3  // names of servers that themselves need servers to be found
	maxQuestions = 200
)

// walk is one look. It remembers nothing for the next.
type walk struct {
	*DNS

	ctx     context.Context //nolint:containedctx // a walk is one call
	left    *atomic.Int32   // questions that may still be asked
	nesting int
}

func newBudget() *atomic.Int32 {
	left := new(atomic.Int32)
	left.Store(maxQuestions)
	return left
}

// ask puts a question as long as there is something left to ask.
func (w *walk) ask(server string, q *dns.Msg) (*dns.Msg, error) {
	if w.left.Add(-1) < 0 {
		return nil, fmt.Errorf("%w: more than %d questions", errNoAnswer, maxQuestions)
	}
	return w.DNS.ask(w.ctx, server, q)
}

// zone is a zone and the endpoints of its servers. The name "." is the root's.
type zone struct {
	name    string
	servers []string
}

// step is what one server says of a name: where its CNAMEs lead within the zone, and what stands at the end.
type step struct {
	reply *dns.Msg
	chain []string // targets, one after another; the last may lie outside
	end   string   // the name whose records the server can speak of, "" if the chain leaves its zone
}

func stepOf(reply *dns.Msg, name, zone string) step {
	s := step{reply: reply, end: name}
	for s.end != "" && len(s.chain) < maxChain {
		next := targetOf(reply, s.end)
		if next == "" {
			break
		}
		s.chain, s.end = append(s.chain, next), next
		if !isBelow(next, zone) {
			s.end = ""
		}
	}
	return s
}

func targetOf(reply *dns.Msg, name string) string {
	for _, record := range reply.Answer {
		if cname, ok := record.(*dns.CNAME); ok && plain(cname.Hdr.Name) == name {
			return plain(cname.Target)
		}
	}
	return ""
}

// path is where a name led.
type path struct {
	chain []string // targets of CNAMEs, one after another
	found []step   // in which found saw what it looks for
}

// follow asks the authoritative servers for name, and for what its CNAMEs lead to, until found says yes. A name that
// does not exist ends it without an error, and so does a CNAME into a zone that nobody answers for: only the first zone is
// the customer's to mend.
func (w *walk) follow(name string, qtype uint16, found func(step) bool) (path, error) {
	var p path
	for range maxChain {
		steps, err := w.authorities(name, qtype, found)
		if err != nil && len(p.chain) > 0 && w.ctx.Err() == nil {
			return p, nil
		}
		if err != nil {
			return p, err
		}
		longest := p.take(steps, found)
		p.chain = append(p.chain, longest...)
		if len(p.found) > 0 || len(longest) == 0 {
			return p, nil
		}
		name = longest[len(longest)-1]
	}
	return p, nil
}

// take keeps the steps that found says yes to, and returns the CNAMEs to go on with: theirs, or the longest chain that any
// server has told.
func (p *path) take(steps []step, found func(step) bool) []string {
	var longest []string
	for _, s := range steps {
		if found(s) {
			p.found = append(p.found, s)
		}
		if len(s.chain) > len(longest) {
			longest = s.chain
		}
	}
	if len(p.found) > 0 {
		return p.found[0].chain
	}
	return longest
}

func isBelow(name, zone string) bool {
	return zone == "." || name == zone || strings.HasSuffix(name, "."+zone)
}

// authorities asks the servers of the zone that holds name: the first that answers, and all others too unless found says yes to
// that answer, because any of them may lag.
func (w *walk) authorities(name string, qtype uint16, found func(step) bool) ([]step, error) {
	at, err := w.start(name)
	if err != nil || len(at.servers) == 0 { // the resolvers know of no zone there
		return nil, err
	}
	q := question(name, qtype, false)
	for range maxReferrals {
		reply, err := w.first(&at, q)
		if err != nil {
			return nil, err
		}
		if isReferral(reply, name, at.name) {
			if at, err = w.refer(reply, name, at.name); err != nil {
				return nil, err
			}
			continue
		}
		steps := []step{stepOf(reply, name, at.name)}
		if !found(steps[0]) {
			for _, other := range w.all(at, q) {
				steps = append(steps, stepOf(other, name, at.name))
			}
		}
		return steps, nil
	}
	return nil, fmt.Errorf("%w: more than %d referrals", errNoAnswer, maxReferrals)
}

// first returns the first reply that helps: authoritative, or a referral further down. It leaves the servers that have not
// been asked.
func (w *walk) first(at *zone, q *dns.Msg) (*dns.Msg, error) {
	name, failed := plain(q.Question[0].Name), []error{}
	for len(at.servers) > 0 && w.ctx.Err() == nil {
		server := at.servers[0]
		at.servers = at.servers[1:]
		reply, err := w.ask(server, q)
		if err == nil && (reply.Authoritative || isReferral(reply, name, at.name)) {
			return reply, nil
		}
		if err == nil {
			err = fmt.Errorf("%w from %s: it is not authoritative for %s", errNoAnswer, server, name)
		}
		failed = append(failed, err)
	}
	failed = append(failed, w.ctx.Err())
	return nil, fmt.Errorf(
		"no server of the zone %q answers for %s: %w",
		at.name,
		name,
		errors.Join(failed...),
	)
}

// all returns the authoritative replies of all servers of the zone that have not been asked.
func (w *walk) all(at zone, q *dns.Msg) []*dns.Msg {
	var group sync.WaitGroup
	replies := make([]*dns.Msg, len(at.servers))
	for n, server := range at.servers {
		group.Go(func() {
			_ = tenant.Guard("asking "+server, func() (err error) {
				replies[n], err = w.ask(server, q)
				return err
			})
		})
	}
	group.Wait()
	return slices.DeleteFunc(
		replies,
		func(reply *dns.Msg) bool { return reply == nil || !reply.Authoritative },
	)
}

// isReferral reports whether the reply points from zone to one below it that is nearer to name (RFC 1034, section 4.3.2).
func isReferral(reply *dns.Msg, name, zone string) bool {
	return !reply.Authoritative && reply.Rcode == dns.RcodeSuccess && len(reply.Answer) == 0 &&
		delegated(reply, name, zone) != ""
}

func delegated(reply *dns.Msg, name, zone string) string {
	for _, record := range reply.Ns {
		child := plain(record.Header().Name)
		if record.Header().Rrtype == dns.TypeNS && child != "" && child != zone && isBelow(child, zone) &&
			isBelow(name, child) {
			return child
		}
	}
	return ""
}

// refer returns the zone that the reply points at, with the addresses that came along or have to be looked up.
func (w *walk) refer(reply *dns.Msg, name, from string) (zone, error) {
	child := delegated(reply, name, from)
	var names []string
	for _, record := range reply.Ns {
		if ns, ok := record.(*dns.NS); ok && plain(ns.Hdr.Name) == child {
			names = append(names, plain(ns.Ns))
		}
	}
	return w.zoneOf(child, names, func(server string) []string {
		if !isBelow(server, from) {
			return nil // the parent has no say in other zones' addresses
		}
		return addressesIn(reply.Extra, server)
	})
}

// zoneOf finds the endpoints of a zone's servers: by what known says of a server, else by looking its name up.
func (w *walk) zoneOf(name string, servers []string, known func(server string) []string) (zone, error) {
	at, unknown := zone{name: name}, []string{}
	for _, server := range servers {
		if addresses := known(server); len(addresses) > 0 {
			at.add(w, addresses)
		} else {
			unknown = append(unknown, server)
		}
	}
	for _, server := range unknown[:min(len(unknown), maxServers)] {
		if len(at.servers) >= maxServers || w.ctx.Err() != nil {
			break
		}
		at.add(w, w.addresses(server))
	}
	if len(at.servers) == 0 {
		return at, fmt.Errorf("%w: none of the servers %s of the zone %q has an address that may be asked",
			errNoAnswer, strings.Join(servers, ", "), name)
	}
	return at, nil
}

func (z *zone) add(w *walk, addresses []string) {
	for _, address := range addresses {
		endpoint := w.endpoint(address)
		if endpoint != "" && len(z.servers) < maxServers && !slices.Contains(z.servers, endpoint) {
			z.servers = append(z.servers, endpoint)
		}
	}
}

func addressesIn(records []dns.RR, name string) []string {
	var found []string
	for _, record := range records {
		if plain(record.Header().Name) != name {
			continue
		}
		switch record := record.(type) {
		case *dns.A:
			found = append(found, record.A.String())
		case *dns.AAAA:
			found = append(found, record.AAAA.String())
		}
	}
	return found
}
