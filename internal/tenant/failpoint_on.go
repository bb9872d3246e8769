//go:build failpoints

package tenant

import "context"

type failpointKey struct{}

// Failpoint calls the hook that ctx carries, which may kill this process, Terraform or both. It stands between any
// two writes to the outside, so that tests can end the work exactly there.
func Failpoint(ctx context.Context, name string) {
	if hook, ok := ctx.Value(failpointKey{}).(func(string)); ok && hook != nil {
		hook(name)
	}
}

// WithFailpoint returns a context whose failpoints call hook.
func WithFailpoint(ctx context.Context, hook func(name string)) context.Context {
	return context.WithValue(ctx, failpointKey{}, hook)
}
