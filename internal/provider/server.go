package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// NewServer returns a provider value as Terraform's protocol sees it. A panic in any RPC becomes one terminal
// diagnostic of that RPC: inside the driver it would otherwise end every tenant's run.
func NewServer(options Options) tfprotov6.ProviderServer {
	value := newProvider(options)
	return &server{inner: providerserver.NewProtocol6(value)(), provider: value}
}

// server guards every RPC. It names each of them instead of embedding the interface: an embedded one would let a new
// RPC pass unguarded.
type server struct {
	inner    tfprotov6.ProviderServer
	provider *tenantProvider
	mu       sync.Mutex
	first    *tfprotov6.DynamicValue // the configuration of this run
}

var _ tfprotov6.ProviderServer = (*server)(nil)

// guard calls one RPC; after a panic failed makes the answer.
func guard[Req, Resp any](
	ctx context.Context, s *server, name string, req Req, rpc func(context.Context, Req) (Resp, error),
	failed func([]*tfprotov6.Diagnostic) Resp,
) (resp Resp, err error) {
	ctx = tenant.WithFailpoint(ctx, s.provider.options.Failpoint)
	caught := tenant.Guard("answering Terraform's call "+name, func() error {
		resp, err = rpc(ctx, req)
		return nil
	})
	if caught != nil {
		failure := tenant.FailureOf(caught)
		return failed([]*tfprotov6.Diagnostic{problem("A fault in the provider", &failure)}), nil
	}
	return resp, err
}

// ConfigureProvider refuses a second, different configuration: two aliases reach the same served instance, and the
// last one would silently count for both.
func (s *server) ConfigureProvider(
	ctx context.Context, req *tfprotov6.ConfigureProviderRequest,
) (*tfprotov6.ConfigureProviderResponse, error) {
	return guard(ctx, s, "ConfigureProvider", req, s.configure,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.ConfigureProviderResponse {
			return &tfprotov6.ConfigureProviderResponse{Diagnostics: d}
		})
}

func (s *server) configure(
	ctx context.Context, req *tfprotov6.ConfigureProviderRequest,
) (*tfprotov6.ConfigureProviderResponse, error) {
	resp, err := s.inner.ConfigureProvider(ctx, req)
	if err != nil || resp == nil || hasError(resp.Diagnostics) || s.provider.backends == nil {
		return resp, err
	}
	if !s.only(req) {
		failure := tenant.Fail(tenant.CodeInvalidConfig, "configuring the provider a second time", errors.New(
			"the root module has two provider \"tenant\" blocks that differ; keep one, and a root module for each fleet"))
		resp.Diagnostics = append(resp.Diagnostics, problem("The provider is configured twice", failure))
		return resp, nil
	}
	if s.provider.options.Capture != nil {
		s.provider.options.Capture(Captured{Request: req, Backends: s.provider.backends})
	}
	if s.provider.options.CaptureOnly {
		resp.Diagnostics = append(resp.Diagnostics, &tfprotov6.Diagnostic{
			Severity: tfprotov6.DiagnosticSeverityError, Summary: CapturedSummary,
			Detail: "This run was only to learn the provider's configuration.",
		})
	}
	return resp, nil
}

// only reports whether this is the one configuration of the run: Terraform sends it for the plan and again for the
// apply, but in a reattached provider two aliases end up here as well.
func (s *server) only(req *tfprotov6.ConfigureProviderRequest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first = req.Config
	}
	return bytes.Equal(s.first.MsgPack, req.Config.MsgPack) && bytes.Equal(s.first.JSON, req.Config.JSON)
}

// PlanResourceChange refuses to plan a deletion where whoever serves the provider does not want one.
func (s *server) PlanResourceChange(
	ctx context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	failed := func(d []*tfprotov6.Diagnostic) *tfprotov6.PlanResourceChangeResponse {
		return &tfprotov6.PlanResourceChangeResponse{Diagnostics: d, PlannedState: req.PriorState}
	}
	if refused := s.refusedDelete(req.TypeName, req.ProposedNewState); refused != nil {
		return failed(refused), nil
	}
	return guard(ctx, s, "PlanResourceChange", req, s.inner.PlanResourceChange, failed)
}

// ApplyResourceChange answers a panic with the prior state: the planned one would be saved as if it had been reached.
func (s *server) ApplyResourceChange(
	ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	failed := func(d []*tfprotov6.Diagnostic) *tfprotov6.ApplyResourceChangeResponse {
		return &tfprotov6.ApplyResourceChangeResponse{
			Diagnostics: d, NewState: req.PriorState, Private: req.PlannedPrivate,
		}
	}
	if refused := s.refusedDelete(req.TypeName, req.PlannedState); refused != nil {
		return failed(refused), nil
	}
	return guard(ctx, s, "ApplyResourceChange", req, s.inner.ApplyResourceChange, failed)
}

func (s *server) refusedDelete(typeName string, planned *tfprotov6.DynamicValue) []*tfprotov6.Diagnostic {
	if !s.provider.options.RefuseDestroy || planned == nil {
		return nil
	}
	if gone, err := planned.IsNull(); err != nil || !gone {
		return nil
	}
	failure := tenant.Fail(tenant.CodeDestroyRefused, "planning to delete a "+typeName,
		fmt.Errorf("the plan would delete a %s, and this run may not delete anything", typeName))
	return []*tfprotov6.Diagnostic{problem("A deletion was not asked for", failure)}
}
