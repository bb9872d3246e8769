package driver

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const goodRoot = `
variable "tenant_id" { type = string }
variable "plan" { type = string }
variable "api_token" {
  type      = string
  sensitive = true
}
variable "once" {
  type      = string
  ephemeral = true
}
provider "tenant" { installation = "test-eu" }
output "tenant" { value = {} }
`

func project(t *testing.T, root string, files map[string]string) (*Project, error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, TenantsFolder), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.tf"), []byte(root), 0o600))
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, TenantsFolder, name), []byte(content), 0o600))
	}
	return OpenProject(dir)
}

func TestOpenProjectRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ root, want string }{
		"no output":    {`variable "tenant_id" {}`, `no output "tenant"`},
		"no variable":  {`output "tenant" { value = 1 }`, `no variable "tenant_id"`},
		"syntax error": {`output "tenant" {`, "main.tf"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := project(t, test.root, nil)
			require.ErrorContains(t, err, test.want)
			require.True(t, tenant.HasCode(err, tenant.CodeInvalidConfig))
		})
	}
	_, err := OpenProject(t.TempDir())
	require.ErrorContains(t, err, "tenantctl init")
}

func TestTenantsOneBadFileLeavesTheOthers(t *testing.T) {
	t.Parallel()
	p, err := project(t, goodRoot, map[string]string{
		"acme.tfvars":       "plan = \"pro\"\napi_token = \"hunter2\"\nonce = \"hunter3\"\n",
		"bad.tfvars":        "plan = ",
		"typo.tfvars":       "plam = \"pro\"\n",
		"json.tfvars.json":  `{"plan": "trial"}`,
		"www.tfvars":        "",
		"twice.tfvars":      "",
		"twice.tfvars.json": "{}",
		"other.tfvars":      `tenant_id = "acme"`,
		"named.tfvars":      `tenant_id = "named"`,
		".hidden.tfvars":    "",
		"README.md":         "",
	})
	require.NoError(t, err)
	files, err := p.Tenants(nil)
	require.NoError(t, err)
	codes := map[tenant.ID]tenant.Code{}
	for _, file := range files {
		codes[file.ID] = ""
		if file.Err != nil {
			codes[file.ID] = tenant.FailureOf(file.Err).Code
		}
	}
	require.Equal(t, map[tenant.ID]tenant.Code{
		"acme":  "",
		"json":  "",
		"named": "",
		"bad":   tenant.CodeInvalidConfig,
		"typo":  tenant.CodeInvalidConfig,
		"www":   tenant.CodeInvalidTenantID,
		"twice": tenant.CodeInvalidConfig,
		"other": tenant.CodeTenantIDChanged,
	}, codes)
	require.Equal(t, "pro", files[0].Text("plan"))
	spec, err := files[0].Spec()
	require.NoError(t, err)
	require.JSONEq(t, `{"plan": "pro"}`, string(spec), "secret values are not stored")
}

func TestTenantsNamedWithoutAFile(t *testing.T) {
	t.Parallel()
	p, err := project(t, goodRoot, map[string]string{"acme.tfvars": ""})
	require.NoError(t, err)
	files, err := p.Tenants([]string{"nobody", "acme"})
	require.NoError(t, err)
	require.Len(t, files, 2)
	require.NoError(t, files[0].Err)
	require.ErrorContains(t, files[1].Err, "tenants/nobody.tfvars")
}

func TestProviderVaries(t *testing.T) {
	t.Parallel()
	p, err := project(t, goodRoot, nil)
	require.NoError(t, err)
	require.False(t, p.ProviderVaries)
	p, err = project(t, goodRoot+`provider "tenant" { installation = var.plan }`, nil)
	require.NoError(t, err)
	require.True(t, p.ProviderVaries)
}
