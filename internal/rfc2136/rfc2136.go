// Package rfc2136 keeps tenants' DNS records on a name server that takes dynamic updates (RFC 2136), as BIND, Knot and
// PowerDNS do.
//
// Everything goes over TCP and is signed (RFC 8945), and so must be each answer: an unsigned or wrongly signed one is a
// failure, whatever it says. A change is one UPDATE whose prerequisites are all that was seen before, so that it happens
// to that world or not at all; it counts as done when the server shows it.
package rfc2136

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	defaultTimeout = 10 * time.Second
	defaultSettle  = 15 * time.Second
)

// Config says which server holds which zone. Nothing is connected to before the first call.
type Config struct {
	Server        string          // host or host:port of a server that is authoritative for the zone; the port is 53
	Zone          string          // name of the zone, without a trailing dot
	TSIGName      string          // of the key, which must be allowed to update, query and transfer the zone
	TSIGSecret    tenant.Secret   // in base64
	TSIGAlgorithm string          // hmac-sha224, -sha256, -sha384 or -sha512; "" is hmac-sha256
	Keyring       *tenant.Keyring // marks our records
	// Timeout is for one question and its answer; 0 is 10 s.
	Timeout time.Duration
	// Settle is how long a change may take until the server shows it, and how long is waited for other writers; 0 is 15 s.
	Settle time.Duration
	Now    func() time.Time // signs; nil is time.Now
}

// Backend is the zone on the server. It may be used by many goroutines at once, and the server by many processes.
type Backend struct {
	config Config
	origin string // the zone with its trailing dot
}

var (
	_ tenant.Records       = (*Backend)(nil)
	_ tenant.RecordClaimer = (*Backend)(nil)
	_ tenant.RecordLister  = (*Backend)(nil)
)

// New checks the configuration; its failures have CodeInvalidConfig and hold no secret.
func New(config Config) (*Backend, error) {
	config.Zone = tenant.PlainName(config.Zone)
	if err := config.complete(); err != nil {
		return nil, tenant.Fail(tenant.CodeInvalidConfig, "configuring dynamic DNS updates", err)
	}
	return &Backend{config: config, origin: config.Zone + "."}, nil
}

func (c *Config) complete() error {
	if !tenant.IsPlainName(c.Zone) {
		return fmt.Errorf("%q is not the name of a zone", c.Zone)
	}
	if c.Server == "" {
		return errors.New("the server is not given")
	}
	if _, _, err := net.SplitHostPort(c.Server); err != nil {
		c.Server = net.JoinHostPort(strings.Trim(c.Server, "[]"), "53")
	}
	if c.TSIGName = dns.CanonicalName(c.TSIGName); c.TSIGName == "." {
		return errors.New("the name of the TSIG key is not given: unsigned updates are not made")
	}
	secret, err := base64.StdEncoding.DecodeString(c.TSIGSecret.Reveal())
	if err != nil || len(secret) == 0 {
		return fmt.Errorf("the secret of the TSIG key %s is not base64", c.TSIGName)
	}
	switch c.TSIGAlgorithm = dns.CanonicalName(c.TSIGAlgorithm); c.TSIGAlgorithm {
	case ".":
		c.TSIGAlgorithm = dns.HmacSHA256
	case dns.HmacSHA224, dns.HmacSHA256, dns.HmacSHA384, dns.HmacSHA512:
	default:
		return fmt.Errorf(
			"the TSIG algorithm %s is none of hmac-sha224, -sha256, -sha384 and -sha512",
			c.TSIGAlgorithm,
		)
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Settle == 0 {
		c.Settle = defaultSettle
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return nil
}

// Close does nothing: a connection lives as long as the call that made it.
func (b *Backend) Close() error { return nil }

// Zone is the name of the zone.
func (b *Backend) Zone() string { return b.config.Zone }

// Ensure makes the record set, or changes it if it is ours: see tenant.Records.
func (b *Backend) Ensure(
	ctx context.Context,
	id tenant.ID,
	record tenant.Record,
	journal tenant.Journal,
) error {
	doing := b.doing("making", record.Name, record.Type)
	want, err := record.Check(b.config.Zone)
	if err != nil {
		return tenant.Fail(tenant.CodeInvalidConfig, doing, err)
	}
	j, err := b.begin(ctx, doing, id, want.Name)
	if err != nil {
		return err
	}
	defer j.end()
	if err := j.seen.Admit(want); err != nil {
		return tenant.Fail(tenant.CodeInternal, doing, err)
	}
	put := func(ctx context.Context) (string, error) {
		return want.Name + "/" + want.Type, j.change(
			ctx,
			func(seen view) (*dns.Msg, error) { return b.put(seen, id, want) },
		)
	}
	object := want.Object(id)
	if _, there := j.seen.Own[want.Type]; !there {
		_, err = tenant.Make(ctx, journal, object, put)
		return err
	}
	if err := journal.Adopted(ctx, object, want.Name+"/"+want.Type); err != nil || j.seen.Is(want) {
		return err
	}
	tenant.Failpoint(ctx, "record.adopted")
	_, err = put(ctx)
	return err
}

// Read returns the record set, its values in order: see tenant.Records.
func (b *Backend) Read(ctx context.Context, id tenant.ID, name, recordType string) (tenant.Record, error) {
	doing := b.doing("reading", name, recordType)
	j, err := b.begin(ctx, doing, id, name)
	if err != nil {
		return tenant.Record{}, err
	}
	defer j.end()
	record, err := j.seen.Read(recordType)
	if err != nil && !errors.Is(err, tenant.ErrAbsent) {
		return record, tenant.Fail(tenant.CodeInternal, doing, err)
	}
	return record, err
}

// Delete removes the record set and its mark: see tenant.Records. A record of another type that somebody put beside
// ours stays, and does not keep ours from going.
func (b *Backend) Delete(
	ctx context.Context,
	id tenant.ID,
	name, recordType string,
	journal tenant.Journal,
) error {
	doing := b.doing("deleting", name, recordType)
	j, err := b.begin(ctx, doing, id, name)
	if err != nil {
		return err
	}
	defer j.end()
	sent := false
	err = j.change(ctx, func(seen view) (*dns.Msg, error) {
		if sent && len(seen.Marks[recordType]) == 0 {
			return nil, nil //nolint:nilnil // ours has gone; what is left is not ours
		}
		sent = true
		return b.drop(seen, recordType)
	})
	if err != nil {
		return err
	}
	tenant.Failpoint(ctx, "record.removed")
	return journal.Removed(ctx, tenant.Record{Name: name, Type: recordType}.Object(id))
}

// ClaimRecord marks a record set that nobody has marked: see tenant.RecordClaimer.
func (b *Backend) ClaimRecord(
	ctx context.Context,
	id tenant.ID,
	record tenant.Record,
	journal tenant.Journal,
) error {
	doing := b.doing("claiming", record.Name, record.Type)
	want, err := record.Check(b.config.Zone)
	if err != nil {
		return tenant.Fail(tenant.CodeInvalidConfig, doing, err)
	}
	j, err := b.begin(ctx, doing, id, want.Name)
	if err != nil {
		return err
	}
	defer j.end()
	err = j.change(ctx, func(seen view) (*dns.Msg, error) { return b.mark(seen, id, want) })
	if err != nil {
		return err
	}
	tenant.Failpoint(ctx, "record.claimed")
	return journal.Adopted(ctx, want.Object(id), want.Name+"/"+want.Type)
}

// ListRecords returns all record sets with our mark, by one transfer of the zone: see tenant.RecordLister.
func (b *Backend) ListRecords(ctx context.Context) (map[tenant.ID][]tenant.Record, error) {
	doing := "listing the records of zone " + b.config.Zone + " at " + b.config.Server
	s, err := b.dial(ctx, doing)
	if err != nil {
		return nil, err
	}
	defer s.close()
	all, err := s.transfer(b.origin)
	if err != nil {
		return nil, err
	}
	return b.config.Keyring.HoldAll(b.config.Zone, recordsOf(all)), nil
}

func (b *Backend) doing(verb, name, recordType string) string {
	return fmt.Sprintf("%s record %s/%s at DNS server %s", verb, name, recordType, b.config.Server)
}
