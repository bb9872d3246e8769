package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Declare records what is wanted. A new tenant, or one that was offboarded, becomes Provisioning; a changed
// spec raises the generation; a failed tenant becomes Provisioning again and keeps its attempts. An
// unchanged one is not written.
func (c *Catalog) Declare(ctx context.Context, epoch int64, id tenant.ID, spec Spec) (Tenant, error) {
	doing := "declaring tenant " + string(id)
	var values bytes.Buffer
	if err := json.Compact(&values, spec.Values); err != nil {
		return Tenant{}, tenant.Fail(tenant.CodeInternal, doing, err)
	}
	var declared Tenant
	err := c.store.write(ctx, doing, func(ctx context.Context, t *txn) error {
		was, err := t.owned(ctx, epoch, id)
		wanted := was
		wanted.spec, wanted.displayName, wanted.plan = values.String(), spec.DisplayName, spec.Plan
		wanted.takenOver = takenOver(was, spec)
		switch {
		case errors.Is(err, tenant.ErrAbsent):
			wanted.id, wanted.epoch = string(id), epoch
			err = t.insert(ctx, wanted)
		case err == nil:
			err = t.redeclare(ctx, was, wanted)
		}
		if err != nil {
			return err
		}
		declared, err = t.tenant(ctx, id)
		return err
	})
	return declared, err
}

const insertRow = `INSERT INTO tenants (tenant_id, spec, display_name, plan, generation, onboarding, status, taken_over)
 VALUES ($1, $2, $3, $4, 1, 1, 'provisioning', $5)`

func (t *txn) insert(ctx context.Context, wanted row) error {
	if _, err := t.exec(ctx, insertRow, wanted.id, wanted.spec, wanted.displayName, wanted.plan,
		wanted.takenOver); err != nil {
		return err
	}
	wanted.onboarding = 1
	return t.note(ctx, wanted, 0, EventDeclared, "generation 1, provisioning")
}

func (t *txn) redeclare(ctx context.Context, was, wanted row) error {
	again := was.status == string(Offboarded)
	switch Status(was.status) {
	case Offboarding:
		return was.refuse("declaring", "it is being offboarded")
	case Failed:
		wanted.status = string(Provisioning)
	case Offboarded:
		wanted = wanted.anew()
		if _, err := t.exec(ctx, `DELETE FROM conditions WHERE tenant_id = $1`, was.id); err != nil {
			return err
		}
	}
	changed := was.spec != wanted.spec || was.displayName != wanted.displayName || was.plan != wanted.plan
	if changed || again {
		wanted.generation++
		text := fmt.Sprintf("generation %d", wanted.generation)
		if again {
			text += fmt.Sprintf(", onboarding %d", wanted.onboarding)
		}
		if err := t.note(ctx, wanted, 0, EventDeclared, text); err != nil {
			return err
		}
	}
	return t.save(ctx, was, wanted, 0)
}

// takenOver is decided once for an onboarding: whoever asks for it first, before the tenant is Online, keeps all later
// applies from announcing it.
func takenOver(was row, spec Spec) int64 {
	begins := was.announced == 0 || was.status == string(Offboarded)
	switch {
	case spec.TakenOver && begins:
		return 1
	case was.status == string(Offboarded):
		return 0
	}
	return was.takenOver
}

// anew is the row at the begin of another onboarding: nothing of an earlier one is left but its numbers.
func (r row) anew() row {
	return row{
		takenOver:   r.takenOver,
		epoch:       r.epoch,
		id:          r.id,
		spec:        r.spec,
		displayName: r.displayName,
		plan:        r.plan,
		generation:  r.generation,
		observed:    r.observed,
		onboarding:  r.onboarding + 1,
		status:      string(Provisioning),
	}
}

// AwaitDomain records that the tenant's pivot waits for the proof of hostname, and returns until when: wait
// after the first call for this hostname. A wait that is over is not recorded.
func (c *Catalog) AwaitDomain(
	ctx context.Context, epoch int64, id tenant.ID, hostname string, wait time.Duration,
) (time.Time, error) {
	var until time.Time
	doing := "recording what tenant " + string(id) + " waits for"
	err := c.store.write(ctx, doing, func(ctx context.Context, t *txn) error {
		was, err := t.owned(ctx, epoch, id)
		if err != nil {
			return err
		}
		waiting := was
		if was.waitingFor != hostname {
			waiting.waitingFor, waiting.waitSince = hostname, t.now
		}
		waiting.waitUntil = waiting.waitSince + wait.Milliseconds()
		until = timeOf(waiting.waitUntil)
		if waiting == was || waiting.waitUntil <= t.now {
			return nil
		}
		text := "for the proof of " + hostname + " until " + until.Format(time.RFC3339)
		if err := t.note(ctx, was, 0, EventWaiting, text); err != nil {
			return err
		}
		return t.save(ctx, was, waiting, 0)
	})
	return until, err
}

// Move takes a tenant along its life where no run does: Online to Suspended and back, anything but
// Offboarded to Offboarding, that to Offboarded. Its hostnames are ordered to follow. Repeating it changes
// nothing; another way is tenant.CodeConflict.
func (c *Catalog) Move(ctx context.Context, epoch int64, id tenant.ID, to Status) error {
	doing := fmt.Sprintf("moving tenant %s to %s", id, to)
	return c.store.write(ctx, doing, func(ctx context.Context, t *txn) error {
		was, err := t.owned(ctx, epoch, id)
		if err != nil || was.status == string(to) {
			return err
		}
		moved := was
		moved.status = string(to)
		if !mayMove(Status(was.status), to) {
			return was.refuse(
				"moving",
				fmt.Sprintf("it is %s, from where no way leads to %s", was.status, to),
			)
		}
		if err := t.save(ctx, was, moved, 0); err != nil || to == Offboarded {
			return err
		}
		state := tenant.BindingSuspended
		if to == Online {
			state = tenant.BindingOpen
		}
		return t.order(ctx, moved, state)
	})
}

func mayMove(from, to Status) bool {
	switch to {
	case Online:
		return from == Suspended
	case Suspended:
		return from == Online
	case Offboarding:
		return from != Offboarded
	case Offboarded:
		return from == Offboarding
	default:
		return false
	}
}
