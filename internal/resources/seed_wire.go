package resources

import (
	"bytes"
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// The plugin framework walks every leaf of every value some ten times a run, and looks up the schema of each anew. For
// the hundreds of cells of a seed that cost more than all the rest of an onboarding. So the framework sees the tables
// as one text, which holds them in the encoding in which Terraform sent them; Terraform sees a list of tables, and
// has already converted the configuration to its types.

const (
	seedType   = "tenant_seed"
	tablesName = "tables"
)

// Server is all that Terraform can ask of a provider, the parts that its Go package keeps optional included.
type Server interface {
	tfprotov6.ProviderServer
	tfprotov6.ListResourceServer
	tfprotov6.ActionServer
	tfprotov6.StateStoreServer
}

// sealing is a server whose inner one sees the tables of seeds sealed.
type sealing struct{ Server }

// Sealed wraps the framework's server of a provider that has these resources. Without it a tenant_seed has the wrong
// schema.
func Sealed(inner Server) Server { return sealing{inner} }

// seal hides the tables of a value from the framework. What is null or unknown as a whole stays so.
func seal(typeName string, values ...**tfprotov6.DynamicValue) error {
	return rewrite(typeName, values, func(raw []byte) ([]byte, error) {
		if code := raw[0]; !msgpcode.IsFixedArray(code) && code != msgpcode.Array16 &&
			code != msgpcode.Array32 {
			return raw, nil
		}
		var out bytes.Buffer
		err := msgpack.NewEncoder(&out).EncodeString(string(raw))
		return out.Bytes(), err
	})
}

// unseal is the way back. What was not sealed stays.
func unseal(typeName string, values ...**tfprotov6.DynamicValue) error {
	return rewrite(typeName, values, func(raw []byte) ([]byte, error) {
		if !msgpcode.IsString(raw[0]) {
			return raw, nil
		}
		sealed, err := msgpack.NewDecoder(bytes.NewReader(raw)).DecodeString()
		return []byte(sealed), err
	})
}

// rewrite gives each value that is a seed another encoding of its tables. The values of a request are others' and are not
// changed: new ones take their places.
func rewrite(
	typeName string, values []**tfprotov6.DynamicValue, change func([]byte) ([]byte, error),
) error {
	if typeName != seedType {
		return nil
	}
	for _, value := range values {
		if *value == nil || len((*value).MsgPack) == 0 {
			continue
		}
		changed, err := rewriteTables((*value).MsgPack, change)
		if err != nil {
			return fmt.Errorf("reading a value of %s: %w", seedType, err)
		}
		*value = &tfprotov6.DynamicValue{MsgPack: changed}
	}
	return nil
}

func rewriteTables(value []byte, change func([]byte) ([]byte, error)) ([]byte, error) {
	rest := bytes.NewReader(value)
	decoder := msgpack.NewDecoder(rest)
	if code, err := decoder.PeekCode(); err != nil || !isMap(code) {
		return value, err // null: there is nothing, or nothing any more
	}
	size, err := decoder.DecodeMapLen()
	if err != nil {
		return nil, err
	}
	for range size {
		name, err := decoder.DecodeString()
		if err != nil {
			return nil, err
		}
		start := len(value) - rest.Len()
		if err := decoder.Skip(); err != nil {
			return nil, err
		}
		if name != tablesName {
			continue
		}
		end := len(value) - rest.Len()
		changed, err := change(value[start:end])
		return bytes.Join([][]byte{value[:start], changed, value[end:]}, nil), err
	}
	return value, nil
}

func isMap(code byte) bool {
	return msgpcode.IsFixedMap(code) || code == msgpcode.Map16 || code == msgpcode.Map32
}

// GetProviderSchema shows Terraform the schema of the tables.
func (s sealing) GetProviderSchema(
	ctx context.Context, req *tfprotov6.GetProviderSchemaRequest,
) (*tfprotov6.GetProviderSchemaResponse, error) {
	resp, err := s.Server.GetProviderSchema(ctx, req)
	if err != nil || resp.ResourceSchemas[seedType] == nil {
		return resp, err
	}
	for i, attribute := range resp.ResourceSchemas[seedType].Block.Attributes {
		if attribute.Name == tablesName {
			resp.ResourceSchemas[seedType].Block.Attributes[i] = tablesAttribute()
		}
	}
	return resp, nil
}

// ValidateResourceConfig seals the configuration.
func (s sealing) ValidateResourceConfig(
	ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest,
) (*tfprotov6.ValidateResourceConfigResponse, error) {
	sealed := *req
	if err := seal(req.TypeName, &sealed.Config); err != nil {
		return nil, err
	}
	return s.Server.ValidateResourceConfig(ctx, &sealed)
}

// UpgradeResourceState reads the state's JSON, which only Terraform's own schema can read.
func (s sealing) UpgradeResourceState(
	ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest,
) (*tfprotov6.UpgradeResourceStateResponse, error) {
	if req.TypeName != seedType || req.RawState == nil {
		return s.Server.UpgradeResourceState(ctx, req)
	}
	schemas, err := s.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return nil, err
	}
	schema := schemas.ResourceSchemas[seedType]
	if req.Version != schema.Version {
		return s.Server.UpgradeResourceState(ctx, req)
	}
	state, err := req.RawState.UnmarshalWithOpts(schema.ValueType(), tfprotov6.UnmarshalOpts{
		ValueFromJSONOpts: tftypes.ValueFromJSONOpts{IgnoreUndefinedAttributes: true},
	})
	if err != nil {
		summary, detail := tell(tenant.StepSeed,
			tenant.Fail(tenant.CodeInvalidConfig, "reading a seed from Terraform's state", err))
		return &tfprotov6.UpgradeResourceStateResponse{Diagnostics: []*tfprotov6.Diagnostic{{
			Severity: tfprotov6.DiagnosticSeverityError,
			Summary:  summary,
			Detail:   detail,
		}}}, nil
	}
	upgraded, err := tfprotov6.NewDynamicValue(schema.ValueType(), state)
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &upgraded}, err
}

// ReadResource seals the state and unseals what it became.
func (s sealing) ReadResource(
	ctx context.Context, req *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	sealed := *req
	if err := seal(req.TypeName, &sealed.CurrentState); err != nil {
		return nil, err
	}
	resp, err := s.Server.ReadResource(ctx, &sealed)
	if err == nil {
		err = unseal(req.TypeName, &resp.NewState)
	}
	return resp, err
}

// PlanResourceChange seals what is planned from, and unseals the plan.
func (s sealing) PlanResourceChange(
	ctx context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	sealed := *req
	if err := seal(req.TypeName, &sealed.PriorState, &sealed.ProposedNewState, &sealed.Config); err != nil {
		return nil, err
	}
	resp, err := s.Server.PlanResourceChange(ctx, &sealed)
	if err == nil {
		err = unseal(req.TypeName, &resp.PlannedState)
	}
	return resp, err
}

// ApplyResourceChange seals what is applied, and unseals the new state.
func (s sealing) ApplyResourceChange(
	ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	sealed := *req
	if err := seal(req.TypeName, &sealed.PriorState, &sealed.PlannedState, &sealed.Config); err != nil {
		return nil, err
	}
	resp, err := s.Server.ApplyResourceChange(ctx, &sealed)
	if err == nil {
		err = unseal(req.TypeName, &resp.NewState)
	}
	return resp, err
}

// ImportResourceState unseals what was imported.
func (s sealing) ImportResourceState(
	ctx context.Context, req *tfprotov6.ImportResourceStateRequest,
) (*tfprotov6.ImportResourceStateResponse, error) {
	resp, err := s.Server.ImportResourceState(ctx, req)
	if err != nil {
		return resp, err
	}
	for _, imported := range resp.ImportedResources {
		if err := unseal(imported.TypeName, &imported.State); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// GenerateResourceConfig seals the state and unseals the configuration.
func (s sealing) GenerateResourceConfig(
	ctx context.Context, req *tfprotov6.GenerateResourceConfigRequest,
) (*tfprotov6.GenerateResourceConfigResponse, error) {
	sealed := *req
	if err := seal(req.TypeName, &sealed.State); err != nil {
		return nil, err
	}
	resp, err := s.Server.GenerateResourceConfig(ctx, &sealed)
	if err == nil {
		err = unseal(req.TypeName, &resp.Config)
	}
	return resp, err
}
