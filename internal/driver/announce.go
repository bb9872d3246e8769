package driver

import (
	"context"
	"fmt"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/catalog"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// announce does what lies right of a successful apply: the pivot, unless the tenant still waits for its custom
// hostname; the opening of its hostnames; the delivery of its mail. It returns what the tenant waits for.
func (d *Driver) announce(
	ctx context.Context, slot *worker, owned ownedTenant, run applied,
) (waiting string, unsent bool, err error) {
	output := run.output
	due, err := d.awaitDomain(ctx, owned, output)
	if err != nil {
		return "", false, err
	}
	if due.After(d.Now()) {
		d.emit(Event{Tenant: owned.ID, Type: "waiting", Message: fmt.Sprintf(
			"everything is ready; waiting for the proof of %s until %s, then Online on %s: apply again to look for it",
			output.Waits(),
			due.UTC().Format(time.RFC3339),
			output.DefaultHostname,
		)})
		return output.Waits(), false, nil
	}
	backends, err := d.backends(ctx, slot, owned.TenantFile)
	if err != nil {
		return "", false, err
	}
	if err := d.pivot(ctx, owned, run, backends); err != nil {
		return "", false, err
	}
	unsent, err = d.deliver(ctx, slot, owned)
	return "", unsent, err
}

// awaitDomain returns until when the tenant waits for its custom hostname: counted from the first apply that found
// it waiting, and kept in the catalog. The zero time: it does not wait.
func (d *Driver) awaitDomain(ctx context.Context, owned ownedTenant, output Output) (time.Time, error) {
	if owned.row.Status == catalog.Online || owned.row.TakenOver || output.Waits() == "" {
		return time.Time{}, nil
	}
	return d.Catalog.AwaitDomain(ctx, owned.epoch, owned.ID, output.Waits(), d.DomainWait)
}

// pivot is the one transaction that sets a tenant Online. For one that is Online already it only refreshes what is
// recorded, and never queues a second mail.
func (d *Driver) pivot(
	ctx context.Context, owned ownedTenant, run applied, backends *tenant.Backends,
) error {
	output := run.output
	told, err := d.announcedBefore(ctx, owned, output, backends)
	if err != nil {
		return err
	}
	tenant.Failpoint(ctx, "pivot.before")
	pivoted, err := d.Catalog.Pivot(ctx, owned.epoch, owned.ID, catalog.PivotRequest{
		Generation: owned.row.Generation, Outputs: output.raw, Hostname: output.Hostname, Reopen: run.moved,
		TakenOver: told, Mail: d.newMail(owned.ID, owned.row, output, backends),
	})
	if err != nil {
		return err
	}
	tenant.Failpoint(ctx, "pivot.after")
	if owned.hasAnotherAdministrator(output) {
		d.emit(Event{Tenant: owned.ID, Type: "notice", Message: fmt.Sprintf(
			"%s is the administrator now and has not been invited; `tenantctl mail --resend %s` does it",
			output.Administrator.Email, owned.ID)})
	}
	switch {
	case pivoted:
		message := "Online on " + output.Hostname
		if owned.row.TakenOver {
			message += ", taken over: nobody is told"
		}
		if output.Waits() != "" {
			message += "; " + output.Waits() + " is not verified yet"
		}
		d.emit(Event{Tenant: owned.ID, Type: "online", Message: message})
	case run.did.None():
		d.emit(Event{Tenant: owned.ID, Type: "unchanged", Message: "Online on " + output.Hostname})
	default:
		d.emit(Event{Tenant: owned.ID, Type: "changed", Message: "Online on " + output.Hostname})
	}
	return nil
}

// announcedBefore reports whether the tenant's hostname is out of the holding page already, though this catalog never
// announced it: the catalog was lost, or restored from before the announcement. Nobody gets a second welcome mail then.
func (d *Driver) announcedBefore(
	ctx context.Context, owned ownedTenant, output Output, backends *tenant.Backends,
) (bool, error) {
	if owned.row.Status != catalog.Provisioning || owned.row.TakenOver {
		return false, nil
	}
	binding, err := backends.Domains.Bindings.ReadBinding(ctx, owned.ID, output.DefaultHostname)
	if err != nil || binding.State == tenant.BindingHolding {
		return false, err
	}
	d.emit(
		Event{
			Tenant: owned.ID,
			Type:   "warning",
			Message: fmt.Sprintf("%s is %s already, though this catalog has never "+
				"announced the tenant: the catalog was lost, or is older than the announcement. Nobody is told again; "+
				"`tenantctl mail --resend %s` does it all the same", output.DefaultHostname, binding.State, owned.ID),
		},
	)
	return true, nil
}

// hasAnotherAdministrator reports whether the mail went to somebody who is not the administrator any more, or whose
// account was made anew since.
func (o ownedTenant) hasAnotherAdministrator(output Output) bool {
	mail := o.row.Mail
	if mail == nil || mail.State != catalog.MailSent {
		return false
	}
	before, err := readOutput(o.ID, o.row.Outputs)
	anew := err == nil && before.Administrator.ID != output.Administrator.ID
	return anew || mail.To != output.Administrator.Email
}

// settles reports whether a tenant's wait for its custom hostname is over.
func (d *Driver) settles(row catalog.Tenant) bool {
	return row.Status == catalog.Provisioning && row.WaitingFor != "" && !row.WaitUntil.After(d.Now()) &&
		row.ObservedGeneration == row.Generation
}

// settle sets a tenant Online whose wait for a custom hostname is over, from what its last apply recorded.
func (d *Driver) settle(ctx context.Context, slot *worker, owned ownedTenant) error {
	if !d.settles(owned.row) {
		return nil
	}
	backends, err := d.backends(ctx, slot, owned.TenantFile)
	if err != nil {
		return err
	}
	output, err := readOutput(owned.ID, owned.row.Outputs)
	if err != nil {
		return err
	}
	return d.pivot(ctx, owned, applied{output: output}, backends)
}
