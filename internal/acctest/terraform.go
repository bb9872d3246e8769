package acctest

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/provider"
)

// Result is what one run of Terraform said.
type Result struct {
	Output string // stdout and stderr
	Code   int    // the exit code
}

// Run runs Terraform in the project with a provider instance of its own, served as the driver serves it.
func (p *Project) Run(t *testing.T, options provider.Options, args ...string) Result {
	t.Helper()
	if options.BaseDir == "" {
		options.BaseDir = p.Dir
	}
	served, err := provider.Serve(t.Context(), options)
	require.NoError(t, err)
	defer served.Close()
	return p.RunWith(t, served.Reattach, args...)
}

// RunWith is Run with an instance that is served already.
func (p *Project) RunWith(t *testing.T, instance *plugin.ReattachConfig, args ...string) Result {
	t.Helper()
	program := os.Getenv("TF_ACC_TERRAFORM_PATH")
	cmd := exec.CommandContext(t.Context(), program, args...) //nolint:gosec // the Terraform that Main found
	cmd.Dir = p.Dir
	cmd.Env = append(os.Environ(), "TF_REATTACH_PROVIDERS="+reattach(t, instance))
	output, err := cmd.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); !exited {
		require.NoError(t, err)
	}
	return Result{Output: string(output), Code: cmd.ProcessState.ExitCode()}
}

// Apply applies the project, and fails the test if that does not succeed.
func (p *Project) Apply(t *testing.T, options provider.Options, args ...string) Result {
	t.Helper()
	done := p.Run(t, options, append([]string{"apply", "-no-color", "-auto-approve"}, args...)...)
	require.Zero(t, done.Code, done.Output)
	return done
}

// RequireNoChanges plans the project, and fails the test unless the plan is empty.
func (p *Project) RequireNoChanges(t *testing.T, options provider.Options, args ...string) {
	t.Helper()
	done := p.Run(t, options, append([]string{"plan", "-no-color", "-detailed-exitcode"}, args...)...)
	require.Zero(t, done.Code, done.Output)
}

// reattach is the value of TF_REATTACH_PROVIDERS for one instance.
func reattach(t *testing.T, instance *plugin.ReattachConfig) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{provider.Address: map[string]any{
		"Protocol":        instance.Protocol,
		"ProtocolVersion": instance.ProtocolVersion,
		"Pid":             instance.Pid,
		"Test":            true,
		"Addr": map[string]any{
			"Network": instance.Addr.Network(),
			"String":  instance.Addr.String(),
		},
	}})
	require.NoError(t, err)
	return string(text)
}

// Factories are what terraform-plugin-testing serves: a fresh provider value each time, all with one set of backends,
// which is closed at the test's end. Paths in the configuration are those of the project.
func (p *Project) Factories(
	t *testing.T, options provider.Options,
) map[string]func() (tfprotov6.ProviderServer, error) {
	t.Helper()
	options.BaseDir = p.Dir
	if options.Shared == nil {
		options.Shared = provider.NewShared()
		t.Cleanup(func() { require.NoError(t, options.Shared.Close()) })
	}
	return map[string]func() (tfprotov6.ProviderServer, error){
		"tenant": func() (tfprotov6.ProviderServer, error) { return provider.NewServer(options), nil },
	}
}
