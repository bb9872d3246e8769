// Package warm has the proxy get each custom hostname's certificate before its first visitor comes, at a pace that
// authorities bear, and records what the proxy then shows: a handshake with the chain and the name verified is the
// only proof that a certificate is there.
package warm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	defaultInterval = time.Second
	defaultRetry    = time.Minute
	maxRetry        = time.Hour
	recheck         = 12 * time.Hour
	recheckShare    = 10 // a certificate is looked at ten times at least in what is left of its life
	handshake       = 2 * time.Minute
	atOnce          = 8 // handshakes that wait at the same time: a name that leads nowhere hangs
	breath          = 9 // how many times longer than the last writing of the file took is waited before the next one
)

// Config says which proxy, and which hostnames.
type Config struct {
	Address   string          // host:port of the proxy's HTTPS
	Roots     *x509.CertPool  // to verify chains by; nil is the system's
	Hostnames func() []string // that have certificates of their own, now
	File      string          // of the record; made (0600)
	Interval  time.Duration   // between two handshakes; 0 is a second
	Retry     time.Duration   // after the first failure; doubled after each, up to an hour; 0 is a minute
	Now       func() time.Time
	Log       *slog.Logger
}

// Certificate is what is known of a hostname's. It holds no secret.
type Certificate struct {
	Hostname  string     `json:"hostname"`
	Issuer    string     `json:"issuer,omitempty"`
	Serial    string     `json:"serial,omitempty"` // in hexadecimal
	NotAfter  *time.Time `json:"not_after,omitempty"`
	CheckedAt *time.Time `json:"checked_at,omitempty"`
	NextCheck time.Time  `json:"next_check"`
	Failures  int        `json:"failures,omitempty"` // in a row; what is known of the certificate stays
	Error     string     `json:"error,omitempty"`
}

// Queue goes through the hostnames. Only Summary may be used beside Run.
type Queue struct {
	config Config
	slots  chan struct{}

	mu    sync.Mutex // guards what follows
	known map[string]*Certificate
	busy  map[string]bool
	dirty bool
}

// New takes what the file knows already. A file that can't be used is logged, and made anew.
func New(config Config) (*Queue, error) {
	if config.Address == "" || config.File == "" || config.Hostnames == nil {
		return nil, tenant.Fail(tenant.CodeInvalidConfig, "configuring the queue of certificates",
			errors.New("address, file and hostnames are needed"))
	}
	if config.Interval == 0 {
		config.Interval = defaultInterval
	}
	if config.Retry == 0 {
		config.Retry = defaultRetry
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	q := &Queue{
		config: config, slots: make(chan struct{}, atOnce),
		known: map[string]*Certificate{}, busy: map[string]bool{},
	}
	found, err := Read(config.File)
	if err != nil {
		config.Log.Error("the record of certificates can't be used", "error", err)
	}
	for _, one := range found {
		q.known[one.Hostname] = &one
	}
	return q, nil
}

// Run starts at most one handshake in each interval, until ctx ends; it then waits for those under way.
func (q *Queue) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var writeAt time.Time
	for {
		select {
		case <-ctx.Done():
			q.write()
			return
		case <-timer.C:
		}
		if hostname, due := q.next(); due {
			group.Go(func() {
				err := tenant.Guard("looking at the certificate of "+hostname, func() error {
					return q.look(ctx, hostname)
				})
				q.done(ctx, hostname, err)
			})
		}
		if began := time.Now(); began.After(writeAt) {
			q.write()
			writeAt = began.Add((breath + 1) * time.Since(began))
		}
		timer.Reset(q.config.Interval)
	}
}

// next takes the hostname that is due for the longest time, and a slot. Hostnames that are bound no more are forgotten.
func (q *Queue) next() (hostname string, due bool) {
	wanted := q.config.Hostnames()
	now := q.config.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.forget(wanted)
	for _, name := range wanted {
		if q.known[name] == nil {
			q.known[name] = &Certificate{Hostname: name, NextCheck: now}
			q.dirty = true
		}
		at := q.known[name].NextCheck
		if !q.busy[name] && !at.After(now) && (!due || at.Before(q.known[hostname].NextCheck)) {
			hostname, due = name, true
		}
	}
	if !due {
		return "", false
	}
	select {
	case q.slots <- struct{}{}:
		q.busy[hostname] = true
		return hostname, true
	default:
		return "", false
	}
}

func (q *Queue) forget(wanted []string) {
	keep := make(map[string]bool, len(wanted))
	for _, name := range wanted {
		keep[name] = true
	}
	for name := range q.known {
		if !keep[name] {
			delete(q.known, name)
			q.dirty = true
		}
	}
}

// look shakes hands with the proxy as a visitor of the hostname does.
func (q *Queue) look(ctx context.Context, hostname string) error {
	ctx, cancel := context.WithTimeout(ctx, handshake)
	defer cancel()
	dialer := tls.Dialer{
		Config: &tls.Config{ServerName: hostname, RootCAs: q.config.Roots, MinVersion: tls.VersionTLS12},
	}
	conn, err := dialer.DialContext(ctx, "tcp", q.config.Address)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing was written
	shown, ok := conn.(*tls.Conn)
	if !ok {
		return errors.New("the connection is not TLS")
	}
	q.record(hostname, shown.ConnectionState().PeerCertificates[0])
	return nil
}

// record takes down a certificate that was verified.
func (q *Queue) record(hostname string, leaf *x509.Certificate) {
	now := q.config.Now().UTC()
	notAfter := leaf.NotAfter.UTC()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dirty = true
	next := min(recheck, max(notAfter.Sub(now)/recheckShare, q.config.Interval))
	q.known[hostname] = &Certificate{
		Hostname: hostname, Issuer: leaf.Issuer.String(), Serial: fmt.Sprintf("%x", leaf.SerialNumber),
		NotAfter: &notAfter, CheckedAt: &now, NextCheck: now.Add(next),
	}
}

// done gives the slot back, and says when to try again after a failure.
func (q *Queue) done(ctx context.Context, hostname string, err error) {
	<-q.slots
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.busy, hostname)
	found := q.known[hostname]
	if err == nil || found == nil || ctx.Err() != nil {
		return
	}
	found.Failures++
	wait := min(q.config.Retry<<min(found.Failures-1, 16), maxRetry)
	found.Error, found.NextCheck = err.Error(), q.config.Now().Add(wait).UTC()
	q.dirty = true
	q.config.Log.Warn("a custom hostname has no certificate that can be verified",
		"hostname", hostname, "error", err, "failures", found.Failures, "next_check", found.NextCheck)
}
