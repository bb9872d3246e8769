// Package dnsproof looks at customers' own DNS: whether they published the proof of a hostname, and where the hostname
// leads now.
//
// It asks the servers that are authoritative for the name, over UDP and then TCP, and no cache: what a resolver
// remembers, above all that something was not there, is no obstacle. The way to those servers is found through the configured
// resolvers or, without any, by referrals from the public root. What is wrong with a customer's DNS is told, never guessed.
package dnsproof

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	// challengeLabel is in front of the hostname in the name at which a proof is looked for.
	challengeLabel = "_tenant-challenge."

	defaultPort    = 53
	defaultTimeout = 20 * time.Second
	defaultTry     = 2 * time.Second
)

// Config says how the customers' servers are found and asked. Its zero value starts at the public root.
type Config struct {
	// Resolvers are asked which servers are authoritative, and for these servers' addresses: host:port each. With none,
	// both are found from Roots.
	Resolvers []string
	Roots     []string      // IP addresses of the root's servers; none are those of the public root
	Port      uint16        // of all authoritative servers; 0 is 53
	Timeout   time.Duration // of one look as a whole; 0 is 20 seconds
	Try       time.Duration // of one question to one server; 0 is 2 seconds
	// Dial opens "udp" and "tcp" connections; nil is the system's.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// DNS is the DNS as customers publish it. It may be used by many goroutines at once.
type DNS struct {
	config Config
	public bool // names of strangers decide whom we ask: nobody within private networks
}

var (
	_ tenant.Proofs        = (*DNS)(nil)
	_ tenant.TrafficLooker = (*DNS)(nil)
)

// New returns the DNS; nobody is asked before the first call.
func New(config Config) *DNS {
	public := len(config.Resolvers) == 0 && len(config.Roots) == 0
	if public {
		config.Roots = publicRoots()
	}
	if config.Port == 0 {
		config.Port = defaultPort
	}
	if config.Timeout == 0 {
		config.Timeout = defaultTimeout
	}
	if config.Try == 0 {
		config.Try = defaultTry
	}
	if config.Dial == nil {
		config.Dial = (&net.Dialer{}).DialContext
	}
	return &DNS{config: config, public: public}
}

// Look reports whether the proof of the claim is published: see tenant.Proofs. CNAMEs at the challenge's name are followed, so a
// customer may have it stand elsewhere. One authoritative server that shows it is enough; the others may lag behind.
// It fails with CodeUnavailable if no server of the challenge's own zone answers.
func (d *DNS) Look(ctx context.Context, claim tenant.Claim) (bool, error) {
	name := challengeLabel + plain(claim.Hostname)
	doing := "looking for " + name
	if err := check(name); err != nil {
		return false, tenant.Fail(tenant.CodeInvalidConfig, doing, err)
	}
	if claim.Target == "" {
		return false, nil
	}
	seen := false
	err := d.look(ctx, doing, func(w *walk) error {
		p, err := w.follow(name, dns.TypeTXT, func(s step) bool { return proves(s, plain(claim.Target)) })
		seen = len(p.found) > 0
		return err
	})
	return seen, err
}

// LookTraffic returns where the hostname leads: see tenant.TrafficLooker.
func (d *DNS) LookTraffic(ctx context.Context, hostname string) (tenant.Traffic, error) {
	name := plain(hostname)
	doing := "looking where " + name + " leads"
	if err := check(name); err != nil {
		return tenant.Traffic{}, tenant.Fail(tenant.CodeInvalidConfig, doing, err)
	}
	var traffic tenant.Traffic
	err := d.look(ctx, doing, func(w *walk) error {
		var err error
		traffic, err = w.traffic(name)
		return err
	})
	return traffic, err
}

// look runs work within the time limit and says in domain terms what went wrong.
func (d *DNS) look(ctx context.Context, doing string, work func(*walk) error) error {
	if err := ctx.Err(); err != nil {
		return tenant.Fail(tenant.CodeCanceled, doing, err)
	}
	limited, cancel := context.WithTimeout(ctx, d.config.Timeout)
	defer cancel()
	err := work(&walk{DNS: d, ctx: limited, left: newBudget()})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return tenant.Fail(tenant.CodeCanceled, doing, errors.Join(ctx.Err(), err))
	case hasPassed(limited):
		err = fmt.Errorf("it took longer than %s: %w", d.config.Timeout, err)
	}
	return tenant.Fail(tenant.CodeUnavailable, doing, err)
}

// hasPassed goes by the clock: a connection notices the same deadline, and may do so a moment before the context.
func hasPassed(limited context.Context) bool {
	deadline, _ := limited.Deadline()
	return !time.Now().Before(deadline)
}

// plain is the form of a name that is compared: lower-case, without a trailing dot.
func plain(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// check keeps names away that the wire format can't hold.
func check(name string) error {
	if _, ok := dns.IsDomainName(name); !ok || name == "" || strings.Contains(name, "..") {
		return fmt.Errorf("%q is no name of the DNS", name)
	}
	return nil
}

// proves reports whether a step of the way shows the target: as a CNAME's, or as a word of the text at its end.
func proves(s step, target string) bool {
	if slices.Contains(s.chain, target) {
		return true
	}
	return slices.ContainsFunc(s.reply.Answer, func(record dns.RR) bool {
		text, ok := record.(*dns.TXT)
		if !ok || plain(text.Hdr.Name) != s.end {
			return false
		}
		words := strings.FieldsFunc(strings.Join(text.Txt, ""), func(c rune) bool {
			return strings.ContainsRune(" \t=,;\"'", c)
		})
		return slices.ContainsFunc(words, func(word string) bool { return plain(word) == target })
	})
}
