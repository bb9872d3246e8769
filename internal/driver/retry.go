package driver

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Retry says how often, and after which waits, a retryable failure is tried again.
type Retry struct {
	Attempts int           // in all, 1 or more
	Base     time.Duration // the ceiling of the first wait; it doubles with every further one
	Max      time.Duration // no ceiling lies above it
	Random   func() float64
}

// DefaultRetry is five attempts within about two minutes.
func DefaultRetry() Retry {
	return Retry{Attempts: 5, Base: 2 * time.Second, Max: time.Minute, Random: rand.Float64}
}

// wait returns how long to wait after the n-th attempt (the first is 1): "full jitter", a random share of an
// exponential ceiling, so that tenants that failed together don't come back together; never less than what the other side
// asked for.
func (r Retry) wait(n int, asked time.Duration) time.Duration {
	ceiling := r.Base << min(n-1, 20)
	if ceiling > r.Max || ceiling <= 0 {
		ceiling = r.Max
	}
	return max(asked, time.Duration(r.Random()*float64(ceiling)))
}

// attempt runs work until it succeeds, fails for good, or has been tried often enough.
func (d *Driver) attempt(ctx context.Context, id tenant.ID, work func() error) error {
	for n := 1; ; n++ {
		err := work()
		if err == nil || ctx.Err() != nil || n >= d.Retry.Attempts {
			return err
		}
		failure := tenant.FailureOf(err)
		if failure.Class != tenant.Retryable {
			return err
		}
		wait := d.Retry.wait(n, failure.RetryAfter)
		d.emit(Event{
			Tenant:  id,
			Type:    "retry",
			Step:    failure.Step,
			Code:    failure.Code,
			Class:   failure.Class,
			Elapsed: wait,
			Message: err.Error(),
		})
		if err := d.Sleep(ctx, wait); err != nil {
			return tenant.Fail(tenant.CodeCanceled, "waiting to try tenant "+string(id)+" again", err)
		}
	}
}

// Sleep waits for the time given, or until ctx ends.
func Sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
