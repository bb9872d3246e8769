package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/tenantry/terraform-provider-tenant/internal/resources"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// server guards every RPC. The parts that the protocol's Go package keeps optional are found by type assertion, so a
// wrapper that lacks one would hide it. It names each RPC instead of embedding the interface: an embedded one would let
// a new RPC pass unguarded.
type server struct {
	inner    resources.Server
	provider *tenantProvider
	calls    calls
}

var _ resources.Server = (*server)(nil)

// NewServer returns a provider value as Terraform's protocol sees it. A panic in any RPC becomes one terminal
// diagnostic of that RPC: inside the driver it would otherwise end every tenant's run.
func NewServer(options Options) tfprotov6.ProviderServer { return newServer(options) }

func newServer(options Options) *server {
	value := newProvider(options)
	inner, ok := providerserver.NewProtocol6(value)().(resources.Server)
	if !ok {
		panic("this version of the plugin framework lacks an RPC that this package guards")
	}
	return &server{inner: resources.Sealed(inner), provider: value}
}

// ConfigureProvider tells whoever serves the provider about each configuration that was accepted.
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
	if err != nil || hasError(resp.Diagnostics) {
		return resp, err
	}
	options := s.provider.options
	backends := s.provider.backends()
	if backends != nil && options.Capture != nil {
		options.Capture(Captured{Request: req, Backends: backends})
	}
	if options.CaptureOnly {
		resp.Diagnostics = append(resp.Diagnostics, captureOnly(backends != nil))
	}
	return resp, nil
}

func captureOnly(known bool) *tfprotov6.Diagnostic {
	if !known {
		return problem("The provider's configuration is not known", tenant.Fail(tenant.CodeInvalidConfig,
			"learning the provider's configuration",
			errors.New("a value in the provider block is known only after an apply; give it as a variable")))
	}
	return &tfprotov6.Diagnostic{
		Severity: tfprotov6.DiagnosticSeverityError, Summary: CapturedSummary,
		Detail: "This run was only to learn the provider's configuration.",
	}
}

// PlanResourceChange refuses to plan a deletion or a replacement where whoever serves the provider wants none.
func (s *server) PlanResourceChange(
	ctx context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	return guard(ctx, s, "PlanResourceChange", req, s.plan,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.PlanResourceChangeResponse {
			return &tfprotov6.PlanResourceChangeResponse{
				Diagnostics: d, PlannedState: req.PriorState, PlannedPrivate: req.PriorPrivate,
			}
		})
}

func (s *server) plan(
	ctx context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	if s.refuses(req.ProposedNewState) {
		return &tfprotov6.PlanResourceChangeResponse{
			Diagnostics: refusal(
				req.TypeName,
				"delete",
			),
			PlannedState:   req.PriorState,
			PlannedPrivate: req.PriorPrivate,
		}, nil
	}
	resp, err := s.inner.PlanResourceChange(ctx, req)
	if err == nil && s.provider.options.RefuseDestroy && len(resp.RequiresReplace) > 0 &&
		!isNull(req.PriorState) {
		resp.Diagnostics = append(resp.Diagnostics, refusal(req.TypeName, "replace")...)
	}
	return resp, err
}

// ApplyResourceChange answers a panic with the prior state: the planned one would be saved as if it had been reached.
func (s *server) ApplyResourceChange(
	ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	failed := func(d []*tfprotov6.Diagnostic) *tfprotov6.ApplyResourceChangeResponse {
		return &tfprotov6.ApplyResourceChangeResponse{
			Diagnostics: d,
			NewState:    req.PriorState,
			Private:     req.PlannedPrivate,
			NewIdentity: req.PlannedIdentity,
		}
	}
	apply := s.inner.ApplyResourceChange
	if s.refuses(
		req.PlannedState,
	) { // Terraform does not plan the first half of a tainted object's replacement
		apply = func(
			context.Context, *tfprotov6.ApplyResourceChangeRequest,
		) (*tfprotov6.ApplyResourceChangeResponse, error) {
			return failed(refusal(req.TypeName, "delete")), nil
		}
	}
	return guard(ctx, s, "ApplyResourceChange", req, apply, failed)
}

func (s *server) refuses(planned *tfprotov6.DynamicValue) bool {
	return s.provider.options.RefuseDestroy && isNull(planned)
}

func isNull(value *tfprotov6.DynamicValue) bool {
	if value == nil {
		return false
	}
	null, err := value.IsNull()
	return err == nil && null
}

func refusal(typeName, verb string) []*tfprotov6.Diagnostic {
	return problems("A deletion was not asked for", tenant.Fail(
		tenant.CodeDestroyRefused,
		"planning the change of a "+typeName,
		fmt.Errorf("this would %s it, and this run may not delete anything", verb),
	))
}
