package provider

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/resources"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// faulty panics in every RPC: the interface in it is nil.
type faulty struct{ resources.Server }

func faultyServer() *server { return &server{inner: faulty{}, provider: newProvider(Options{})} }

// rpcs are the names of all that Terraform may call, those of the framework included that the protocol does not yet
// demand.
func rpcs(t *testing.T) []string {
	t.Helper()
	names := map[string]bool{}
	for _, kind := range []reflect.Type{
		reflect.TypeFor[tfprotov6.ProviderServer](),
		reflect.TypeFor[tfprotov6.ProviderServerWithListResource](), //nolint:staticcheck // what the wire looks for
		reflect.TypeFor[tfprotov6.ProviderServerWithActions](),      //nolint:staticcheck // what the wire looks for
		reflect.TypeFor[tfprotov6.ProviderServerWithStateStores](),  //nolint:staticcheck // what the wire looks for
		reflect.TypeOf(providerserver.NewProtocol6(New(Options{}))()),
	} {
		for method := range kind.Methods() {
			names[method.Name] = true
		}
	}
	var sorted []string
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	return sorted
}

// ask calls an RPC with an empty request and returns the diagnostics of the answer.
func ask(ctx context.Context, t *testing.T, s *server, name string) []*tfprotov6.Diagnostic {
	t.Helper()
	method := reflect.ValueOf(s).MethodByName(name)
	require.True(t, method.IsValid(), "%s is not guarded", name)
	request := reflect.New(method.Type().In(1).Elem())
	out := method.Call([]reflect.Value{reflect.ValueOf(ctx), request})
	require.True(t, out[1].IsNil(), "%s: %v", name, out[1])
	require.False(t, out[0].IsNil(), name)
	return diagnosticsOf(t, out[0].Interface())
}

func diagnosticsOf(t *testing.T, answer any) []*tfprotov6.Diagnostic {
	t.Helper()
	switch answer := answer.(type) {
	case *tfprotov6.StopProviderResponse:
		return []*tfprotov6.Diagnostic{{Severity: tfprotov6.DiagnosticSeverityError, Detail: answer.Error}}
	case *tfprotov6.CallFunctionResponse:
		return []*tfprotov6.Diagnostic{
			{Severity: tfprotov6.DiagnosticSeverityError, Detail: answer.Error.Text},
		}
	case *tfprotov6.ListResourceServerStream:
		return slices.Collect(answer.Results)[0].Diagnostics
	case *tfprotov6.ReadStateBytesStream:
		return slices.Collect(answer.Chunks)[0].Diagnostics
	case *tfprotov6.InvokeActionServerStream:
		completed, ok := slices.Collect(answer.Events)[0].Type.(tfprotov6.CompletedInvokeActionEventType)
		require.True(t, ok)
		return completed.Diagnostics
	default:
		field := reflect.ValueOf(answer).Elem().FieldByName("Diagnostics")
		diagnostics, ok := reflect.TypeAssert[[]*tfprotov6.Diagnostic](field)
		require.True(t, ok)
		return diagnostics
	}
}

func requireFailure(t *testing.T, diagnostics []*tfprotov6.Diagnostic, code tenant.Code, says string) {
	t.Helper()
	require.Len(t, diagnostics, 1)
	require.Equal(t, tfprotov6.DiagnosticSeverityError, diagnostics[0].Severity)
	failure, ok := tenant.ParseFailureLine(diagnostics[0].Detail)
	require.True(t, ok, diagnostics[0].Detail)
	require.Equal(t, tenant.Failure{Code: code, Class: code.Info().Class}, failure)
	require.Contains(t, diagnostics[0].Detail, says)
}

func TestEveryRPCIsGuarded(t *testing.T) {
	t.Parallel()
	names := rpcs(t)
	require.Contains(t, names, "ApplyResourceChange")
	require.Contains(t, names, "InvokeAction")
	s := faultyServer()
	for _, name := range names {
		diagnostics := ask(t.Context(), t, s, name)
		requireFailure(t, diagnostics, tenant.CodeInternal, "panic at ")
	}
	s.calls.end() // no panic leaves a call open, or this waits for ever
}

func TestNoRPCStartsAfterTheEnd(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	stopped := faultyServer()
	stopped.calls.end()
	for _, name := range rpcs(t) {
		diagnostics := ask(t.Context(), t, stopped, name)
		requireFailure(t, diagnostics, tenant.CodeCanceled, "has been stopped")
		if name == "StopProvider" {
			continue // it ends the others, so it is made
		}
		diagnostics = ask(ended, t, faultyServer(), name)
		requireFailure(t, diagnostics, tenant.CodeCanceled, "context canceled")
	}
}

func TestAPanicNamesItsPlace(t *testing.T) {
	t.Parallel()
	_, err := guard(t.Context(), faultyServer(), "X", 1, explode,
		func(d []*tfprotov6.Diagnostic) error { return errors.New(d[0].Detail) })
	require.NoError(t, err)
	answer, _ := guard(t.Context(), faultyServer(), "X", 1, explode,
		func(d []*tfprotov6.Diagnostic) string { return d[0].Detail })
	require.Contains(t, answer, "internal/provider.explode")
	require.Contains(t, answer, "the roof is on fire")
}

func explode[T any](context.Context, int) (T, error) { panic("the roof is on fire") }

func object(t *testing.T, value any) *tfprotov6.DynamicValue {
	t.Helper()
	kind := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"id": tftypes.String}}
	if value != nil {
		value = map[string]tftypes.Value{"id": tftypes.NewValue(tftypes.String, value)}
	}
	out, err := tfprotov6.NewDynamicValue(kind, tftypes.NewValue(kind, value))
	require.NoError(t, err)
	return &out
}

// TestAPanicLeavesTheStateAsItWas: the planned state would be saved as if it had been reached.
func TestAPanicLeavesTheStateAsItWas(t *testing.T) {
	t.Parallel()
	prior, planned := object(t, "old"), object(t, "new")
	s := faultyServer()
	applied, err := s.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		PriorState: prior, PlannedState: planned, PlannedPrivate: []byte("private"),
	})
	require.NoError(t, err)
	require.Same(t, prior, applied.NewState)
	require.Equal(t, []byte("private"), applied.Private)

	read, err := s.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
		CurrentState: prior, Private: []byte("private"),
	})
	require.NoError(t, err)
	require.Same(t, prior, read.NewState)
	require.Equal(t, []byte("private"), read.Private)

	plan, err := s.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
		PriorState: prior, ProposedNewState: planned,
	})
	require.NoError(t, err)
	require.Same(t, prior, plan.PlannedState)
}

// streaming yields one element and then panics.
type streaming struct{ resources.Server }

func (streaming) ListResource(
	context.Context, *tfprotov6.ListResourceRequest,
) (*tfprotov6.ListResourceServerStream, error) {
	return &tfprotov6.ListResourceServerStream{Results: func(yield func(tfprotov6.ListResourceResult) bool) {
		if yield(tfprotov6.ListResourceResult{DisplayName: "first"}) {
			panic("in the middle of the stream")
		}
	}}, nil
}

func TestAPanicInAStreamEndsIt(t *testing.T) {
	t.Parallel()
	s := &server{inner: streaming{}, provider: newProvider(Options{})}
	stream, err := s.ListResource(t.Context(), nil)
	require.NoError(t, err)
	all := slices.Collect(stream.Results)
	require.Len(t, all, 2)
	require.Equal(t, "first", all[0].DisplayName)
	requireFailure(t, all[1].Diagnostics, tenant.CodeInternal, "in the middle of the stream")

	for range stream.Results {
		break // a reader that has enough
	}
	require.PanicsWithValue(t, "the reader's own", func() {
		for range stream.Results {
			panic("the reader's own")
		}
	})
	s.calls.end()
	requireFailure(t, slices.Collect(stream.Results)[0].Diagnostics, tenant.CodeCanceled, "has been stopped")
}

// obedient answers every plan and apply with what was asked for.
type obedient struct {
	resources.Server

	replace bool
}

func (o obedient) PlanResourceChange(
	_ context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	resp := &tfprotov6.PlanResourceChangeResponse{PlannedState: req.ProposedNewState}
	if o.replace {
		resp.RequiresReplace = []*tftypes.AttributePath{tftypes.NewAttributePath().WithAttributeName("id")}
	}
	return resp, nil
}

func (obedient) ApplyResourceChange(
	_ context.Context, req *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	return &tfprotov6.ApplyResourceChangeResponse{NewState: req.PlannedState}, nil
}

func TestADeletionIsRefusedWhereNoneIsWanted(t *testing.T) {
	t.Parallel()
	old, changed, none := object(t, "old"), object(t, "new"), object(t, nil)
	for name, test := range map[string]struct {
		prior, planned *tfprotov6.DynamicValue
		replace, fails bool
	}{
		"create":                     {prior: none, planned: changed},
		"create of what is replaced": {prior: none, planned: changed, replace: true},
		"update":                     {prior: old, planned: changed},
		"delete":                     {prior: old, planned: none, fails: true},
		"replace":                    {prior: old, planned: changed, replace: true, fails: true},
	} {
		for _, refuse := range []bool{true, false} {
			s := &server{
				inner:    obedient{replace: test.replace},
				provider: newProvider(Options{RefuseDestroy: refuse}),
			}
			plan, err := s.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
				TypeName: "tenant_database", PriorState: test.prior, ProposedNewState: test.planned,
			})
			require.NoError(t, err)
			if refuse && test.fails {
				requireFailure(t, plan.Diagnostics, tenant.CodeDestroyRefused, "")
			} else {
				require.Empty(t, plan.Diagnostics, name)
			}
			applied, err := s.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
				TypeName: "tenant_database", PriorState: test.prior, PlannedState: test.planned,
			})
			require.NoError(t, err)
			if refuse && test.planned == none {
				requireFailure(t, applied.Diagnostics, tenant.CodeDestroyRefused, "delete")
				require.Same(t, test.prior, applied.NewState)
			} else {
				require.Empty(t, applied.Diagnostics, name)
			}
		}
	}
}
