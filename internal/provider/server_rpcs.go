package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// The RPCs that need nothing but the guard.

// GetMetadata is the RPC of that name.
func (s *server) GetMetadata(
	ctx context.Context, req *tfprotov6.GetMetadataRequest,
) (*tfprotov6.GetMetadataResponse, error) {
	return guard(ctx, s, "GetMetadata", req, s.inner.GetMetadata,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.GetMetadataResponse {
			return &tfprotov6.GetMetadataResponse{Diagnostics: d}
		})
}

// GetProviderSchema is the RPC of that name.
func (s *server) GetProviderSchema(
	ctx context.Context, req *tfprotov6.GetProviderSchemaRequest,
) (*tfprotov6.GetProviderSchemaResponse, error) {
	return guard(ctx, s, "GetProviderSchema", req, s.inner.GetProviderSchema,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.GetProviderSchemaResponse {
			return &tfprotov6.GetProviderSchemaResponse{Diagnostics: d}
		})
}

// GetResourceIdentitySchemas is the RPC of that name.
func (s *server) GetResourceIdentitySchemas(
	ctx context.Context, req *tfprotov6.GetResourceIdentitySchemasRequest,
) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return guard(ctx, s, "GetResourceIdentitySchemas", req, s.inner.GetResourceIdentitySchemas,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.GetResourceIdentitySchemasResponse {
			return &tfprotov6.GetResourceIdentitySchemasResponse{Diagnostics: d}
		})
}

// ValidateProviderConfig is the RPC of that name.
func (s *server) ValidateProviderConfig(
	ctx context.Context, req *tfprotov6.ValidateProviderConfigRequest,
) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return guard(ctx, s, "ValidateProviderConfig", req, s.inner.ValidateProviderConfig,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.ValidateProviderConfigResponse {
			return &tfprotov6.ValidateProviderConfigResponse{Diagnostics: d}
		})
}

// ValidateResourceConfig is the RPC of that name.
func (s *server) ValidateResourceConfig(
	ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest,
) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return guard(ctx, s, "ValidateResourceConfig", req, s.inner.ValidateResourceConfig,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.ValidateResourceConfigResponse {
			return &tfprotov6.ValidateResourceConfigResponse{Diagnostics: d}
		})
}

// UpgradeResourceState is the RPC of that name.
func (s *server) UpgradeResourceState(
	ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest,
) (*tfprotov6.UpgradeResourceStateResponse, error) {
	return guard(ctx, s, "UpgradeResourceState", req, s.inner.UpgradeResourceState,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.UpgradeResourceStateResponse {
			return &tfprotov6.UpgradeResourceStateResponse{Diagnostics: d}
		})
}

// UpgradeResourceIdentity is the RPC of that name.
func (s *server) UpgradeResourceIdentity(
	ctx context.Context, req *tfprotov6.UpgradeResourceIdentityRequest,
) (*tfprotov6.UpgradeResourceIdentityResponse, error) {
	return guard(ctx, s, "UpgradeResourceIdentity", req, s.inner.UpgradeResourceIdentity,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.UpgradeResourceIdentityResponse {
			return &tfprotov6.UpgradeResourceIdentityResponse{Diagnostics: d}
		})
}

// ReadResource is the RPC of that name.
func (s *server) ReadResource(
	ctx context.Context, req *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	return guard(ctx, s, "ReadResource", req, s.inner.ReadResource,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.ReadResourceResponse {
			return &tfprotov6.ReadResourceResponse{
				Diagnostics: d,
				NewState:    req.CurrentState,
				Private:     req.Private,
				NewIdentity: req.CurrentIdentity,
			}
		})
}

// ImportResourceState is the RPC of that name.
func (s *server) ImportResourceState(
	ctx context.Context, req *tfprotov6.ImportResourceStateRequest,
) (*tfprotov6.ImportResourceStateResponse, error) {
	return guard(ctx, s, "ImportResourceState", req, s.inner.ImportResourceState,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.ImportResourceStateResponse {
			return &tfprotov6.ImportResourceStateResponse{Diagnostics: d}
		})
}

// MoveResourceState is the RPC of that name.
func (s *server) MoveResourceState(
	ctx context.Context, req *tfprotov6.MoveResourceStateRequest,
) (*tfprotov6.MoveResourceStateResponse, error) {
	return guard(ctx, s, "MoveResourceState", req, s.inner.MoveResourceState,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.MoveResourceStateResponse {
			return &tfprotov6.MoveResourceStateResponse{Diagnostics: d}
		})
}

// GenerateResourceConfig is the RPC of that name.
func (s *server) GenerateResourceConfig(
	ctx context.Context, req *tfprotov6.GenerateResourceConfigRequest,
) (*tfprotov6.GenerateResourceConfigResponse, error) {
	return guard(ctx, s, "GenerateResourceConfig", req, s.inner.GenerateResourceConfig,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.GenerateResourceConfigResponse {
			return &tfprotov6.GenerateResourceConfigResponse{Diagnostics: d}
		})
}

// ValidateDataResourceConfig is the RPC of that name.
func (s *server) ValidateDataResourceConfig(
	ctx context.Context, req *tfprotov6.ValidateDataResourceConfigRequest,
) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	return guard(ctx, s, "ValidateDataResourceConfig", req, s.inner.ValidateDataResourceConfig,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.ValidateDataResourceConfigResponse {
			return &tfprotov6.ValidateDataResourceConfigResponse{Diagnostics: d}
		})
}

// ReadDataSource is the RPC of that name.
func (s *server) ReadDataSource(
	ctx context.Context, req *tfprotov6.ReadDataSourceRequest,
) (*tfprotov6.ReadDataSourceResponse, error) {
	return guard(ctx, s, "ReadDataSource", req, s.inner.ReadDataSource,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.ReadDataSourceResponse {
			return &tfprotov6.ReadDataSourceResponse{Diagnostics: d}
		})
}

// GetFunctions is the RPC of that name.
func (s *server) GetFunctions(
	ctx context.Context, req *tfprotov6.GetFunctionsRequest,
) (*tfprotov6.GetFunctionsResponse, error) {
	return guard(ctx, s, "GetFunctions", req, s.inner.GetFunctions,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.GetFunctionsResponse {
			return &tfprotov6.GetFunctionsResponse{Diagnostics: d}
		})
}

// ValidateEphemeralResourceConfig is the RPC of that name.
func (s *server) ValidateEphemeralResourceConfig(
	ctx context.Context, req *tfprotov6.ValidateEphemeralResourceConfigRequest,
) (*tfprotov6.ValidateEphemeralResourceConfigResponse, error) {
	return guard(ctx, s, "ValidateEphemeralResourceConfig", req, s.inner.ValidateEphemeralResourceConfig,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.ValidateEphemeralResourceConfigResponse {
			return &tfprotov6.ValidateEphemeralResourceConfigResponse{Diagnostics: d}
		})
}

// OpenEphemeralResource is the RPC of that name.
func (s *server) OpenEphemeralResource(
	ctx context.Context, req *tfprotov6.OpenEphemeralResourceRequest,
) (*tfprotov6.OpenEphemeralResourceResponse, error) {
	return guard(ctx, s, "OpenEphemeralResource", req, s.inner.OpenEphemeralResource,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.OpenEphemeralResourceResponse {
			return &tfprotov6.OpenEphemeralResourceResponse{Diagnostics: d}
		})
}

// RenewEphemeralResource is the RPC of that name.
func (s *server) RenewEphemeralResource(
	ctx context.Context, req *tfprotov6.RenewEphemeralResourceRequest,
) (*tfprotov6.RenewEphemeralResourceResponse, error) {
	return guard(ctx, s, "RenewEphemeralResource", req, s.inner.RenewEphemeralResource,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.RenewEphemeralResourceResponse {
			return &tfprotov6.RenewEphemeralResourceResponse{Diagnostics: d}
		})
}

// CloseEphemeralResource is the RPC of that name.
func (s *server) CloseEphemeralResource(
	ctx context.Context, req *tfprotov6.CloseEphemeralResourceRequest,
) (*tfprotov6.CloseEphemeralResourceResponse, error) {
	return guard(ctx, s, "CloseEphemeralResource", req, s.inner.CloseEphemeralResource,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.CloseEphemeralResourceResponse {
			return &tfprotov6.CloseEphemeralResourceResponse{Diagnostics: d}
		})
}

// ValidateListResourceConfig is the RPC of that name.
func (s *server) ValidateListResourceConfig(
	ctx context.Context, req *tfprotov6.ValidateListResourceConfigRequest,
) (*tfprotov6.ValidateListResourceConfigResponse, error) {
	return guard(ctx, s, "ValidateListResourceConfig", req, s.inner.ValidateListResourceConfig,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.ValidateListResourceConfigResponse {
			return &tfprotov6.ValidateListResourceConfigResponse{Diagnostics: d}
		})
}

// ValidateActionConfig is the RPC of that name.
func (s *server) ValidateActionConfig(
	ctx context.Context, req *tfprotov6.ValidateActionConfigRequest,
) (*tfprotov6.ValidateActionConfigResponse, error) {
	return guard(ctx, s, "ValidateActionConfig", req, s.inner.ValidateActionConfig,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.ValidateActionConfigResponse {
			return &tfprotov6.ValidateActionConfigResponse{Diagnostics: d}
		})
}

// PlanAction is the RPC of that name.
func (s *server) PlanAction(
	ctx context.Context, req *tfprotov6.PlanActionRequest,
) (*tfprotov6.PlanActionResponse, error) {
	return guard(ctx, s, "PlanAction", req, s.inner.PlanAction,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.PlanActionResponse {
			return &tfprotov6.PlanActionResponse{Diagnostics: d}
		})
}

// ValidateStateStoreConfig is the RPC of that name.
func (s *server) ValidateStateStoreConfig(
	ctx context.Context, req *tfprotov6.ValidateStateStoreConfigRequest,
) (*tfprotov6.ValidateStateStoreConfigResponse, error) {
	return guard(ctx, s, "ValidateStateStoreConfig", req, s.inner.ValidateStateStoreConfig,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.ValidateStateStoreConfigResponse {
			return &tfprotov6.ValidateStateStoreConfigResponse{Diagnostics: d}
		})
}

// ConfigureStateStore is the RPC of that name.
func (s *server) ConfigureStateStore(
	ctx context.Context, req *tfprotov6.ConfigureStateStoreRequest,
) (*tfprotov6.ConfigureStateStoreResponse, error) {
	return guard(ctx, s, "ConfigureStateStore", req, s.inner.ConfigureStateStore,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.ConfigureStateStoreResponse {
			return &tfprotov6.ConfigureStateStoreResponse{Diagnostics: d}
		})
}

// GetStates is the RPC of that name.
func (s *server) GetStates(
	ctx context.Context, req *tfprotov6.GetStatesRequest,
) (*tfprotov6.GetStatesResponse, error) {
	return guard(ctx, s, "GetStates", req, s.inner.GetStates,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.GetStatesResponse {
			return &tfprotov6.GetStatesResponse{Diagnostics: d}
		})
}

// DeleteState is the RPC of that name.
func (s *server) DeleteState(
	ctx context.Context, req *tfprotov6.DeleteStateRequest,
) (*tfprotov6.DeleteStateResponse, error) {
	return guard(ctx, s, "DeleteState", req, s.inner.DeleteState,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.DeleteStateResponse {
			return &tfprotov6.DeleteStateResponse{Diagnostics: d}
		})
}

// LockState is the RPC of that name.
func (s *server) LockState(
	ctx context.Context, req *tfprotov6.LockStateRequest,
) (*tfprotov6.LockStateResponse, error) {
	return guard(ctx, s, "LockState", req, s.inner.LockState,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.LockStateResponse {
			return &tfprotov6.LockStateResponse{Diagnostics: d}
		})
}

// UnlockState is the RPC of that name.
func (s *server) UnlockState(
	ctx context.Context, req *tfprotov6.UnlockStateRequest,
) (*tfprotov6.UnlockStateResponse, error) {
	return guard(ctx, s, "UnlockState", req, s.inner.UnlockState,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.UnlockStateResponse {
			return &tfprotov6.UnlockStateResponse{Diagnostics: d}
		})
}

// WriteStateBytes is the RPC of that name.
func (s *server) WriteStateBytes(
	ctx context.Context, req *tfprotov6.WriteStateBytesStream,
) (*tfprotov6.WriteStateBytesResponse, error) {
	return guard(ctx, s, "WriteStateBytes", req, s.inner.WriteStateBytes,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.WriteStateBytesResponse {
			return &tfprotov6.WriteStateBytesResponse{Diagnostics: d}
		})
}

// StopProvider is the RPC of that name. It is made even if its own context has ended: it ends those of the others.
func (s *server) StopProvider(
	ctx context.Context, req *tfprotov6.StopProviderRequest,
) (*tfprotov6.StopProviderResponse, error) {
	return guard(context.WithoutCancel(ctx), s, "StopProvider", req, s.inner.StopProvider,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.StopProviderResponse {
			return &tfprotov6.StopProviderResponse{Error: d[0].Summary + ": " + d[0].Detail}
		})
}

// CallFunction is the RPC of that name.
func (s *server) CallFunction(
	ctx context.Context, req *tfprotov6.CallFunctionRequest,
) (*tfprotov6.CallFunctionResponse, error) {
	return guard(ctx, s, "CallFunction", req, s.inner.CallFunction,
		func(d []*tfprotov6.Diagnostic) *tfprotov6.CallFunctionResponse {
			return &tfprotov6.CallFunctionResponse{
				Error: &tfprotov6.FunctionError{Text: d[0].Summary + ": " + d[0].Detail},
			}
		})
}
