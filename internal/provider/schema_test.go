package provider_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/stretchr/testify/require"

	tenantprovider "github.com/tenantry/terraform-provider-tenant/internal/provider"
)

func TestSchemaIsValid(t *testing.T) {
	t.Parallel()
	var resp provider.SchemaResponse
	tenantprovider.New(tenantprovider.Options{}).Schema(t.Context(), provider.SchemaRequest{}, &resp)
	require.Empty(t, resp.Diagnostics)
	require.Empty(t, resp.Schema.ValidateImplementation(t.Context()))
}

// TestEverythingIsDescribed: the documentation is made from the descriptions, so none may be missing.
func TestEverythingIsDescribed(t *testing.T) {
	t.Parallel()
	resp, err := tenantprovider.NewServer(tenantprovider.Options{}).
		GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	require.NoError(t, err)
	require.Empty(t, resp.Diagnostics)
	requireDescribed(t, "provider", resp.Provider)
	require.Len(t, resp.ResourceSchemas, 4)
	for name, schema := range resp.ResourceSchemas {
		requireDescribed(t, name, schema)
	}
}

func requireDescribed(t *testing.T, name string, schema *tfprotov6.Schema) {
	t.Helper()
	require.NotEmpty(t, schema.Block.Description, name)
	require.Empty(t, schema.Block.BlockTypes, "%s: nested attributes, not blocks", name)
	requireAttributesDescribed(t, name, schema.Block.Attributes)
}

func requireAttributesDescribed(t *testing.T, in string, attributes []*tfprotov6.SchemaAttribute) {
	t.Helper()
	for _, attribute := range attributes {
		name := in + "." + attribute.Name
		require.NotEmpty(t, attribute.Description, name)
		require.Equal(t, tfprotov6.StringKindMarkdown, attribute.DescriptionKind, name)
		if attribute.NestedType != nil {
			requireAttributesDescribed(t, name, attribute.NestedType.Attributes)
		}
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	var resp provider.MetadataResponse
	tenantprovider.New(tenantprovider.Options{Version: "1.2.3"}).
		Metadata(t.Context(), provider.MetadataRequest{}, &resp)
	require.Equal(t, provider.MetadataResponse{TypeName: "tenant", Version: "1.2.3"}, resp)
}
