package provider

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

var errStopped = errors.New("the provider has been stopped")

// calls counts the RPCs in flight, so that a stopped instance can be waited for: when Terraform is gone, a create may
// still be at work on the tenant.
type calls struct {
	mu     sync.Mutex
	closed bool
	open   sync.WaitGroup
}

// begin reports whether a call may start; the caller then calls open.Done at its end.
func (c *calls) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.open.Add(1)
	return true
}

// end lets no further call start and waits for those in flight.
func (c *calls) end() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.open.Wait()
}

// guard makes one RPC. One that is not to start any more, because its context or the instance has ended, and one that
// panics are answered by failed, with one diagnostic.
func guard[Req, Resp any](
	ctx context.Context, s *server, name string, req Req, rpc func(context.Context, Req) (Resp, error),
	failed func([]*tfprotov6.Diagnostic) Resp,
) (resp Resp, err error) {
	doing := "answering Terraform's call " + name
	if ended := ctx.Err(); ended != nil {
		return failed(problems(summaryCanceled, tenant.Fail(tenant.CodeCanceled, doing, ended))), nil
	}
	if !s.calls.begin() {
		return failed(problems(summaryCanceled, tenant.Fail(tenant.CodeCanceled, doing, errStopped))), nil
	}
	defer s.calls.open.Done()
	defer func() {
		if cause := recover(); cause != nil {
			resp, err = failed(fault(ctx, doing, cause)), nil
		}
	}()
	return rpc(tenant.WithFailpoint(ctx, s.provider.options.Failpoint), req)
}

// guardStream is guard for what a stream yields after its RPC has returned: a panic becomes the stream's last
// element. A panic of whoever reads the stream is not ours, and passes.
func guardStream[T any](
	ctx context.Context, s *server, name string, stream iter.Seq[T], failed func([]*tfprotov6.Diagnostic) T,
) iter.Seq[T] {
	if stream == nil {
		return nil
	}
	doing := "answering Terraform's call " + name
	return func(yield func(T) bool) {
		if !s.calls.begin() {
			yield(failed(problems(summaryCanceled, tenant.Fail(tenant.CodeCanceled, doing, errStopped))))
			return
		}
		defer s.calls.open.Done()
		reading := false
		defer func() {
			if reading {
				return
			}
			if cause := recover(); cause != nil {
				yield(failed(fault(ctx, doing, cause)))
			}
		}()
		stream(func(element T) bool {
			reading = true
			more := yield(element)
			reading = false
			return more
		})
	}
}

const (
	summaryCanceled = "The run was interrupted"
	summaryFault    = "A fault in the provider"
)

// fault tells of a panic: where in the diagnostic, with the whole stack in Terraform's log (TF_LOG=error).
func fault(ctx context.Context, doing string, cause any) []*tfprotov6.Diagnostic {
	tflog.Error(ctx, "recovered from a panic", map[string]any{"stack": string(debug.Stack())})
	return problems(summaryFault,
		tenant.Fail(tenant.CodeInternal, doing, fmt.Errorf("panic at %s: %v", panicSite(), cause)))
}

// panicSite names the function and line that panicked: the first one below the runtime's own.
func panicSite() string {
	var stack [64]uintptr
	frames := runtime.CallersFrames(stack[:runtime.Callers(1, stack[:])])
	panicking := false
	for {
		frame, more := frames.Next()
		inRuntime := strings.HasPrefix(frame.Function, "runtime.")
		if panicking && !inRuntime {
			return fmt.Sprintf("%s:%d", frame.Function, frame.Line)
		}
		panicking = panicking || frame.Function == "runtime.gopanic"
		if !more {
			return "an unknown place"
		}
	}
}
