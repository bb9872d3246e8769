package driver

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/catalog"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/welcome"
)

// childWait bounds the wait for a Terraform that outlived its driver.
const childWait = time.Minute

// Apply brings the tenants to what their files say, sets them Online and has their mails delivered.
func (d *Driver) Apply(ctx context.Context, tenants []TenantFile) ([]Result, error) {
	if err := welcome.Check(d.Templates); err != nil {
		return nil, err
	}
	if err := d.initialise(ctx); err != nil {
		return nil, err
	}
	return d.forEach(tenant.WithFailpoint(ctx, d.Failpoint), tenants, d.Onboard), nil
}

// Onboard is the life of one tenant, from file to mail. Left of the pivot everything that failed is resumed by the
// next call; right of it everything is retried until done.
func (d *Driver) Onboard(ctx context.Context, slot *worker, file TenantFile) Result {
	result := Result{Tenant: file.ID}
	lease, err := d.own(ctx, file.ID)
	if err != nil {
		result.Err = err
		return result
	}
	defer func() { result.Err = errors.Join(result.Err, lease.Release()) }()
	owned := ownedTenant{TenantFile: file, epoch: lease.Epoch()}
	if owned.row, err = d.declare(ctx, owned); err != nil {
		result.Err = err
		return result
	}
	var run applied
	result.Err = d.attempt(ctx, file.ID, func() (err error) {
		run, err = d.run(ctx, slot, owned)
		return err
	})
	result.Changes = run.did
	if result.Err != nil {
		return result
	}
	result.Waiting, result.Unsent, result.Err = d.announce(ctx, slot, owned, run)
	return result
}

// ownedTenant is a tenant that this process owns; every write to the catalog carries the epoch.
type ownedTenant struct {
	TenantFile
	epoch int64
	row   catalog.Tenant
}

// applied is what a run came to.
type applied struct {
	output Output
	did    Changes
	// moved is true if the run worked on the tenant's hostnames: new bindings begin closed, also those of a tenant
	// that is Online.
	moved bool
}

func (d *Driver) initialise(ctx context.Context) error {
	served, err := d.Provider.Serve(ctx, ProviderRun{})
	if err != nil {
		return err
	}
	defer served.Close()
	return d.Terraform.Init(ctx, served)
}

// own takes the tenant's lease, and waits for a Terraform that a dead owner has left behind.
func (d *Driver) own(ctx context.Context, id tenant.ID) (tenant.Lease, error) {
	lease, err := d.Catalog.Leases().Acquire(ctx, id)
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, childWait)
	defer cancel()
	if err := d.Catalog.AwaitChild(bounded, id); err != nil {
		return nil, errors.Join(err, lease.Release())
	}
	return lease, nil
}

func (d *Driver) declare(ctx context.Context, owned ownedTenant) (catalog.Tenant, error) {
	values, err := owned.Spec()
	if err != nil {
		return catalog.Tenant{}, tenant.Fail(
			tenant.CodeInternal,
			"encoding the spec of tenant "+string(owned.ID),
			err,
		)
	}
	spec := catalog.Spec{
		Values: values, DisplayName: owned.Text("display_name"), Plan: owned.Text("plan"),
		TakenOver: d.AlreadyOnline,
	}
	return d.Catalog.Declare(ctx, owned.epoch, owned.ID, spec)
}

// run is one run of Terraform and what the catalog keeps of it.
func (d *Driver) run(ctx context.Context, slot *worker, owned ownedTenant) (applied, error) {
	record, err := d.Catalog.StartRun(ctx, owned.epoch, owned.ID, owned.row.Generation, "apply")
	if err != nil {
		return applied{}, err
	}
	steps := newStepReport(owned.row.Generation, d.Now)
	output, did, failure := d.terraformApply(ctx, slot, owned, steps)
	outcome := catalog.Outcome{
		Changes:    fmt.Sprintf("%d added, %d changed, %d removed", did.Add, did.Change, did.Remove),
		Outputs:    output.raw,
		Hostname:   output.Hostname,
		Conditions: steps.conditions(output, failure),
	}
	if failure != nil {
		outcome.Failure = failureRow(failure)
	}
	// A status for people never fails a run; only the loss of the tenant does, because then another owner's word counts.
	finish := d.Catalog.FinishRun(context.WithoutCancel(ctx), record, outcome)
	if failure == nil && finish != nil {
		failure = finish
	}
	return applied{output: output, did: did, moved: steps.seen[tenant.StepDomain] != ""}, failure
}

func (d *Driver) terraformApply(
	ctx context.Context, slot *worker, owned ownedTenant, steps *stepReport,
) (Output, Changes, error) {
	journal := &databaseWatch{Journal: d.Catalog.Journal(owned.epoch, owned.ID)}
	served, err := d.Provider.Serve(ctx, ProviderRun{Journal: journal, RefuseDestroy: !d.AllowDestroy})
	if err != nil {
		return Output{}, Changes{}, err
	}
	defer served.Close()
	if err := d.refuseForeignDeletes(ctx, slot, owned.TenantFile, served); err != nil {
		return Output{}, Changes{}, err
	}
	d.emit(Event{Tenant: owned.ID, Type: "started", Message: "applying"})
	events := &stream{onHook: func(kind string, h hook) { d.step(owned.ID, steps, kind, h) }}
	err = slot.apply(ctx, job{
		tenant:    owned.TenantFile,
		childLock: d.Catalog.ChildLockPath(owned.ID),
		served:    served,
		events:    events,
	})
	d.remember(owned.ID, served.Backends())
	if journal.made.Load() && owned.row.Status == catalog.Online {
		d.emit(
			Event{
				Tenant: owned.ID,
				Type:   "warning",
				Message: "a new, empty database was made for a tenant that was " +
					"Online already. If the one before was destroyed, its data lies in the archive (unless on_destroy was drop)",
			},
		)
	}
	for _, warning := range events.warnings {
		d.emit(Event{Tenant: owned.ID, Type: "warning", Message: warning.text()})
	}
	if err != nil {
		return Output{}, events.did, events.failure(err)
	}
	output, err := events.output(owned.ID)
	if err == nil {
		err = owned.unchanged()
	}
	return output, events.did, err
}

// databaseWatch sees whether a run made a database. What it adopts is not new.
type databaseWatch struct {
	tenant.Journal

	made atomic.Bool
}

// Created passes on what was made.
func (w *databaseWatch) Created(ctx context.Context, o tenant.Object, externalID string) error {
	if o.Kind == tenant.KindDatabase {
		w.made.Store(true)
	}
	return w.Journal.Created(ctx, o, externalID)
}

// refuseForeignDeletes plans first where the project uses providers of others too: ours refuse a delete by
// themselves, theirs don't know that we would want it.
func (d *Driver) refuseForeignDeletes(
	ctx context.Context,
	slot *worker,
	file TenantFile,
	served Served,
) error {
	if d.AllowDestroy || !d.Terraform.HasOthers(file.ID) {
		return nil
	}
	events := &stream{}
	if _, err := slot.plan(ctx, job{tenant: file, served: served, events: events}); err != nil {
		return events.failure(err)
	}
	for _, change := range events.planned {
		if change.Action == "delete" || change.Action == "replace" {
			return tenant.Fail(tenant.CodeDestroyRefused, "planning tenant "+string(file.ID),
				fmt.Errorf("the plan would %s %s", change.Action, change.Address))
		}
	}
	return nil
}

func (d *Driver) step(id tenant.ID, steps *stepReport, kind string, h hook) {
	step, ours := stepOf(h.Resource.Type)
	if !ours {
		return
	}
	steps.saw(step, kind)
	if kind == "apply_complete" {
		d.emit(Event{
			Tenant: id, Type: "step", Step: step, Message: h.Action + "d",
			Elapsed: time.Duration(h.Elapsed * float64(time.Second)),
		})
	}
}
