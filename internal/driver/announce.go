package driver

import (
	"context"
	"fmt"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/catalog"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/welcome"
)

// announce does what lies right of a successful apply: the pivot, unless the tenant still waits for its custom
// hostname; the opening of its hostnames; the delivery of its mail. It returns what the tenant waits for.
func (d *Driver) announce(ctx context.Context, slot *worker, owned ownedTenant, run applied) (string, error) {
	output := run.output
	due, err := d.awaitDomain(ctx, owned, output)
	if err != nil {
		return "", err
	}
	if due.After(d.Now()) {
		d.emit(Event{Tenant: owned.ID, Type: "waiting", Message: fmt.Sprintf(
			"everything is ready; waiting for the proof of %s until %s, then Online on %s: apply again to look for it",
			output.Waits(),
			due.UTC().Format(time.RFC3339),
			output.DefaultHostname,
		)})
		return output.Waits(), nil
	}
	backends, err := d.backends(ctx, slot, owned.TenantFile)
	if err != nil {
		return "", err
	}
	if err := d.pivot(ctx, owned, run, backends); err != nil {
		return "", err
	}
	return "", d.deliver(ctx, slot, owned)
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
	tenant.Failpoint(ctx, "pivot.before")
	pivoted, err := d.Catalog.Pivot(ctx, owned.epoch, owned.ID, catalog.PivotRequest{
		Generation: owned.row.Generation, Outputs: output.raw, Hostname: output.Hostname, Reopen: run.moved,
		Mail: catalog.NewMail{
			Kind: welcome.Kind, To: output.Administrator.Email, ToName: output.Administrator.Name,
			MessageID: welcome.MessageID(
				backends.Keyring.Installation(), owned.ID, welcome.Kind, owned.row.Onboarding, backends.Zone),
		},
	})
	if err != nil {
		return err
	}
	tenant.Failpoint(ctx, "pivot.after")
	if mail := owned.row.Mail; mail != nil && mail.State == catalog.MailSent &&
		mail.To != output.Administrator.Email {
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
