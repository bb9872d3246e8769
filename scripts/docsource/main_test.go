package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/acctest"
	"github.com/tenantry/terraform-provider-tenant/internal/provider"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func TestMain(m *testing.M) {
	if err := acctest.Main(m); err != nil {
		panic(fmt.Sprintf("preparing the tests: %v", err))
	}
}

type document struct {
	Schemas map[string]map[string]any `json:"provider_schemas"`
}

// TestAccSchema compares our document with the one of the Terraform that is installed, in all that this one knows.
func TestAccSchema(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	var ours, theirs document
	var written bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"schema"}, &written))
	require.NoError(t, json.Unmarshal(written.Bytes(), &ours))
	told := acctest.NewProject(t).Run(t, provider.Options{}, "providers", "schema", "-json")
	require.Zero(t, told.Code, told.Output)
	require.NoError(t, json.Unmarshal([]byte(told.Output), &theirs))

	known := theirs.Schemas[provider.Address]
	require.NotEmpty(t, known["resource_schemas"])
	for part, content := range known {
		require.Equal(t, content, ours.Schemas[shortName][part], part)
	}
}

func TestCodes(t *testing.T) {
	t.Parallel()
	var written bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"codes"}, &written))
	rows := strings.Split(strings.TrimSpace(written.String()), "\n")
	require.Len(t, rows, len(tenant.Codes())+2)
	for _, row := range rows {
		require.Equal(t, 5, strings.Count(row, "|"), "a table's row of four cells: %s", row)
	}
}

func TestUnknownSubject(t *testing.T) {
	t.Parallel()
	require.Error(t, run(t.Context(), []string{"nonsense"}, &bytes.Buffer{}))
	require.Error(t, run(t.Context(), nil, &bytes.Buffer{}))
}
