//go:build failpoints

package tenanttest

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

type crash struct{ at string }

// CrashEverywhere runs scenario once to learn its failpoints, then once more for each of them, ending it exactly there.
// scenario gets the number of the round (use it to make fresh names) and returns the work that may be cut and the check that
// follows: what is true after the work was cut and then started again.
func CrashEverywhere(
	t *testing.T,
	scenario func(t *testing.T, round int) (work func(context.Context) error, check func(*testing.T)),
) {
	t.Helper()
	var points []string
	work, check := scenario(t, 0)
	require.NoError(
		t,
		work(tenant.WithFailpoint(t.Context(), func(name string) { points = append(points, name) })),
	)
	check(t)
	require.NotEmpty(t, points, "the work passes no failpoint")
	for n, name := range points {
		t.Run(fmt.Sprintf("cut %d at %s", n+1, name), func(t *testing.T) {
			work, check := scenario(t, n+1)
			cutAt(t, n, work)
			require.NoError(t, work(t.Context()), "the same work again")
			check(t)
		})
	}
}

func cutAt(t *testing.T, n int, work func(context.Context) error) {
	t.Helper()
	passed, reached := 0, false
	defer func() {
		if cause := recover(); cause != nil {
			if _, ours := cause.(crash); !ours {
				panic(cause)
			}
		}
		require.True(t, reached, "failpoint %d was not reached", n+1)
	}()
	_ = work(tenant.WithFailpoint(t.Context(), func(name string) {
		if passed == n {
			reached = true
			passed++
			panic(crash{name})
		}
		passed++
	}))
}
