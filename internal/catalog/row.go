package catalog

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// row is a tenant's row and the epoch of its lease. It is comparable: an unchanged one is not written.
type row struct {
	epoch                                           int64
	id, spec, displayName, plan                     string
	generation, observed, onboarding                int64
	status, outputs, hostname, waitingFor           string
	waitSince, waitUntil, announced                 int64
	failure                                         failureColumns
	attempts, openRun, lastReconcile, nextReconcile int64
	takenOver                                       int64 // 1: it is announced to nobody
}

// failureColumns are a Failure; all empty for none.
type failureColumns struct{ code, class, step, message, remedy string }

func columnsOf(f *Failure) failureColumns {
	if f == nil {
		return failureColumns{}
	}
	return failureColumns{string(f.Code), string(f.Class), string(f.Step), f.Message, f.Remedy}
}

func (c failureColumns) failure() *Failure {
	if c == (failureColumns{}) {
		return nil
	}
	return &Failure{
		Code: tenant.Code(c.code), Class: tenant.Class(c.class), Step: tenant.Step(c.step),
		Message: c.message, Remedy: c.remedy,
	}
}

const selectRows = `SELECT l.epoch, t.tenant_id, t.spec, t.display_name, t.plan,
 t.generation, t.observed_generation, t.onboarding, t.status, t.outputs, t.hostname,
 t.waiting_for, t.wait_since_ms, t.wait_until_ms, t.announced_ms,
 t.failure_code, t.failure_class, t.failure_step, t.failure_message, t.failure_remedy,
 t.attempts, t.open_run, t.last_reconcile_ms, t.next_reconcile_ms, t.taken_over
 FROM tenants t JOIN leases l ON l.tenant_id = t.tenant_id`

const selectRow = selectRows + ` WHERE t.tenant_id = $1`

func (r *row) fields() []any {
	f := &r.failure
	return []any{
		&r.epoch, &r.id, &r.spec, &r.displayName, &r.plan,
		&r.generation, &r.observed, &r.onboarding, &r.status, &r.outputs, &r.hostname,
		&r.waitingFor, &r.waitSince, &r.waitUntil, &r.announced,
		&f.code, &f.class, &f.step, &f.message, &f.remedy,
		&r.attempts, &r.openRun, &r.lastReconcile, &r.nextReconcile, &r.takenOver,
	}
}

// owned reads the tenant's row for its owner and keeps others from changing it; tenant.ErrAbsent before the
// first Declare; tenant.CodeLeaseLost if the epoch is not the owner's.
func (t *txn) owned(ctx context.Context, epoch int64, id tenant.ID) (row, error) {
	var r row
	err := t.one(ctx, selectRow+t.lock, []any{string(id)}, r.fields()...)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return row{}, t.unowned(ctx, epoch, id)
	case err != nil:
		return row{}, err
	}
	return r, checkEpoch(id, epoch, r.epoch)
}

// unowned says why an owner found no row: the tenant is not declared, or the caller is no owner.
func (t *txn) unowned(ctx context.Context, epoch int64, id tenant.ID) error {
	var current int64
	err := t.one(ctx, `SELECT epoch FROM leases WHERE tenant_id = $1`+t.lock, []any{string(id)}, &current)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err := checkEpoch(id, epoch, current); err != nil {
		return err
	}
	return tenant.ErrAbsent
}

func checkEpoch(id tenant.ID, epoch, current int64) error {
	if epoch == current {
		return nil
	}
	return tenant.Fail(tenant.CodeLeaseLost, "checking who owns tenant "+string(id),
		fmt.Errorf("the epoch is %d, this owner's is %d", current, epoch))
}

const updateRow = `UPDATE tenants SET spec = $3, display_name = $4, plan = $5,
 generation = $6, observed_generation = $7, onboarding = $8, status = $9, outputs = $10, hostname = $11,
 waiting_for = $12, wait_since_ms = $13, wait_until_ms = $14, announced_ms = $15,
 failure_code = $16, failure_class = $17, failure_step = $18, failure_message = $19, failure_remedy = $20,
 attempts = $21, open_run = $22, last_reconcile_ms = $23, next_reconcile_ms = $24, taken_over = $25
 WHERE tenant_id = $1 AND status = $2`

// save writes what has changed of a row that owned returned, and a change of its status into the history.
// The status must still be as it was read: the row is there once, and only one can move it.
func (t *txn) save(ctx context.Context, was, is row, run int64) error {
	if was == is {
		return nil
	}
	f := is.failure
	touched, err := t.exec(ctx, updateRow, is.id, was.status, is.spec, is.displayName, is.plan,
		is.generation, is.observed, is.onboarding, is.status, is.outputs, is.hostname,
		is.waitingFor, is.waitSince, is.waitUntil, is.announced,
		f.code, f.class, f.step, f.message, f.remedy,
		is.attempts, is.openRun, is.lastReconcile, is.nextReconcile, is.takenOver)
	if err != nil {
		return err
	}
	if touched != 1 {
		return tenant.Fail(tenant.CodeConflict, "writing tenant "+is.id,
			fmt.Errorf("its status is no longer %s", was.status))
	}
	if was.status == is.status {
		return nil
	}
	return t.note(ctx, is, run, EventStatus, was.status+" → "+is.status)
}

// tenant is the row as others see it, without what lies in other tables.
func (r row) tenant() Tenant {
	return Tenant{
		ID:                 tenant.ID(r.id),
		Spec:               json.RawMessage(r.spec),
		DisplayName:        r.displayName,
		Plan:               r.plan,
		Generation:         r.generation,
		ObservedGeneration: r.observed,
		Onboarding:         r.onboarding,
		Status:             Status(r.status),
		Outputs:            document(r.outputs),
		Hostname:           r.hostname,
		Failure:            r.failure.failure(),
		Attempts:           r.attempts,
		LastReconcile:      timeOf(r.lastReconcile),
		NextReconcile:      timeOf(r.nextReconcile),
		WaitingFor:         r.waitingFor,
		WaitUntil:          timeOf(r.waitUntil),
		AnnouncedAt:        timeOf(r.announced),
		TakenOver:          r.takenOver == 1,
		Epoch:              r.epoch,
	}
}

// document is a stored JSON document; nil if there is none.
func document(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

func (r row) refuse(doing, why string) error {
	return &tenant.Failure{
		Code:   tenant.CodeConflict,
		Class:  tenant.Terminal,
		Doing:  doing + " tenant " + r.id,
		Err:    errors.New(why),
		Remedy: "Look at the tenant's status and history.",
	}
}
