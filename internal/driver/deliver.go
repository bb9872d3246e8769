package driver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/catalog"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/welcome"
)

const (
	// claimTime is for how long a claimed mail is ours alone; a claimer that died loses it then.
	claimTime = 2 * time.Minute
	// mailRetryMax is the longest wait between two attempts to deliver a mail; there is no last one.
	mailRetryMax = time.Hour
)

// deliver finishes what a pivot began for one tenant: its hostnames are opened, then its mail is sent. A mail that can't be
// sent now stays due; the tenant is Online all the same.
func (d *Driver) deliver(ctx context.Context, slot *worker, owned ownedTenant) (unsent bool, err error) {
	file := owned.TenantFile
	if err := d.openGate(ctx, slot, file); err != nil {
		return false, err
	}
	if mail := owned.row.Mail; mail != nil && mail.State == catalog.MailClaimed {
		if err := d.Catalog.ReclaimMails(ctx, owned.epoch, owned.ID); err != nil {
			return false, err
		}
	}
	for tried := false; ; tried = true {
		mail, err := d.Catalog.ClaimMail(ctx, file.ID, claimTime)
		if err != nil {
			return unsent, err
		}
		if mail == nil {
			return unsent || !tried && d.tellOfUnsent(owned), nil
		}
		tenant.Failpoint(ctx, "mail.claimed")
		if unsent, err = d.send(ctx, slot, file, *mail); err != nil {
			return unsent, err
		}
	}
}

// tellOfUnsent reports whether a mail from before is still to be delivered, and says so: it is never passed over in
// silence.
func (d *Driver) tellOfUnsent(owned ownedTenant) bool {
	mail := owned.row.Mail
	if mail == nil || mail.State == catalog.MailSent || mail.State == catalog.MailObsolete {
		return false
	}
	d.emit(Event{Tenant: owned.ID, Type: "mail", Message: fmt.Sprintf(
		"the %s mail is not delivered yet; it is tried again after %s, or at once by `tenantctl mail`: %s",
		mail.Kind, mail.NextAttempt.UTC().Format(time.RFC3339), mail.Detail)})
	return true
}

// openGate delivers the outbox: the edge's bindings live in another database than the catalog, so the order to open
// them is written with the pivot and carried out here, as often as it takes.
func (d *Driver) openGate(ctx context.Context, slot *worker, file TenantFile) error {
	orders, err := d.Catalog.DueOutbox(ctx, file.ID)
	if err != nil {
		return err
	}
	for _, order := range orders {
		backends, err := d.backends(ctx, slot, file)
		if err != nil {
			return err
		}
		moved, err := backends.Gate.SetGate(ctx, file.ID, tenant.BindingState(order.State), order.Epoch)
		if err != nil {
			return err
		}
		tenant.Failpoint(ctx, "gate.moved")
		if err := d.Catalog.AckOutbox(context.WithoutCancel(ctx), order); err != nil {
			return err
		}
		tenant.Failpoint(ctx, "gate.acknowledged")
		for _, hostname := range moved {
			d.emit(Event{Tenant: file.ID, Type: "gate", Message: hostname + " is " + order.State})
		}
	}
	return nil
}

// send makes one attempt. What keeps it from succeeding is recorded with the mail; an error is one of the catalog's.
func (d *Driver) send(
	ctx context.Context, slot *worker, file TenantFile, mail catalog.Mail,
) (unsent bool, _ error) {
	message, err := d.compose(ctx, slot, file, mail)
	if err == nil {
		tenant.Failpoint(ctx, "mail.composed")
		err = d.Sender.Send(ctx, message)
		tenant.Failpoint(ctx, "mail.handed_over")
	}
	if err == nil {
		if err := d.Catalog.MailSent(context.WithoutCancel(ctx), mail); err != nil {
			return true, err
		}
		d.emit(
			Event{
				Tenant:  file.ID,
				Type:    "mail",
				Message: mail.Kind + " mail to " + mail.To + " " + d.Sender.Describe(message),
			},
		)
		return false, nil
	}
	next := d.Now()
	if ctx.Err() == nil { // an attempt that was interrupted says nothing against the next one
		next = next.Add(mailRetry(d.Retry.Random).wait(mail.Attempts, 0))
	}
	record := d.Catalog.MailFailed
	if welcome.IsUncertain(err) {
		record = d.Catalog.MailUncertain
	}
	if err := record(context.WithoutCancel(ctx), mail, failureRow(err), next); err != nil {
		return true, err
	}
	failure := tenant.FailureOf(err)
	then := "it is tried again after " + next.UTC().Format(time.RFC3339) + ", or at once by `tenantctl mail`"
	if failure.Class == tenant.Terminal {
		then = failure.Remedy + " Then run `tenantctl mail`"
	}
	d.emit(
		Event{Tenant: file.ID, Type: "mail", Code: failure.Code, Class: failure.Class, Message: fmt.Sprintf(
			"the %s mail is not delivered: %v. %s", mail.Kind, err, then)},
	)
	return true, nil
}

// mailRetry has no last attempt.
func mailRetry(random func() float64) Retry {
	return Retry{Base: 10 * time.Second, Max: mailRetryMax, Random: random}
}

// compose renders the mail. The invitation is minted here, at each attempt, and goes nowhere but into the mail.
func (d *Driver) compose(
	ctx context.Context, slot *worker, file TenantFile, mail catalog.Mail,
) (welcome.Message, error) {
	output, err := readOutput(file.ID, mail.Claims)
	if err != nil {
		return welcome.Message{}, err
	}
	data, err := welcome.NewData(output.raw)
	if err != nil {
		return welcome.Message{}, err
	}
	if data.Invitation, err = d.invite(ctx, slot, file, output.identityNames(), mail.To); err != nil {
		return welcome.Message{}, err
	}
	message, err := welcome.Render(d.Templates, data)
	if err != nil {
		return welcome.Message{}, err
	}
	message.MessageID, message.From, message.Date = mail.MessageID, d.sender(output), d.Now()
	message.Tenant, message.Kind = file.ID, mail.Kind
	return message, nil
}

// sender is the configured address, or one in the zone that the tenants live under.
func (d *Driver) sender(output Output) string {
	if d.From != "" {
		return d.From
	}
	return "onboarding@" + strings.TrimPrefix(output.DefaultHostname, string(output.TenantID)+".")
}

// invite mints an invitation for the recipient, who must still be the administrator: it opens the tenant to whoever
// holds it.
func (d *Driver) invite(
	ctx context.Context, slot *worker, file TenantFile, names tenant.IdentityNames, recipient string,
) (tenant.Invitation, error) {
	backends, err := d.backends(ctx, slot, file)
	if err != nil {
		return tenant.Invitation{}, err
	}
	inviter, ok := backends.Identities.(tenant.Inviter)
	if !ok {
		return tenant.Invitation{}, nil
	}
	identity, err := backends.Identities.Read(ctx, file.ID, names)
	if err != nil {
		return tenant.Invitation{}, err
	}
	if !identity.Enabled {
		return tenant.Invitation{}, tenant.Fail(tenant.CodeConflict, "inviting "+recipient, errors.New(
			"the identity is disabled: nobody could sign in. The mail goes out when it is enabled again"))
	}
	if now := identity.Administrator.Email; now != recipient {
		return tenant.Invitation{}, tenant.Fail(tenant.CodeConflict, "inviting "+recipient, fmt.Errorf(
			"the administrator of tenant %s is %s now; the next apply that succeeds corrects the mail",
			file.ID,
			now,
		))
	}
	return inviter.Invite(ctx, file.ID, names)
}

// Deliver settles due waits, opens gates and delivers mails that an earlier command left, for the tenants given.
func (d *Driver) Deliver(ctx context.Context, tenants []TenantFile) []Result {
	ctx = tenant.WithFailpoint(ctx, d.Failpoint)
	return d.forEach(ctx, tenants, func(ctx context.Context, slot *worker, file TenantFile) Result {
		row, err := d.Catalog.Get(ctx, file.ID)
		switch {
		case errors.Is(err, tenant.ErrAbsent):
			return Result{} // not onboarded yet: nothing to deliver
		case err != nil:
			return Result{Err: err}
		case !d.settles(row) && (row.Mail == nil || row.Mail.State == catalog.MailSent):
			return Result{Err: d.openGate(ctx, slot, file)}
		}
		unsent, err := d.finish(ctx, slot, file)
		return Result{Unsent: unsent, Err: err}
	})
}

// finish does for one tenant, as its owner, what an earlier command left undone. A mail that waits for its next attempt
// is tried now: somebody has asked for it.
func (d *Driver) finish(ctx context.Context, slot *worker, file TenantFile) (unsent bool, err error) {
	lease, err := d.own(ctx, file.ID)
	if err != nil {
		return false, err
	}
	owned := ownedTenant{TenantFile: file, epoch: lease.Epoch()}
	if owned.row, err = d.Catalog.Get(ctx, file.ID); err == nil {
		err = d.settle(ctx, slot, owned)
	}
	if err == nil {
		err = d.Catalog.HastenMails(ctx, owned.epoch, owned.ID)
	}
	if err == nil {
		unsent, err = d.deliver(ctx, slot, owned)
	}
	return unsent, errors.Join(err, lease.Release())
}

// Resend makes a tenant's mail due again, under the same Message-ID, to whoever is the administrator now: the
// invitation in it is theirs.
func (d *Driver) Resend(ctx context.Context, file TenantFile) error {
	return d.forEach(ctx, []TenantFile{file}, func(ctx context.Context, slot *worker, file TenantFile) Result {
		return Result{Err: d.resend(ctx, slot, file)}
	})[0].Err
}

func (d *Driver) resend(ctx context.Context, slot *worker, file TenantFile) error {
	row, err := d.Catalog.Get(ctx, file.ID)
	if err != nil {
		return err
	}
	again := catalog.NewMail{Kind: welcome.Kind}
	if output, err := readOutput(file.ID, row.Outputs); err == nil {
		backends, err := d.backends(ctx, slot, file)
		if err != nil {
			return err
		}
		again = d.newMail(file.ID, row, output, backends)
	}
	return d.Catalog.ResendMail(ctx, file.ID, again)
}

// newMail is the tenant's welcome mail as it is queued.
func (d *Driver) newMail(
	id tenant.ID, row catalog.Tenant, output Output, backends *tenant.Backends,
) catalog.NewMail {
	return catalog.NewMail{
		Kind: welcome.Kind, To: output.Administrator.Email, ToName: output.Administrator.Name,
		MessageID: welcome.MessageID(
			backends.Keyring.Installation(), id, welcome.Kind, row.Onboarding, backends.Zone),
	}
}

// PreviewMail renders a tenant's mail from what the catalog recorded, with a placeholder for the invitation.
func PreviewMail(row catalog.Tenant, templates fs.FS) (string, error) {
	output, err := readOutput(row.ID, row.Outputs)
	if err != nil {
		return "", err
	}
	data, err := welcome.NewData(output.raw)
	if err != nil {
		return "", err
	}
	return welcome.Preview(templates, data)
}
