//go:build bench

package keycloak_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// tally counts the requests that it carries.
type tally struct{ requests atomic.Int64 }

func (c *tally) RoundTrip(request *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	return http.DefaultTransport.RoundTrip(request)
}

// per returns how many requests each of n took since the last time it was asked.
func (c *tally) per(n int) float64 { return float64(c.requests.Swap(0)) / float64(n) }

// took is the median of the times in milliseconds.
func took(times []time.Duration) float64 {
	sorted := slices.Sorted(slices.Values(times))
	return float64(sorted[len(sorted)/2]) / float64(time.Millisecond)
}

// timedAtOnce does work for first to first+n-1, width at a time, and returns how long each took, in order, and all.
func timedAtOnce(t *testing.T, first, n, width int, work func(n int) error) ([]time.Duration, time.Duration) {
	t.Helper()
	start := time.Now()
	var times []time.Duration
	for _, one := range atOnce(n, width, func(i int) (time.Duration, error) {
		begin := time.Now()
		err := work(first + i)
		return time.Since(begin), err
	}) {
		require.NoError(t, one.err)
		times = append(times, one.got)
	}
	return times, time.Since(start)
}

// TestBenchIdentities prints what an identity costs: to make, to find as it should be, one after the other and at once; and
// whether the last of three hundred costs what the first did. It asserts no time.
//
//nolint:paralleltest // what it measures is what the machine does meanwhile
func TestBenchIdentities(t *testing.T) {
	const many, few, edge = 300, 24, 30
	r, line := newRealm(t), &tally{}
	backend := r.backend(t, through(line))
	create := func(n int) error {
		_, err := backend.Ensure(t.Context(), specOf(fleetID(n)), tenant.NoJournal{})
		return err
	}
	read := func(n int) error {
		_, err := backend.Read(t.Context(), fleetID(n), tenant.IdentityNames{})
		return err
	}
	require.NoError(t, create(999)) // the server warms up
	line.per(1)

	times, _ := timedAtOnce(t, 0, many, 1, create)
	fmt.Printf("create: %.1f requests each; first %d %.1f ms, last %d %.1f ms\n",
		line.per(many), edge, took(times[:edge]), edge, took(times[many-edge:]))
	fmt.Printf("bench identity_create_ms %.1f ms\n", took(times))
	fmt.Printf("bench identity_flat_ratio %.2f ratio\n", took(times[many-edge:])/took(times[:edge]))
	times, _ = timedAtOnce(t, 0, many, 1, read)
	fmt.Printf("read: %.1f requests each\n", line.per(many))
	fmt.Printf("bench identity_read_ms %.1f ms\n", took(times))
	_, _ = timedAtOnce(t, 0, few, 1, create)
	fmt.Printf("apply again: %.1f requests each\n", line.per(few))
	next := many
	for _, width := range []int{1, 4, 8} {
		_, all := timedAtOnce(t, next, few, width, create)
		next += few
		fmt.Printf("create, %d at once: %.1f a second\n", width, few/all.Seconds())
	}
}
