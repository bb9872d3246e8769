package provider_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/provider"
)

// TestStatesOfEarlierReleases reads the states that each release has left with its users: testdata/states has one
// file for each, made by a real apply, and none of them is ever changed.
func TestStatesOfEarlierReleases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/states/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	server := provider.NewServer(provider.Options{})
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	require.NoError(t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		var states map[string]struct {
			SchemaVersion int64           `json:"schema_version"`
			Attributes    json.RawMessage `json:"attributes"`
		}
		require.NoError(t, json.Unmarshal(content, &states))
		require.Len(t, states, 4)
		for typeName, state := range states {
			resp, err := server.UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{
				TypeName: typeName, Version: state.SchemaVersion,
				RawState: &tfprotov6.RawState{JSON: state.Attributes},
			})
			require.NoError(t, err)
			require.Empty(t, resp.Diagnostics, "%s of %s", typeName, file)
			value, err := resp.UpgradedState.Unmarshal(schemas.ResourceSchemas[typeName].ValueType())
			require.NoError(t, err)
			require.True(t, value.IsFullyKnown())
			require.Contains(t, strings.ToLower(value.String()), "northwind", typeName)
		}
	}
}
