// Package driver onboards tenants: it runs Terraform for each, judges the result, sets the tenant Online and has its
// mail delivered. It knows the catalog and the mail, and nothing of the provider but the port Provider.
package driver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/hashicorp/terraform-exec/tfexec"

	"github.com/tenantry/terraform-provider-tenant/internal/catalog"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/welcome"
)

// DefaultDomainWait is how long a tenant waits for its custom hostname before it goes Online on its default one.
const DefaultDomainWait = 72 * time.Hour

// Provider serves the provider inside this process.
type Provider interface {
	// Serve starts one instance for one run of Terraform. Instances share what the provider shares, and nothing else.
	Serve(ctx context.Context, run ProviderRun) (Served, error)
}

// ProviderRun is what a run asks of the provider.
type ProviderRun struct {
	Journal       tenant.Journal // nil: none
	RefuseDestroy bool           // a plan that deletes something of ours fails with CodeDestroyRefused
	CaptureOnly   bool           // stop at the provider's configuration
}

// Served is a served instance.
type Served interface {
	Reattach() tfexec.ReattachConfig
	// Backends returns the outside world as this run's provider configuration named it; nil before Terraform has
	// configured the provider. It stays usable after Close.
	Backends() *tenant.Backends
	Close()
}

// Config is all that a Driver needs. Every field without a comment that says otherwise is required.
type Config struct {
	Project      *Project
	Terraform    *Terraform
	Catalog      *catalog.Catalog
	Provider     Provider
	Sender       welcome.Sender
	Templates    fs.FS
	From         string // the mail's sender address; "" is onboarding@ZONE
	Progress     Progress
	Now          func() time.Time
	DomainWait   time.Duration // 0: don't wait
	Parallel     int           // tenants at once, 1 or more
	AllowDestroy bool
	// AlreadyOnline takes over tenants that their people use already: they go Online at once, and nobody is told.
	AlreadyOnline bool
	Retry         Retry
	Sleep         func(context.Context, time.Duration) error
	Failpoint     func(name string) // nil but in tests
}

// Driver onboards the tenants of one project.
type Driver struct {
	Config
	outside outside
}

// New returns a Driver.
func New(config Config) (*Driver, error) {
	if config.Parallel < 1 {
		return nil, errors.New("at least one tenant at a time is needed")
	}
	return &Driver{Config: config}, nil
}

func (d *Driver) emit(event Event) {
	event.Time = d.Now()
	d.Progress(event)
}

// Result is what became of one tenant.
type Result struct {
	Tenant  tenant.ID
	Changes Changes
	Waiting string // the custom hostname that it waits for, "" if it waits for nothing
	Unsent  bool   // its mail is queued and not delivered yet
	Err     error
}

// forEach runs work for each tenant, Parallel at once, each with a worker of its own. One tenant's failure, or panic,
// is that tenant's. After ctx ends no further tenant is started.
func (d *Driver) forEach(
	ctx context.Context, tenants []TenantFile, work func(context.Context, *worker, TenantFile) Result,
) []Result {
	results := make([]Result, len(tenants))
	queue := make(chan int)
	var workers sync.WaitGroup
	for range min(d.Parallel, len(tenants)) {
		workers.Go(func() {
			slot, err := d.Terraform.newWorker()
			for i := range queue {
				_ = tenant.Guard("working on tenant "+string(tenants[i].ID), func() error {
					results[i] = d.one(ctx, slot, err, tenants[i], work)
					return nil
				})
			}
		})
	}
	for i := range tenants {
		queue <- i
	}
	close(queue)
	workers.Wait()
	return results
}

func (d *Driver) one(
	ctx context.Context, slot *worker, err error, file TenantFile,
	work func(context.Context, *worker, TenantFile) Result,
) (result Result) {
	doing := "working on tenant " + string(file.ID)
	switch {
	case file.Err != nil:
		err = file.Err
	case ctx.Err() != nil:
		err = tenant.Fail(tenant.CodeCanceled, doing, ctx.Err())
	case err == nil:
		err = tenant.Guard(doing, func() error {
			result = work(ctx, slot, file)
			return result.Err
		})
	}
	result.Tenant, result.Err = file.ID, err
	if err != nil {
		d.emit(failureEvent(file.ID, err))
	}
	return result
}

// outside keeps the backends that the project's provider configuration names, captured from a run, in memory only.
type outside struct {
	mu       sync.Mutex
	project  *tenant.Backends
	byTenant map[tenant.ID]*tenant.Backends
}

func (d *Driver) remember(id tenant.ID, backends *tenant.Backends) {
	if backends == nil {
		return
	}
	d.outside.mu.Lock()
	defer d.outside.mu.Unlock()
	if !d.Project.ProviderVaries {
		d.outside.project = backends
		return
	}
	if d.outside.byTenant == nil {
		d.outside.byTenant = map[tenant.ID]*tenant.Backends{}
	}
	d.outside.byTenant[id] = backends
}

func (d *Driver) known(id tenant.ID) *tenant.Backends {
	d.outside.mu.Lock()
	defer d.outside.mu.Unlock()
	if d.outside.project != nil {
		return d.outside.project
	}
	return d.outside.byTenant[id]
}

// backends returns the outside world of a tenant: from a run that has already passed by, or by a plan that ends as
// soon as the provider is configured.
func (d *Driver) backends(ctx context.Context, slot *worker, file TenantFile) (*tenant.Backends, error) {
	if known := d.known(file.ID); known != nil {
		return known, nil
	}
	doing := "asking Terraform for the provider's configuration of tenant " + string(file.ID)
	if file.Err != nil {
		return nil, file.Err
	}
	served, err := d.Provider.Serve(ctx, ProviderRun{CaptureOnly: true})
	if err != nil {
		return nil, err
	}
	defer served.Close()
	events := &stream{}
	_, err = slot.plan(ctx, job{tenant: file, served: served, events: events, noRefresh: true})
	if captured := served.Backends(); captured != nil {
		d.remember(file.ID, captured)
		return captured, nil
	}
	if err == nil {
		err = fmt.Errorf("no resource of %s uses the provider", d.Project.Dir)
	}
	return nil, tenant.Fail(tenant.CodeTerraform, doing, events.failure(err))
}
