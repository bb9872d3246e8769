package driver

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func TestRetryWait(t *testing.T) {
	t.Parallel()
	r := Retry{Base: time.Second, Max: 10 * time.Second, Random: func() float64 { return 0.5 }}
	require.Equal(t, 500*time.Millisecond, r.wait(1, 0))
	require.Equal(t, 2*time.Second, r.wait(3, 0))
	require.Equal(t, 5*time.Second, r.wait(50, 0), "the ceiling holds and does not overflow")
	require.Equal(t, 7*time.Second, r.wait(1, 7*time.Second), "never less than what was asked")
}

func TestAttempt(t *testing.T) {
	t.Parallel()
	busy := tenant.Fail(tenant.CodeBusy, "creating", errors.New("in use"))
	broken := tenant.Fail(tenant.CodeInvalidConfig, "creating", errors.New("no"))
	for name, test := range map[string]struct {
		errs  []error
		tries int
		want  error
	}{
		"mended by time": {[]error{busy, busy, nil}, 3, nil},
		"for good":       {[]error{broken}, 1, broken},
		"often enough":   {[]error{busy, busy, busy, busy}, 3, busy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var waits []time.Duration
			d := &Driver{Config: Config{
				Now:      time.Now,
				Progress: func(Event) {},
				Retry: Retry{
					Attempts: 3,
					Base:     time.Second,
					Max:      time.Second,
					Random:   func() float64 { return 1 },
				},
				Sleep: func(_ context.Context, wait time.Duration) error { waits = append(waits, wait); return nil },
			}}
			tries := 0
			err := d.attempt(t.Context(), "acme", func() error { tries++; return test.errs[tries-1] })
			require.Equal(t, test.want, err)
			require.Equal(t, test.tries, tries)
			require.Len(t, waits, test.tries-1)
		})
	}
}
