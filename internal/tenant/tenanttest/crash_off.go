//go:build !failpoints

package tenanttest

import (
	"context"
	"testing"
)

// CrashEverywhere needs the build tag failpoints, under which `make test` runs; without it the test says so and fails.
func CrashEverywhere(
	t *testing.T, _ func(t *testing.T, round int) (work func(context.Context) error, check func(*testing.T)),
) {
	t.Helper()
	t.Fatal("run the tests with -tags failpoints")
}
