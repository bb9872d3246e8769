// Package acctest is what acceptance tests stand on: root modules in scratch folders, the provider served for the real
// Terraform, and a way to look at, and to disturb, what it made.
package acctest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Main runs a package's tests in an environment in which Terraform obeys nothing that the person who runs them has
// configured, and in which the provider's sockets and logs stay private. Call it in TestMain.
func Main(m *testing.M) error {
	sockets, err := os.MkdirTemp("", "acctest-")
	if err != nil {
		return err
	}
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		return errors.Join(err, os.RemoveAll(sockets))
	}
	for name, value := range map[string]string{
		"TF_ACC_TERRAFORM_PATH":  terraform,
		"TF_CLI_CONFIG_FILE":     filepath.Join(Repository(), "tools", "terraform.tfrc"),
		"TF_IN_AUTOMATION":       "1",
		"CHECKPOINT_DISABLE":     "1",
		"PLUGIN_UNIX_SOCKET_DIR": sockets,
		"TF_LOG_SDK":             "off",
		"TF_LOG_SDK_PROTO":       "off",
		"TF_LOG_PROVIDER_TENANT": "off",
	} {
		err = errors.Join(err, os.Setenv(name, value))
	}
	if err == nil {
		m.Run()
	}
	return errors.Join(err, os.RemoveAll(sockets))
}

// Acceptance begins a test that needs Terraform. Without TF_ACC it fails, because nothing is skipped: leave such tests
// out by their names, TestAcc….
func Acceptance(t *testing.T) {
	t.Helper()
	require.NotEmpty(t, os.Getenv("TF_ACC"), "acceptance tests run with TF_ACC=1, as make acc does")
}

// Repository is the folder of this repository, found from the folder of the package that is being tested. The
// compiler's own record of a file is no help: -trimpath takes it away.
func Repository() string {
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "terraform-registry-manifest.json")); missing == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	panic("this test does not run inside the repository")
}
