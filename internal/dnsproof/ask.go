package dnsproof

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/miekg/dns"
)

// errNoAnswer is in the chain of whatever a server does that can't or won't say.
var errNoAnswer = errors.New("no usable answer")

// ask puts one question to one server: over UDP, and over TCP if that brings nothing or only a part (RFC 7766, section 5). A reply is
// returned only if it belongs to the question and says something: NOERROR or NXDOMAIN.
func (d *DNS) ask(ctx context.Context, server string, question *dns.Msg) (*dns.Msg, error) {
	reply, err := d.exchange(ctx, "udp", server, question)
	if err != nil || reply.Truncated {
		var overTCP error
		if reply, overTCP = d.exchange(ctx, "tcp", server, question); overTCP != nil {
			return nil, fmt.Errorf("%w from %s: %w", errNoAnswer, server, errors.Join(err, overTCP))
		}
	}
	if reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError {
		return nil, fmt.Errorf("%w from %s: %s", errNoAnswer, server, dns.RcodeToString[reply.Rcode])
	}
	return reply, nil
}

func (d *DNS) exchange(ctx context.Context, network, server string, question *dns.Msg) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, d.config.Try)
	defer cancel()
	conn, err := d.config.Dial(ctx, network, server)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // the answer has been read
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	// Each question has an id and a port of its own, so that a stranger who can't see it can't answer it.
	fresh := question.Copy()
	fresh.Id = dns.Id()
	client := dns.Client{Net: network, Timeout: d.config.Try}
	reply, _, err := client.ExchangeWithConnContext(ctx, fresh, &dns.Conn{Conn: conn})
	if err != nil {
		return nil, err
	}
	if !answers(reply, fresh) {
		return nil, fmt.Errorf("%s answers another question", server)
	}
	return reply, nil
}

func answers(reply, question *dns.Msg) bool {
	if !reply.Response || len(reply.Question) != 1 {
		return false
	}
	asked, repeated := question.Question[0], reply.Question[0]
	return asked.Qtype == repeated.Qtype && asked.Qclass == repeated.Qclass &&
		plain(asked.Name) == plain(repeated.Name)
}

// question is asked of an authoritative server, or of a resolver if it may recurse. It is without EDNS, which old servers
// and boxes in between stumble over: what doesn't fit comes over TCP.
func question(name string, qtype uint16, recurse bool) *dns.Msg {
	msg := new(dns.Msg)
	msg.SetQuestion(dns.Fqdn(name), qtype)
	msg.RecursionDesired = recurse
	return msg
}

// endpoint is the server at an address, "" if it may not be asked: where strangers' names lead us, they
// must not lead us into the network that we stand in.
func (d *DNS) endpoint(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil || d.public && !isPublic(ip.Unmap()) {
		return ""
	}
	return net.JoinHostPort(address, strconv.Itoa(int(d.config.Port)))
}

func isPublic(ip netip.Addr) bool {
	return ip.IsGlobalUnicast() && !ip.IsPrivate()
}
