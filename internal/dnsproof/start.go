package dnsproof

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// start returns the zone from which the way to name begins: the root, or the nearest zone that the resolvers know. That they
// don't know of a newer one below it is no obstacle: its parent's servers refer to it.
func (w *walk) start(name string) (zone, error) {
	if len(w.config.Resolvers) > 0 {
		return w.nearest(name)
	}
	at := zone{name: "."}
	for _, root := range w.config.Roots {
		at.add(w, []string{root})
	}
	if len(at.servers) == 0 {
		return at, fmt.Errorf("%w: no server of the root is known", errNoAnswer)
	}
	return at, nil
}

// nearest asks the resolvers for the servers of name, of the name above it, and so on. A zone without servers comes back if
// they answer that there is none at all, not even a root.
func (w *walk) nearest(name string) (zone, error) {
	var failed error
	for at := name; ; _, at, _ = strings.Cut(at, ".") {
		asked := at
		if at == "" {
			asked = "."
		}
		reply, err := w.resolve(asked, dns.TypeNS)
		if err != nil {
			failed = err
		}
		if servers := serversIn(reply, asked); len(servers) > 0 {
			return w.zoneOf(asked, servers, func(server string) []string {
				return addressesIn(reply.Extra, server)
			})
		}
		if at == "" || w.ctx.Err() != nil {
			return zone{name: "."}, failed
		}
	}
}

// serversIn returns the servers of exactly that zone: a resolver follows a CNAME, and then tells another zone's.
func serversIn(reply *dns.Msg, zone string) []string {
	var servers []string
	if reply == nil {
		return nil
	}
	for _, record := range reply.Answer {
		if ns, ok := record.(*dns.NS); ok && plain(ns.Hdr.Name) == plain(zone) {
			servers = append(servers, plain(ns.Ns))
		}
	}
	return servers
}

// resolve asks the resolvers one after another.
func (w *walk) resolve(name string, qtype uint16) (*dns.Msg, error) {
	var failed []error
	for _, resolver := range w.config.Resolvers {
		reply, err := w.ask(resolver, question(name, qtype, true))
		if err == nil {
			return reply, nil
		}
		failed = append(failed, err)
	}
	return nil, fmt.Errorf("no resolver answers for %s: %w", name, errors.Join(failed...))
}

// addresses looks a server's name up; none if it has none or nobody says. The question may need servers that have to be
// looked up in their turn, which ends after maxNesting.
func (w *walk) addresses(server string) []string {
	var found []string
	for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA} {
		if len(w.config.Resolvers) == 0 {
			found = append(found, w.nested(server, qtype)...)
			continue
		}
		if reply, err := w.resolve(server, qtype); err == nil {
			found = append(found, addressesIn(reply.Answer, stepOf(reply, server, ".").end)...)
		}
	}
	return found
}

func (w *walk) nested(server string, qtype uint16) []string {
	if w.nesting >= maxNesting {
		return nil
	}
	inner := &walk{DNS: w.DNS, ctx: w.ctx, left: w.left, nesting: w.nesting + 1}
	p, err := inner.follow(server, qtype, hasAddress)
	if err != nil {
		return nil
	}
	return p.addresses()
}

func hasAddress(s step) bool { return s.end != "" && len(addressesIn(s.reply.Answer, s.end)) > 0 }

// addresses are those that the servers say, sorted.
func (p path) addresses() []string {
	var found []string
	for _, s := range p.found {
		found = append(found, addressesIn(s.reply.Answer, s.end)...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}
