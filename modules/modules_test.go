package modules_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAccModule runs the module's own tests, `terraform test`, against the built provider.
func TestAccModule(t *testing.T) {
	t.Parallel()
	module := t.TempDir()
	require.NoError(t, os.CopyFS(module, os.DirFS("tenant")))
	environment := append(os.Environ(), "TF_CLI_CONFIG_FILE="+installed(t), "CHECKPOINT_DISABLE=1")
	for _, args := range [][]string{
		{"init", "-no-color"}, {"validate", "-no-color"}, {"test", "-no-color"},
	} {

		terraform := exec.CommandContext(t.Context(), "terraform", args...)
		terraform.Dir, terraform.Env = module, environment
		out, err := terraform.CombinedOutput()
		require.NoError(t, err, "terraform %v\n%s", args, out)
	}
}

// installed builds the provider into a mirror of its own and returns the CLI configuration that names it.
func installed(t *testing.T) string {
	t.Helper()
	mirror := t.TempDir()
	binary := filepath.Join(mirror, "registry.terraform.io", "tenantry", "tenant", "0.1.0",
		runtime.GOOS+"_"+runtime.GOARCH, "terraform-provider-tenant_v0.1.0")

	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "..")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	config := filepath.Join(mirror, "terraform.tfrc")
	require.NoError(t, os.WriteFile(
		config,
		[]byte(
			"provider_installation {\n  filesystem_mirror {\n    path = \""+filepath.ToSlash(
				mirror,
			)+"\"\n  }\n}\n",
		),
		0o600,
	))
	return config
}
