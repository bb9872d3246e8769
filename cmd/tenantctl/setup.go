package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/terraform-exec/tfexec"

	"github.com/tenantry/terraform-provider-tenant/internal/catalog"
	"github.com/tenantry/terraform-provider-tenant/internal/driver"
	"github.com/tenantry/terraform-provider-tenant/internal/provider"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/welcome"
)

// mailsFolder is where a project keeps mail templates of its own.
const mailsFolder = "mails"

// defaultParallel is one more tenant than cores: while one waits for a disk or a server, another one works.
func defaultParallel() int { return runtime.NumCPU() + 1 }

func (o *options) dataFolder() string {
	if filepath.IsAbs(o.dataDir) {
		return o.dataDir
	}
	return filepath.Join(o.chdir, o.dataDir)
}

func (o *options) catalogPath() string {
	if o.catalog != "" {
		return o.catalog
	}
	return filepath.Join(o.dataFolder(), "catalog.db")
}

func (o *options) openCatalog(ctx context.Context) (*catalog.Catalog, error) {
	return catalog.Open(ctx, catalog.Config{
		Path: o.catalogPath(), LockDir: filepath.Join(o.dataFolder(), "locks"), Now: time.Now,
	})
}

// fleet is a driver with all that it stands on, to be closed.
type fleet struct {
	*driver.Driver
	closers []func() error
}

func (f *fleet) Close() error {
	var errs []error
	for _, closer := range slices.Backward(f.closers) {
		errs = append(errs, closer())
	}
	return errors.Join(errs...)
}

// openFleet puts the driver together. This is the one place where driver and provider meet.
func (o *options) openFleet(ctx context.Context, configure func(*driver.Config)) (*fleet, error) {
	if o.parallel < 1 {
		return nil, usageError{fmt.Errorf("--parallel is %d; at least 1 is needed", o.parallel)}
	}
	project, err := driver.OpenProject(o.chdir)
	if err != nil {
		return nil, err
	}
	data, err := filepath.Abs(o.dataFolder())
	if err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, "finding the data folder", err)
	}
	path, err := driver.FindTerraform(ctx, driver.TerraformSource{
		Given: o.terraform, Dir: filepath.Join(data, "bin"),
		Tell: func(text string) { fmt.Fprintln(o.err, "tenantctl: "+text) },
	})
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, tenant.Fail(tenant.CodeInternal, "finding this program's own file", err)
	}
	terraform, err := driver.NewTerraform(project, path, self, data)
	if err != nil {
		return nil, err
	}
	return o.assemble(ctx, project, terraform, data, configure)
}

func (o *options) assemble(
	ctx context.Context, project *driver.Project, terraform *driver.Terraform, data string,
	configure func(*driver.Config),
) (_ *fleet, err error) {
	opened := &fleet{}
	defer func() {
		if err != nil {
			err = errors.Join(err, opened.Close())
		}
	}()
	closeSockets, err := privateSockets()
	if err != nil {
		return nil, err
	}
	opened.closers = append(opened.closers, closeSockets)
	records, err := o.openCatalog(ctx)
	if err != nil {
		return nil, err
	}
	shared, failpoint := provider.NewShared(), failpointHook(data)
	opened.closers = append(opened.closers, records.Close, shared.Close)
	config := driver.Config{
		Project: project, Terraform: terraform, Catalog: records,
		Provider:  inProcess{baseDir: project.Dir, shared: shared, failpoint: failpoint},
		Sender:    welcome.Maildir{Dir: filepath.Join(data, "mail")},
		Templates: templates(project.Dir),
		Progress:  o.progress(),
		Now:       time.Now, Parallel: o.parallel, Retry: driver.DefaultRetry(), Sleep: driver.Sleep,
		DomainWait: driver.DefaultDomainWait, Failpoint: failpoint,
	}
	configure(&config)
	opened.Driver, err = driver.New(config)
	return opened, err
}

// templates are the project's own mails, or the built-in ones.
func templates(dir string) fs.FS {
	own := filepath.Join(dir, mailsFolder)
	if info, err := os.Stat(own); err == nil && info.IsDir() {
		return os.DirFS(own)
	}
	return welcome.Defaults()
}

// privateSockets keeps the sockets of the served provider, which have no TLS, in a folder that only this user can
// enter, and silences the SDK's log, which would go to our stderr.
func privateSockets() (func() error, error) {
	dir, err := os.MkdirTemp("", "tenantctl-")
	if err == nil {
		err = errors.Join(
			os.Setenv("PLUGIN_UNIX_SOCKET_DIR", dir), os.Setenv("TF_LOG_SDK", "off"),
			os.Setenv("TF_LOG_SDK_PROTO", "off"), os.Setenv("TF_LOG_PROVIDER_TENANT", "off"),
		)
	}
	if err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, "making a private folder for sockets", err)
	}
	return func() error { return os.RemoveAll(dir) }, nil
}

// inProcess serves the provider inside this process: one instance for each run, the backends shared by all.
type inProcess struct {
	baseDir   string
	shared    *provider.Shared
	failpoint func(string)
}

var _ driver.Provider = inProcess{}

func (p inProcess) Serve(ctx context.Context, run driver.ProviderRun) (driver.Served, error) {
	out := &served{}
	instance, err := provider.Serve(ctx, provider.Options{
		Version: version(), BaseDir: p.baseDir, Journal: run.Journal, Shared: p.shared,
		CaptureOnly: run.CaptureOnly, RefuseDestroy: run.RefuseDestroy, Failpoint: p.failpoint,
		Capture: out.capture,
	})
	if err != nil {
		return nil, err
	}
	out.instance = instance
	return out, nil
}

type served struct {
	instance *provider.Served
	mu       sync.Mutex
	backends *tenant.Backends
}

func (s *served) capture(captured provider.Captured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backends = captured.Backends
}

func (s *served) Backends() *tenant.Backends {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.backends
}

func (s *served) Reattach() tfexec.ReattachConfig {
	config := s.instance.Reattach
	return tfexec.ReattachConfig{
		Protocol: string(
			config.Protocol,
		),
		ProtocolVersion: config.ProtocolVersion,
		Pid:             config.Pid,
		Test:            true,
		Addr: tfexec.ReattachConfigAddr{
			Network: config.Addr.Network(),
			String:  config.Addr.String(),
		},
	}
}

func (s *served) Close() { s.instance.Close() }
