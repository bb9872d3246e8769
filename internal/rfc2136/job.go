package rfc2136

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/miekg/dns"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	firstPause = 10 * time.Millisecond
	longPause  = 500 * time.Millisecond
	// maxLost is how many connections one call may lose.
	maxLost = 3
)

// job is one call's work on one name.
type job struct {
	backend *Backend
	session *session
	id      tenant.ID
	name    string
	seen    view
	stale   bool // seen was read before something happened
	lost    int
}

// begin connects and looks at the name.
func (b *Backend) begin(ctx context.Context, doing string, id tenant.ID, name string) (*job, error) {
	s, err := b.dial(ctx, doing)
	if err != nil {
		return nil, err
	}
	j := &job{backend: b, session: s, id: id, name: name}
	if err := j.look(ctx); err != nil {
		j.end()
		return nil, err
	}
	return j, nil
}

func (j *job) end() { j.session.close() }

// look reads the name again, on a new connection if the server has closed the old one.
func (j *job) look(ctx context.Context) error {
	for {
		seen, err := j.session.look(j.backend.config.Keyring, j.id, j.name)
		if err == nil {
			j.seen, j.stale = seen, false
			return nil
		}
		if err := j.again(ctx, err); err != nil {
			return err
		}
	}
}

// again connects anew after a lost connection; any other error it returns.
func (j *job) again(ctx context.Context, err error) error {
	if j.lost++; !errors.Is(err, errLost) || tenant.HasCode(err, tenant.CodeCanceled) || j.lost > maxLost {
		return err
	}
	s, err := j.backend.dial(ctx, j.session.doing)
	if err != nil {
		return err
	}
	j.end()
	j.session = s
	return nil
}

// change looks, decides and updates until there is nothing left to decide: until the server shows what was wanted. An
// update whose prerequisites did not hold, or whose answer was lost, is decided about again by a fresh look. After one
// that was accepted nothing is sent: a server that does not show it yet is waited for.
func (j *job) change(ctx context.Context, decide func(view) (*dns.Msg, error)) error {
	patience, accepted := j.patience(), false
	for {
		update, err := j.decide(ctx, decide)
		if err != nil || update == nil {
			return err
		}
		if !accepted {
			if accepted, err = j.update(ctx, update); err != nil {
				return err
			}
			if accepted {
				continue
			}
		}
		if err := patience.wait(ctx, j.session.doing, j.unsettled(accepted)); err != nil {
			return err
		}
	}
}

// decide calls decide with what the server holds now.
func (j *job) decide(ctx context.Context, decide func(view) (*dns.Msg, error)) (*dns.Msg, error) {
	if j.stale {
		if err := j.look(ctx); err != nil {
			return nil, err
		}
	}
	update, err := decide(j.seen)
	j.stale = true
	if err != nil && !errors.Is(err, tenant.ErrAbsent) {
		return nil, tenant.Fail(tenant.CodeInternal, j.session.doing, err)
	}
	return update, err
}

// update reports whether the server accepted the update.
func (j *job) update(ctx context.Context, update *dns.Msg) (bool, error) {
	answer, err := j.session.ask(update)
	tenant.Failpoint(ctx, "record.updated")
	switch {
	case err != nil:
		return false, j.again(ctx, err)
	case answer.Rcode == dns.RcodeSuccess:
		return true, nil
	case isUnmet(answer.Rcode):
		return false, nil
	default:
		return false, j.session.refused(answer.Rcode)
	}
}

func (j *job) unsettled(accepted bool) error {
	settle := j.backend.config.Settle
	if !accepted {
		return tenant.Fail(
			tenant.CodeConflict,
			j.session.doing,
			fmt.Errorf(
				"other writers came first each time for %s, or the server shows an old state of the zone",
				settle,
			),
		)
	}
	return tenant.Fail(tenant.CodeUnavailable, j.session.doing, fmt.Errorf(
		"the server accepted the update and does not show it after %s: is it a secondary that lags?", settle))
}

// patience is how long a call still waits, and how long next.
type patience struct {
	deadline time.Time
	pause    time.Duration
}

func (j *job) patience() *patience {
	return &patience{time.Now().Add(j.backend.config.Settle), firstPause}
}

// wait fails with spent once the time has run out.
func (p *patience) wait(ctx context.Context, doing string, spent error) error {
	if !time.Now().Before(p.deadline) {
		return spent
	}
	timer := time.NewTimer(p.pause)
	defer timer.Stop()
	p.pause = min(2*p.pause, longPause)
	select {
	case <-ctx.Done():
		return tenant.Fail(tenant.CodeCanceled, doing, ctx.Err())
	case <-timer.C:
		return nil
	}
}
