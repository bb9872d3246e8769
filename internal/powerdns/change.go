package powerdns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	firstPause = 10 * time.Millisecond
	longPause  = 500 * time.Millisecond
	// maxTries is how often a PATCH is sent whose answer is lost or that the server says does not fit what is there.
	maxTries = 3
)

// Turns lets one writer at a time change a zone. The API has no conditions, so the look before a change and the change
// must not be mixed with another's.
type Turns struct{ free chan struct{} }

// NewTurns returns turns that nobody holds.
func NewTurns() *Turns {
	t := &Turns{make(chan struct{}, 1)}
	t.free <- struct{}{}
	return t
}

func (t *Turns) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.free:
		return nil
	}
}

func (t *Turns) giveBack() { t.free <- struct{}{} }

// view is what the server holds at one name and at its owner name: sorted, and as it came.
type view struct {
	tenant.Holding

	name   string
	owners []rrset
}

// look reads what stands at the name.
func (b *Backend) look(ctx context.Context, doing string, id tenant.ID, name string) (view, error) {
	seen := view{name: name}
	there, err := b.get(ctx, doing, name)
	if err != nil {
		return seen, err
	}
	if seen.owners, err = b.get(ctx, doing, tenant.OwnerName(name, b.config.Zone)); err != nil {
		return seen, err
	}
	seen.Holding, err = b.config.Keyring.Hold(id, name, recordsOf(there), recordsOf(seen.owners))
	if err != nil {
		return seen, tenant.Fail(tenant.CodeInternal, doing, err)
	}
	return seen, nil
}

// admit is look for a record set that is to be made: nothing foreign may be in its way.
func (b *Backend) admit(ctx context.Context, doing string, id tenant.ID, want tenant.Record) (view, error) {
	seen, err := b.look(ctx, doing, id, want.Name)
	if err != nil {
		return seen, err
	}
	if err := seen.Admit(want); err != nil {
		return seen, tenant.Fail(tenant.CodeInternal, doing, err)
	}
	return seen, b.cut(ctx, doing, want.Name)
}

// cut returns a failure if the name lies at or below one that is delegated or redirected as a whole: nobody would see a
// record there.
func (b *Backend) cut(ctx context.Context, doing, name string) error {
	for {
		_, parent, ok := strings.Cut(name, ".")
		if !ok || parent == b.config.Zone {
			return nil
		}
		there, err := b.get(ctx, doing, parent)
		if err != nil {
			return err
		}
		for _, set := range there {
			if set.Type == "NS" || set.Type == "DNAME" {
				return tenant.Fail(tenant.CodeForeign, doing, fmt.Errorf(
					"%w: %s/%s takes the names from there on down out of the zone",
					tenant.ErrForeign,
					parent,
					set.Type,
				))
			}
		}
		name = parent
	}
}

// change decides and patches, in turn with others, until there is nothing left to decide: until the server shows what
// was wanted. After a PATCH that was accepted nothing is sent: a server that does not show it yet is waited for.
func (b *Backend) change(ctx context.Context, doing string, decide func() (*patch, error)) error {
	if err := b.config.Turns.take(ctx); err != nil {
		return tenant.Fail(tenant.CodeCanceled, doing, err)
	}
	defer b.config.Turns.giveBack()
	patience, accepted, tries := b.patience(), false, 0
	for {
		changes, err := decide()
		if err != nil && !errors.Is(err, tenant.ErrAbsent) {
			return tenant.Fail(tenant.CodeInternal, doing, err)
		}
		if err != nil || changes == nil {
			return err
		}
		if accepted {
			err = patience.wait(ctx, doing)
		} else {
			tries++
			accepted, err = b.send(ctx, doing, changes, tries == maxTries)
		}
		if err != nil {
			return err
		}
	}
}

// send reports whether the server accepted the changes. Unless it is the last try, an answer that was lost, or that says
// that the changes don't fit what is there, is left to the next look.
func (b *Backend) send(ctx context.Context, doing string, changes *patch, last bool) (bool, error) {
	err := b.patch(ctx, doing, changes)
	tenant.Failpoint(ctx, "record.patched")
	if err != nil && !last && (errors.Is(err, errLost) || tenant.HasCode(err, tenant.CodeConflict)) {
		return false, nil
	}
	return err == nil, err
}

// patience is how long a call still waits for the server to show a change, and how long next.
type patience struct {
	settle   time.Duration
	deadline time.Time
	pause    time.Duration
}

func (b *Backend) patience() *patience {
	return &patience{b.config.Settle, time.Now().Add(b.config.Settle), firstPause}
}

func (p *patience) wait(ctx context.Context, doing string) error {
	if !time.Now().Before(p.deadline) {
		return tenant.Fail(tenant.CodeUnavailable, doing, fmt.Errorf(
			"the server accepted the change and does not show it after %s: does it read from a copy that lags?",
			p.settle,
		))
	}
	timer := time.NewTimer(p.pause)
	defer timer.Stop()
	p.pause = min(2*p.pause, longPause)
	select {
	case <-ctx.Done():
		return tenant.Fail(tenant.CodeCanceled, doing, ctx.Err())
	case <-timer.C:
		return nil
	}
}

// put are the changes that make the record set as wanted, together with its mark.
func (b *Backend) put(seen view, id tenant.ID, want tenant.Record) *patch {
	changes := &patch{[]rrset{setOf(want)}}
	if len(seen.Marks[want.Type]) == 0 {
		changes.RRsets = append(changes.RRsets, b.withMark(seen, id, want))
	}
	return changes
}

// drop are the changes that remove the record set and its marks.
func (b *Backend) drop(seen view, recordType string) *patch {
	changes := &patch{}
	if _, there := seen.Own[recordType]; there {
		changes.RRsets = append(
			changes.RRsets,
			rrset{Name: seen.name + ".", Type: recordType, ChangeType: "DELETE"},
		)
	}
	owners := seen.texts()
	owners.Records = slices.DeleteFunc(owners.Records, func(r record) bool {
		return slices.Contains(seen.Marks[recordType], textOf(r.Content))
	})
	if len(owners.Records) == 0 {
		owners.ChangeType = "DELETE"
	}
	changes.RRsets = append(changes.RRsets, owners)
	return changes
}

// withMark is the set of owner records with one more.
func (b *Backend) withMark(seen view, id tenant.ID, want tenant.Record) rrset {
	owner := setOf(tenant.Record{
		Name: tenant.OwnerName(want.Name, b.config.Zone), Type: "TXT", TTL: tenant.OwnerTTL,
		Values: []string{b.config.Keyring.Mark(want.Object(id))},
	})
	owner.Records = append(seen.texts().Records, owner.Records...)
	return owner
}

// texts is the set of owner records as it is.
func (v view) texts() rrset {
	for _, set := range v.owners {
		if set.Type == "TXT" {
			set.ChangeType, set.Records = "REPLACE", slices.Clone(set.Records)
			return set
		}
	}
	return rrset{}
}
