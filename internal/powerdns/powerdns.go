// Package powerdns keeps tenants' DNS records on a PowerDNS authoritative server by its HTTP API.
//
// One PATCH is one transaction, so that a record set and its mark come, change and go together. What the API lacks is a
// condition: a PATCH replaces whatever is there by then. So each change is preceded by a look, writers of one process
// take turns, and the change counts as done when a look afterwards shows it. What remains is the moment between look and
// PATCH, a few milliseconds, in which a writer of another process can come in between: its record of that name and type,
// or its marks, would be replaced, and it would learn so from its own next look. Where several hosts, or people, write
// the zone, use dynamic updates instead (package rfc2136), which PowerDNS takes too: there the server itself checks.
//
// Records that somebody has switched off ("disabled") are not shown to a look at one name, and a look at all of the zone
// would cost each tenant as much as there are tenants. So they count as absent, and one that has the very name and type of a
// record set that is to be made is replaced by it.
//
// The zone should have a soa_edit_api (PowerDNS sets DEFAULT), or its serial does not move and secondaries see nothing.
package powerdns

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	defaultTimeout = 15 * time.Second
	defaultSettle  = 15 * time.Second
)

// Config says which server holds which zone. Nothing is connected to before the first call.
type Config struct {
	URL     string        // of the API, with or without /api/v1
	APIKey  tenant.Secret // sent as X-API-Key: use https unless the server is on this host
	Server  string        // the server's id in the API; "" is localhost
	Zone    string        // name of the zone, without a trailing dot
	Keyring *tenant.Keyring
	// Turns is shared by all backends of a process that write this zone; nil is turns of this backend's own.
	Turns *Turns
	// Transport is the way to the server; nil is http.DefaultTransport.
	Transport http.RoundTripper
	// Timeout is for one request; 0 is 15 s.
	Timeout time.Duration
	// Settle is how long a change may take until the API shows it; 0 is 15 s.
	Settle time.Duration
}

// Backend is the zone on the server. It may be used by many goroutines at once.
type Backend struct {
	config Config
	client *http.Client
	zone   string // the url of the zone
}

var (
	_ tenant.Records       = (*Backend)(nil)
	_ tenant.RecordClaimer = (*Backend)(nil)
	_ tenant.RecordLister  = (*Backend)(nil)
)

// New checks the configuration; its failures have CodeInvalidConfig and hold no secret.
func New(config Config) (*Backend, error) {
	config.Zone = tenant.PlainName(config.Zone)
	base, err := config.complete()
	if err != nil {
		return nil, tenant.Fail(tenant.CodeInvalidConfig, "configuring PowerDNS", err)
	}
	return &Backend{
		config: config,
		zone:   base.JoinPath("servers", config.Server, "zones", config.Zone+".").String(),
		client: &http.Client{
			Transport: config.Transport,
			Timeout:   config.Timeout,
			// The key goes to the configured server and to no other.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func (c *Config) complete() (*url.URL, error) {
	if !tenant.IsPlainName(c.Zone) {
		return nil, fmt.Errorf("%q is not the name of a zone", c.Zone)
	}
	if c.APIKey.Reveal() == "" {
		return nil, errors.New("the API key is not given")
	}
	base, err := url.Parse(c.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("the url of the API is not of the form https://HOST:PORT")
	}
	if base.User != nil {
		return nil, errors.New("the url of the API holds a user; only the API key is used")
	}
	if !strings.HasSuffix(strings.TrimRight(base.Path, "/"), "/api/v1") {
		base = base.JoinPath("api", "v1")
	}
	if c.Server == "" {
		c.Server = "localhost"
	}
	if c.Turns == nil {
		c.Turns = NewTurns()
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Settle == 0 {
		c.Settle = defaultSettle
	}
	return base, nil
}

// Close closes connections that are not in use.
func (b *Backend) Close() error {
	b.client.CloseIdleConnections()
	return nil
}

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
	seen, err := b.admit(ctx, doing, id, want)
	if err != nil {
		return err
	}
	put := func(ctx context.Context) (string, error) {
		return want.Name + "/" + want.Type, b.change(ctx, doing, func() (*patch, error) {
			seen, err := b.admit(ctx, doing, id, want)
			if err != nil || seen.Is(want) {
				return nil, err
			}
			return b.put(seen, id, want), nil
		})
	}
	object := want.Object(id)
	if _, there := seen.Own[want.Type]; !there {
		_, err = tenant.Make(ctx, journal, object, put)
		return err
	}
	if err := journal.Adopted(ctx, object, want.Name+"/"+want.Type); err != nil || seen.Is(want) {
		return err
	}
	tenant.Failpoint(ctx, "record.adopted")
	_, err = put(ctx)
	return err
}

// Read returns the record set, its values in order: see tenant.Records.
func (b *Backend) Read(ctx context.Context, id tenant.ID, name, recordType string) (tenant.Record, error) {
	doing := b.doing("reading", name, recordType)
	seen, err := b.look(ctx, doing, id, name)
	if err != nil {
		return tenant.Record{}, err
	}
	record, err := seen.Read(recordType)
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
	doing, sent := b.doing("deleting", name, recordType), false
	err := b.change(ctx, doing, func() (*patch, error) {
		seen, err := b.look(ctx, doing, id, name)
		if err != nil || sent && len(seen.Marks[recordType]) == 0 {
			return nil, err // once ours has gone, what is left is not ours
		}
		sent = true
		left, err := seen.AdmitDelete(recordType)
		if err != nil || !left {
			return nil, err
		}
		return b.drop(seen, recordType), nil
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
	err = b.change(ctx, doing, func() (*patch, error) {
		seen, err := b.look(ctx, doing, id, want.Name)
		if err != nil {
			return nil, err
		}
		unmarked, err := seen.AdmitClaim(want.Type)
		if err != nil || !unmarked {
			return nil, err
		}
		return &patch{[]rrset{b.withMark(seen, id, want)}}, nil
	})
	if err != nil {
		return err
	}
	tenant.Failpoint(ctx, "record.claimed")
	return journal.Adopted(ctx, want.Object(id), want.Name+"/"+want.Type)
}

// ListRecords returns all record sets with our mark, by one request: see tenant.RecordLister.
func (b *Backend) ListRecords(ctx context.Context) (map[tenant.ID][]tenant.Record, error) {
	all, err := b.get(ctx, "listing the records of zone "+b.config.Zone+" at PowerDNS "+b.host(), "")
	if err != nil {
		return nil, err
	}
	return b.config.Keyring.HoldAll(b.config.Zone, recordsOf(all)), nil
}

func (b *Backend) doing(verb, name, recordType string) string {
	return fmt.Sprintf("%s record %s/%s at PowerDNS %s", verb, name, recordType, b.host())
}

func (b *Backend) host() string {
	host, _ := url.Parse(b.zone)
	return host.Host
}
