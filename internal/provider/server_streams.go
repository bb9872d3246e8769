package provider

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// The RPCs whose work is done while their answer is read.

// ListResource is the RPC of that name.
func (s *server) ListResource(
	ctx context.Context, req *tfprotov6.ListResourceRequest,
) (*tfprotov6.ListResourceServerStream, error) {
	const name = "ListResource"
	last := func(d []*tfprotov6.Diagnostic) tfprotov6.ListResourceResult {
		return tfprotov6.ListResourceResult{Diagnostics: d}
	}
	resp, err := guard(ctx, s, name, req, s.inner.ListResource,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.ListResourceServerStream {
			return &tfprotov6.ListResourceServerStream{
				Results: slices.Values([]tfprotov6.ListResourceResult{last(d)}),
			}
		})
	if resp != nil {
		resp.Results = guardStream(ctx, s, name, resp.Results, last)
	}
	return resp, err
}

// InvokeAction is the RPC of that name.
func (s *server) InvokeAction(
	ctx context.Context, req *tfprotov6.InvokeActionRequest,
) (*tfprotov6.InvokeActionServerStream, error) {
	const name = "InvokeAction"
	last := func(d []*tfprotov6.Diagnostic) tfprotov6.InvokeActionEvent {
		return tfprotov6.InvokeActionEvent{Type: tfprotov6.CompletedInvokeActionEventType{Diagnostics: d}}
	}
	resp, err := guard(ctx, s, name, req, s.inner.InvokeAction,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.InvokeActionServerStream {
			return &tfprotov6.InvokeActionServerStream{
				Events: slices.Values([]tfprotov6.InvokeActionEvent{last(d)}),
			}
		})
	if resp != nil {
		resp.Events = guardStream(ctx, s, name, resp.Events, last)
	}
	return resp, err
}

// ReadStateBytes is the RPC of that name.
func (s *server) ReadStateBytes(
	ctx context.Context, req *tfprotov6.ReadStateBytesRequest,
) (*tfprotov6.ReadStateBytesStream, error) {
	const name = "ReadStateBytes"
	last := func(d []*tfprotov6.Diagnostic) tfprotov6.ReadStateByteChunk {
		return tfprotov6.ReadStateByteChunk{Diagnostics: d}
	}
	resp, err := guard(ctx, s, name, req, s.inner.ReadStateBytes,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.ReadStateBytesStream {
			return &tfprotov6.ReadStateBytesStream{
				Chunks: slices.Values([]tfprotov6.ReadStateByteChunk{last(d)}),
			}
		})
	if resp != nil {
		resp.Chunks = guardStream(ctx, s, name, resp.Chunks, last)
	}
	return resp, err
}
