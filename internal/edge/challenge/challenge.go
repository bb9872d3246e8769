// Package challenge publishes the one TXT record by which an authority sees that a zone is ours: _acme-challenge below
// it (RFC 8555, section 8.4). It does so by dynamic updates (RFC 2136) signed with a key of its own (RFC 8945), which the name server
// lets write this one name and nothing else, as BIND does by
//
//	update-policy { grant KEY name _acme-challenge.ZONE. TXT; };
package challenge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	label   = "_acme-challenge."
	ttl     = 60  // seconds; the record lives for one validation
	fudge   = 300 // seconds that the two clocks may be apart (RFC 8945, section 10)
	timeout = 10 * time.Second
)

// Config says where the record is written. Nothing is connected to before the first call.
type Config struct {
	Server string // host or host:port of the name server that takes updates; the port is 53
	Zone   string // the zone on that server
	Domain string // the name that the certificate is for, without "*."; in the zone; "" is the zone
	Key    Key
}

// Record is the record. It may be used by many goroutines at once.
type Record struct {
	config Config
	name   string // fully qualified
}

// New checks the configuration; its failures have CodeInvalidConfig and hold no secret.
func New(config Config) (*Record, error) {
	config.Zone = tenant.PlainName(config.Zone)
	if config.Domain = tenant.PlainName(config.Domain); config.Domain == "" {
		config.Domain = config.Zone
	}
	if err := config.check(); err != nil {
		return nil, tenant.Fail(tenant.CodeInvalidConfig, "configuring the record for the authority", err)
	}
	if _, _, err := net.SplitHostPort(config.Server); err != nil {
		config.Server = net.JoinHostPort(strings.Trim(config.Server, "[]"), "53")
	}
	return &Record{config: config, name: label + config.Domain + "."}, nil
}

func (c Config) check() error {
	switch {
	case c.Server == "":
		return errors.New("the name server is not given")
	case !tenant.IsPlainName(c.Zone) || !tenant.IsPlainName(c.Domain):
		return fmt.Errorf("zone %q and domain %q are not names", c.Zone, c.Domain)
	case c.Domain != c.Zone && !strings.HasSuffix(c.Domain, "."+c.Zone):
		return fmt.Errorf("the domain %s is not in the zone %s", c.Domain, c.Zone)
	}
	return c.Key.check()
}

// Present adds the value to the record, beside those of other edges. Afterwards the server shows it. Repeating it
// changes nothing.
func (r *Record) Present(ctx context.Context, value string) error {
	return r.change(
		ctx,
		"publishing",
		func(m *dns.Msg) { m.Insert([]dns.RR{r.text(value)}) },
		func(there bool) error {
			if !there {
				return errors.New("the server said that it had done so, and does not show the value")
			}
			return nil
		},
		value,
	)
}

// Withdraw removes the value, and fails only if it is still there.
func (r *Record) Withdraw(ctx context.Context, value string) error {
	return r.change(
		ctx,
		"withdrawing",
		func(m *dns.Msg) { m.Remove([]dns.RR{r.text(value)}) },
		func(there bool) error {
			if there {
				return errors.New("the server said that it had done so, and still shows the value")
			}
			return nil
		},
		value,
	)
}

func (r *Record) text(value string) dns.RR {
	return &dns.TXT{
		Hdr: dns.RR_Header{Name: r.name, Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: ttl},
		Txt: []string{value}, // base64url: nothing in it needs an escape
	}
}

// change sends the update, and then looks: a server may answer NOERROR and leave everything as it was.
func (r *Record) change(
	ctx context.Context, verb string, fill func(*dns.Msg), judge func(there bool) error, value string,
) error {
	doing := fmt.Sprintf("%s %s/TXT at DNS server %s", verb, strings.TrimSuffix(r.name, "."), r.config.Server)
	update := new(dns.Msg)
	update.SetUpdate(r.config.Zone + ".")
	fill(update)
	if _, err := r.exchange(ctx, update); err != nil {
		return tenant.Fail(tenant.CodeUnavailable, doing, err)
	}
	there, err := r.look(ctx, value)
	if err == nil {
		err = judge(there)
	}
	if err != nil {
		return tenant.Fail(tenant.CodeUnavailable, doing, err)
	}
	return nil
}

func (r *Record) look(ctx context.Context, value string) (bool, error) {
	question := new(dns.Msg)
	question.SetQuestion(r.name, dns.TypeTXT)
	answer, err := r.exchange(ctx, question)
	if err != nil {
		return false, err
	}
	for _, record := range answer.Answer {
		if text, ok := record.(*dns.TXT); ok && strings.Join(text.Txt, "") == value {
			return true, nil
		}
	}
	return false, nil
}

// exchange signs the message and takes no answer that isn't signed by the same key.
func (r *Record) exchange(ctx context.Context, m *dns.Msg) (*dns.Msg, error) {
	key := r.config.Key
	m.SetTsig(key.Name, key.Algorithm, fudge, time.Now().Unix())
	client := dns.Client{
		Net:        "tcp",
		Timeout:    timeout,
		TsigSecret: map[string]string{key.Name: key.Secret.Reveal()},
	}
	answer, _, err := client.ExchangeContext(ctx, m, r.config.Server)
	if ctx.Err() != nil {
		return nil, tenant.Fail(tenant.CodeCanceled, "asking the DNS server", ctx.Err())
	}
	if answer != nil && (answer.Rcode == dns.RcodeRefused || answer.Rcode == dns.RcodeNotAuth) {
		return nil, tenant.Fail(
			tenant.CodeInvalidConfig,
			"asking the DNS server",
			fmt.Errorf(
				"it answered %s: does it let the key %s write this name?",
				dns.RcodeToString[answer.Rcode],
				key.Name,
			),
		)
	}
	switch {
	case err != nil:
		return nil, err
	case answer.IsTsig() == nil:
		return nil, errors.New("its answer is not signed")
	case answer.Rcode != dns.RcodeSuccess && answer.Rcode != dns.RcodeNameError:
		return nil, fmt.Errorf("it answered %s", dns.RcodeToString[answer.Rcode])
	}
	return answer, nil
}
