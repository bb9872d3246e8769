// Package wildcard keeps the certificate that all default hostnames share: *.ZONE, got from an ACME authority (RFC 8555)
// by a DNS record, and again when two thirds of its life are over. What it has, it keeps: no authority, no name server
// and no lost account takes a certificate away.
package wildcard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	// LetsEncrypt is the directory of the authority that is asked unless another is given.
	LetsEncrypt = "https://acme-v02.api.letsencrypt.org/directory"

	defaultRetry = time.Minute
	maxRetry     = time.Hour
	attempt      = 5 * time.Minute // the most that one attempt may take
	nap          = time.Hour       // the longest wait without a look at the clock, which may have been set
)

// Challenge publishes the TXT record _acme-challenge.ZONE.
type Challenge interface {
	// Present adds the value to the record; afterwards the zone's server shows it. Repeating it changes nothing.
	Present(ctx context.Context, value string) error
	// Withdraw removes the value; absent is done.
	Withdraw(ctx context.Context, value string) error
}

// Config says for which zone, by which authority, and where everything is kept.
type Config struct {
	Zone      string       // without a trailing dot
	Folder    string       // for account, certificate and status; made (0700)
	CA        string       // URL of the authority's directory; "" is LetsEncrypt
	Email     string       // of the account; "" is none
	Client    *http.Client // talks to the authority; it should have a timeout
	Challenge Challenge
	Retry     time.Duration // after the first failure; doubled after each, up to an hour; 0 is a minute
	Poll      time.Duration // between two looks at what the authority is working on; 0 is a second
	Now       func() time.Time
	Log       *slog.Logger
}

// Keeper is the certificate. It may be used by many goroutines at once.
type Keeper struct {
	config Config

	mu     sync.Mutex // guards what follows
	held   *certificate
	status Status
}

// Status is what can be told of the certificate. It holds no secret.
type Status struct {
	Name        string     `json:"name"`
	Issuer      string     `json:"issuer,omitempty"`
	Serial      string     `json:"serial,omitempty"` // in hexadecimal
	NotAfter    *time.Time `json:"not_after,omitempty"`
	RenewAt     *time.Time `json:"renew_at,omitempty"`
	Failures    int        `json:"failures,omitempty"` // in a row
	Error       string     `json:"error,omitempty"`
	NextAttempt *time.Time `json:"next_attempt,omitempty"`
}

// Open takes the certificate that the folder holds, if it is for this zone. It fails with CodeInvalidConfig or CodeStorage.
func Open(config Config) (*Keeper, error) {
	const doing = "opening the wildcard certificate"
	config.Zone = tenant.PlainName(config.Zone)
	switch {
	case !tenant.IsPlainName(config.Zone):
		return nil, tenant.Fail(
			tenant.CodeInvalidConfig,
			doing,
			fmt.Errorf("%q is not the name of a zone", config.Zone),
		)
	case config.Folder == "" || config.Challenge == nil || config.Client == nil:
		return nil, tenant.Fail(
			tenant.CodeInvalidConfig,
			doing,
			errors.New("folder, challenge and client are needed"),
		)
	}
	config.complete()
	k := &Keeper{config: config, status: Status{Name: "*." + config.Zone}}
	held, err := readCertificate(k.path(certificateFile), config.Zone)
	if err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, doing, err)
	}
	if held != nil {
		k.hold(held)
	}
	return k, nil
}

func (c *Config) complete() {
	if c.CA == "" {
		c.CA = LetsEncrypt
	}
	if c.Retry == 0 {
		c.Retry = defaultRetry
	}
	if c.Poll == 0 {
		c.Poll = time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}

func (k *Keeper) path(name string) string { return filepath.Join(k.config.Folder, name) }

// PEM returns the chain and its key; false if there is none yet. One that has expired is better than none: it is
// returned, and Status says so.
func (k *Keeper) PEM() ([]byte, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held == nil {
		return nil, false
	}
	return k.held.pem, true
}

// Status returns what can be told now.
func (k *Keeper) Status() Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.status
}

// hold takes the certificate as the one to hand out.
func (k *Keeper) hold(held *certificate) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held = held
	notAfter, renewAt := held.leaf.NotAfter.UTC(), held.renewAt()
	k.status = Status{
		Name:     k.status.Name,
		Issuer:   held.leaf.Issuer.String(),
		Serial:   fmt.Sprintf("%x", held.leaf.SerialNumber),
		NotAfter: &notAfter,
		RenewAt:  &renewAt,
	}
}

// Run gets the certificate when it is due, until ctx ends. A failure is logged, told by Status, and tried again.
func (k *Keeper) Run(ctx context.Context) {
	k.note()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if wait := k.due(); wait > 0 {
			timer.Reset(min(wait, nap))
			continue
		}
		k.renew(ctx)
		timer.Reset(0)
	}
}

// due is how long nothing has to be done.
func (k *Keeper) due() time.Duration {
	status := k.Status()
	switch {
	case status.NextAttempt != nil:
		return status.NextAttempt.Sub(k.config.Now())
	case status.RenewAt != nil:
		return status.RenewAt.Sub(k.config.Now())
	default:
		return 0
	}
}

// renew makes one attempt.
func (k *Keeper) renew(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	held, err := k.obtain(limited)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		k.failed(err)
	default:
		k.hold(held)
		k.config.Log.Info(
			"got the wildcard certificate",
			"name",
			k.status.Name,
			"not_after",
			held.leaf.NotAfter,
		)
	}
	k.note()
}

// note writes down what can be told, for those who look while nothing runs.
func (k *Keeper) note() {
	if err := writeJSON(k.path(StatusFile), k.Status()); err != nil {
		k.config.Log.Error("the status of the wildcard certificate can't be written", "error", err)
	}
}

// failed says when to try again: authorities limit failures, too.
func (k *Keeper) failed(err error) {
	failure := tenant.FailureOf(err)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.status.Failures++
	wait := k.config.Retry << min(k.status.Failures-1, 16)
	wait = min(wait, maxRetry)
	wait = max(wait-rand.N(wait/4+1), failure.RetryAfter) //nolint:gosec // a spread, not a secret
	next := k.config.Now().Add(wait).UTC()
	k.status.Error, k.status.NextAttempt = err.Error(), &next
	k.config.Log.Error(
		"the wildcard certificate can't be had now",
		"code",
		string(failure.Code),
		"error",
		err,
		"failures",
		k.status.Failures,
		"next_attempt",
		next,
		"have",
		k.held != nil,
	)
}
