// Package catalog keeps what is known of an installation's tenants: what is wanted, what was done, who owns a tenant
// now, what is still to be delivered, and what has happened. It never holds a secret.
package catalog

import (
	"context"
	"errors"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

var errSoon = errors.New("not built yet")

// Config says where a catalog lives.
type Config struct {
	Path    string           // of the SQLite file
	LockDir string           // for the tenants' locks, on the same machine; "" is the folder locks beside the file
	Now     func() time.Time // nil is time.Now
}

// Catalog is an open catalog. It is safe for use by many goroutines, and many processes may have the same one open.
// Every write of a tenant's owner carries the epoch of its lease and is refused with tenant.CodeLeaseLost once somebody else
// has taken the tenant over. An unknown tenant is tenant.ErrAbsent.
type Catalog struct{}

// Open opens the catalog, making it first if there is none.
func Open(context.Context, Config) (*Catalog, error) { return nil, errSoon }

// Close releases the file. Leases stay what they are.
func (c *Catalog) Close() error { return nil }

// Leases is the ownership of tenants: a file lock for each, which the system frees when its process ends however it
// ends, and an epoch that grows with each acquisition.
func (c *Catalog) Leases() tenant.Leases { return nil }

// ChildLockPath is the absolute path of the file that a Terraform locks (flock, exclusively) for as long as it lives, so that
// one that outlives its driver still owns the tenant.
func (c *Catalog) ChildLockPath(id tenant.ID) string { return "" }

// AwaitChild waits until no Terraform holds the child lock. When ctx's deadline comes first it fails with
// tenant.CodeLeaseHeld, when ctx is canceled with tenant.CodeCanceled. Call it as the owner, before a child is started.
func (c *Catalog) AwaitChild(ctx context.Context, id tenant.ID) error { return errSoon }

// Declare records what is wanted. A new tenant, or one that was offboarded, becomes Provisioning; a changed spec raises
// the generation; a failed tenant becomes Provisioning again and keeps its attempts. An unchanged one is not written.
func (c *Catalog) Declare(ctx context.Context, epoch int64, id tenant.ID, spec Spec) (Tenant, error) {
	return Tenant{}, errSoon
}

// StartRun records the begin of a run for a generation, which must be the current one (else tenant.CodeConflict). A run
// that a dead owner left open is closed as abandoned; a failed tenant becomes Provisioning again.
func (c *Catalog) StartRun(ctx context.Context, epoch int64, id tenant.ID, generation int64, action string) (Run, error) {
	return Run{}, errSoon
}

// FinishRun records what the run came to. The result of a run for an older generation than the current one closes the
// run and changes nothing of the tenant. A failure makes a Provisioning tenant Failed; one that is Online stays so.
func (c *Catalog) FinishRun(ctx context.Context, run Run, outcome Outcome) error { return errSoon }

// SetConditions records steps while a run goes on. Those of an older generation than the current one are dropped.
func (c *Catalog) SetConditions(
	ctx context.Context, epoch int64, id tenant.ID, generation int64, conditions []Condition,
) error {
	return errSoon
}

// AwaitDomain records that the tenant's pivot waits for the proof of hostname, and returns until when: wait after the
// first call for this hostname. A wait that is over is not recorded.
func (c *Catalog) AwaitDomain(
	ctx context.Context, epoch int64, id tenant.ID, hostname string, wait time.Duration,
) (time.Time, error) {
	return time.Time{}, errSoon
}

// Pivot sets a Provisioning tenant Online, orders its hostnames to be opened and queues the mail: all of it in one
// transaction, once. It reports whether this call did it. Every step must be Ready for the generation, which must be
// the current one (else tenant.CodeConflict). For a tenant that is Online it refreshes outputs and hostname, orders the
// opening again if the hostname changed or request.Reopen says so, and brings a mail that is not sent yet up to date.
func (c *Catalog) Pivot(ctx context.Context, epoch int64, id tenant.ID, request PivotRequest) (bool, error) {
	return false, errSoon
}

// Move takes a tenant along its life where no run does: Online to Suspended and back, anything but Offboarded to
// Offboarding, that to Offboarded. Suspending and reactivating order the hostnames to follow. Repeating it changes
// nothing; another way is tenant.CodeConflict.
func (c *Catalog) Move(ctx context.Context, epoch int64, id tenant.ID, to Status) error {
	return errSoon
}

// DueOutbox returns the orders that are not acknowledged, of one tenant or, with "", of all.
func (c *Catalog) DueOutbox(ctx context.Context, id tenant.ID) ([]Order, error) { return nil, errSoon }

// AckOutbox records that the edge has followed the order. For one that a newer order has replaced it does nothing.
func (c *Catalog) AckOutbox(ctx context.Context, order Order) error { return errSoon }

// ClaimMail hands out the mail that has been due for longest, of one tenant or, with "", of any, and nobody else gets it for the
// given time; nil if none is due. A mail whose tenant's order to the edge is not acknowledged, or whose tenant is not Online, is
// not due. A claimer that died loses its mail when the time is over, and the mail then counts as uncertain.
func (c *Catalog) ClaimMail(ctx context.Context, id tenant.ID, visibility time.Duration) (*Mail, error) {
	return nil, errSoon
}

// MailSent records that the mail system took the mail. A claimer whose time was over and whose mail somebody
// else has claimed since is refused with tenant.CodeLeaseLost.
func (c *Catalog) MailSent(ctx context.Context, mail Mail) error { return errSoon }

// MailFailed records that the mail was not taken, and when to try again. Refused as MailSent is.
func (c *Catalog) MailFailed(ctx context.Context, mail Mail, failure *Failure, next time.Time) error {
	return errSoon
}

// MailUncertain is MailFailed for a mail that may have been taken.
func (c *Catalog) MailUncertain(ctx context.Context, mail Mail, failure *Failure, next time.Time) error {
	return errSoon
}

// ListMails returns the mails of one tenant or, with "", of all, ordered by tenant, onboarding and kind.
func (c *Catalog) ListMails(ctx context.Context, id tenant.ID) ([]Mail, error) { return nil, errSoon }

// ResendMail makes the mail of the current onboarding due now, sent or not, under the same Message-ID. tenant.ErrAbsent if there
// is none; tenant.CodeBusy while somebody is delivering it.
func (c *Catalog) ResendMail(ctx context.Context, id tenant.ID, kind string) error { return errSoon }

// Journal is the journal of a tenant's current onboarding, for the owner with that epoch.
func (c *Catalog) Journal(epoch int64, id tenant.ID) tenant.Journal { return nil }

// Entries returns the journal of a tenant's current onboarding, in the order in which objects were first named,
// removed ones included.
func (c *Catalog) Entries(ctx context.Context, id tenant.ID) ([]JournalEntry, error) {
	return nil, errSoon
}

// Get returns a tenant; tenant.ErrAbsent if it was never declared.
func (c *Catalog) Get(ctx context.Context, id tenant.ID) (Tenant, error) { return Tenant{}, errSoon }

// List returns all tenants ordered by id.
func (c *Catalog) List(ctx context.Context) ([]Tenant, error) { return nil, errSoon }

// Runs returns a tenant's runs, oldest first.
func (c *Catalog) Runs(ctx context.Context, id tenant.ID) ([]Run, error) { return nil, errSoon }

// History returns what happened to a tenant, oldest first.
func (c *Catalog) History(ctx context.Context, id tenant.ID) ([]Event, error) { return nil, errSoon }
