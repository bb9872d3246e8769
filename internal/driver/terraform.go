package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/hashicorp/terraform-exec/tfexec"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// ProviderAddress is the provider that this process serves itself.
const ProviderAddress = "registry.terraform.io/tenantry/tenant"

// stopWait is how long Terraform may take to finish the resource in flight after an interrupt. It is longer than the
// longest step: a killed Terraform loses what it was doing.
const stopWait = 10 * time.Minute

// Terraform starts Terraform for one project. Its methods are safe for concurrent use by workers, one each.
type Terraform struct {
	project *Project
	exec    string // the terraform binary
	shim    string // the link to this program that takes the child's lock and then becomes exec
	dataDir string // holds one TF_DATA_DIR for the project and one for each tenant
}

// NewTerraform prepares the folder dataDir/terraform. exec is the terraform binary, shim this program's own.
func NewTerraform(project *Project, exec, self, dataDir string) (*Terraform, error) {
	t := &Terraform{project: project, exec: exec, dataDir: filepath.Join(dataDir, "terraform")}
	doing := "preparing " + t.dataDir
	if err := os.MkdirAll(t.dataDir, 0o700); err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, doing, err)
	}
	t.shim = filepath.Join(t.dataDir, ShimName)
	if target, err := os.Readlink(t.shim); err == nil && target == self {
		return t, nil
	}
	// A rename replaces the link in one step: another driver may be starting Terraform through it.
	fresh := fmt.Sprintf("%s.%d", t.shim, os.Getpid())
	if err := errors.Join(os.Symlink(self, fresh), os.Rename(fresh, t.shim)); err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, doing, err)
	}
	return t, nil
}

func (t *Terraform) sharedDir() string { return filepath.Join(t.dataDir, "shared") }

// worker is one slot of the fleet: a *tfexec.Terraform of its own, because each command sets its output on it.
type worker struct {
	terraform *Terraform
	cli       *tfexec.Terraform
}

func (t *Terraform) newWorker() (*worker, error) {
	cli, err := tfexec.NewTerraform(t.project.Dir, t.shim)
	if err != nil {
		return nil, tenant.Fail(tenant.CodeTerraformMissing, "preparing Terraform", err)
	}
	if err := errors.Join(cli.SetWaitDelay(stopWait)); err != nil {
		return nil, tenant.Fail(tenant.CodeTerraformMissing, "preparing Terraform", err)
	}
	return &worker{terraform: t, cli: cli}, nil
}

// childEnv is what the shim needs and what makes a child cheap: a run is too short for a garbage collection to pay.
func (t *Terraform) childEnv(dataDir, lock string) map[string]string {
	env := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	for _, name := range tfexec.ProhibitedEnv(env) {
		if strings.HasPrefix(name, "TF_VAR_") {
			env[shimEnvPrefix+name] = env[name]
		}
	}
	env = tfexec.CleanEnv(env)
	setDefault(env, "GOGC", "off")
	setDefault(env, "GOMEMLIMIT", "128MiB")
	setDefault(env, "GOMAXPROCS", "1")
	env["CHECKPOINT_DISABLE"] = "1"
	env["TF_DATA_DIR"] = dataDir
	env[shimTerraform] = t.exec
	env[shimLock] = lock
	if config, set := env["TF_CLI_CONFIG_FILE"]; set {
		if _, err := os.Stat(config); errors.Is(err, fs.ErrNotExist) {
			delete(env, "TF_CLI_CONFIG_FILE") // naming a missing file makes every command print a warning
		}
	}
	return env
}

func setDefault(env map[string]string, name, value string) {
	if _, set := env[name]; !set {
		env[name] = value
	}
}

// Init runs `terraform init` if the root module changed since the last one. Its result is shared by all tenants.
func (t *Terraform) Init(ctx context.Context, served Served) error {
	doing := "running terraform init in " + t.project.Dir
	stamp := filepath.Join(t.sharedDir(), "initialised")
	lock := flock.New(filepath.Join(t.dataDir, "init.lock"))
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return tenant.Fail(tenant.CodeBusy, doing, err)
	}
	defer func() { _ = lock.Unlock() }()
	want := t.project.Fingerprint + " " + t.exec
	if holds(stamp, want) {
		return nil
	}
	worker, err := t.newWorker()
	if err != nil {
		return err
	}
	if err := worker.cli.SetEnv(t.childEnv(t.sharedDir(), "")); err != nil {
		return tenant.Fail(tenant.CodeInternal, doing, err)
	}
	events := &stream{}
	err = worker.cli.InitJSON(ctx, events, tfexec.Reattach(reattach(served)), tfexec.Upgrade(false))
	if err != nil {
		return tenant.Fail(tenant.CodeTerraform, doing, events.failure(err))
	}
	if err := os.WriteFile(stamp, []byte(want), 0o600); err != nil {
		return tenant.Fail(tenant.CodeStorage, doing, err)
	}
	return nil
}

// tenantDir makes the tenant's TF_DATA_DIR: its own workspace, everything else shared.
func (t *Terraform) tenantDir(id tenant.ID) (string, error) {
	dir := filepath.Join(t.dataDir, "tenants", string(id))
	doing := "preparing " + dir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", tenant.Fail(tenant.CodeStorage, doing, err)
	}
	for _, name := range []string{"modules", "providers", "terraform.tfstate"} {
		if err := link(filepath.Join("..", "..", "shared", name), filepath.Join(dir, name)); err != nil {
			return "", tenant.Fail(tenant.CodeStorage, doing, err)
		}
	}
	workspace := filepath.Join(dir, "environment")
	if holds(workspace, string(id)) {
		return dir, nil
	}
	if err := os.WriteFile(workspace, []byte(id), 0o600); err != nil {
		return "", tenant.Fail(tenant.CodeStorage, doing, err)
	}
	return dir, nil
}

// holds reports whether a file of our own has that content.
func holds(path, content string) bool {
	have, err := os.ReadFile(path) //nolint:gosec // below the data folder
	return err == nil && string(have) == content
}

// link points name at target, which need not exist.
func link(target, name string) error {
	if have, err := os.Readlink(name); err == nil && have == target {
		return nil
	}
	if err := os.RemoveAll(name); err != nil {
		return err
	}
	return os.Symlink(target, name)
}

// job is one run of Terraform for one tenant.
type job struct {
	tenant    TenantFile
	childLock string
	served    Served
	events    *stream
	text      io.Writer
	noRefresh bool
}

func (w *worker) prepare(j job) ([]string, error) {
	dir, err := w.terraform.tenantDir(j.tenant.ID)
	if err != nil {
		return nil, err
	}
	if err := w.cli.SetEnv(w.terraform.childEnv(dir, j.childLock)); err != nil {
		return nil, tenant.Fail(tenant.CodeInternal, "setting Terraform's environment", err)
	}
	return []string{"tenant_id=" + string(j.tenant.ID)}, nil
}

// apply runs `terraform apply -json`.
func (w *worker) apply(ctx context.Context, j job) error {
	variables, err := w.prepare(j)
	if err != nil {
		return err
	}
	options := []tfexec.ApplyOption{tfexec.Reattach(reattach(j.served)), tfexec.VarFile(j.tenant.Path)}
	for _, variable := range variables {
		options = append(options, tfexec.Var(variable))
	}
	return w.cli.ApplyJSON(ctx, j.events, options...)
}

// plan runs `terraform plan`, as JSON events or, if job.text is set, as text for a person.
func (w *worker) plan(ctx context.Context, j job) (changes bool, err error) {
	variables, err := w.prepare(j)
	if err != nil {
		return false, err
	}
	options := []tfexec.PlanOption{
		tfexec.Reattach(reattach(j.served)), tfexec.VarFile(j.tenant.Path), tfexec.Refresh(!j.noRefresh),
		tfexec.Lock(false), // a look writes nothing, and must not stand in an apply's way
	}
	for _, variable := range variables {
		options = append(options, tfexec.Var(variable))
	}
	if j.text == nil {
		return w.cli.PlanJSON(ctx, j.events, options...)
	}
	w.cli.SetStdout(j.text)
	return w.cli.Plan(ctx, options...)
}

func reattach(served Served) tfexec.ReattachInfo {
	return tfexec.ReattachInfo{ProviderAddress: served.Reattach()}
}
