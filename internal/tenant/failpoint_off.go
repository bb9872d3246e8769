//go:build !failpoints

package tenant

import "context"

// Failpoint does nothing in a released binary: failpoints exist only under the build tag failpoints.
func Failpoint(context.Context, string) {}

// WithFailpoint returns ctx: see Failpoint.
func WithFailpoint(ctx context.Context, _ func(name string)) context.Context { return ctx }
