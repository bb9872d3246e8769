package catalog

import (
	"context"
	"fmt"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// StartRun records the begin of a run for a generation, which must be the current one (else
// tenant.CodeConflict). A run that a dead owner left open is closed as abandoned; a failed tenant becomes
// Provisioning again.
func (c *Catalog) StartRun(
	ctx context.Context, epoch int64, id tenant.ID, generation int64, action string,
) (Run, error) {
	run := Run{Tenant: id, Generation: generation, Epoch: epoch, Action: action, Result: RunRunning}
	doing := fmt.Sprintf("recording that %s of tenant %s begins", action, id)
	err := c.store.write(ctx, doing, func(ctx context.Context, t *txn) error {
		was, err := t.owned(ctx, epoch, id)
		if err != nil {
			return err
		}
		if was.generation != generation {
			return outdated(doing, was, generation)
		}
		if err := t.abandonRun(ctx, was); err != nil {
			return err
		}
		run.StartedAt = timeOf(t.now)
		if err := t.insertRun(ctx, was, &run); err != nil {
			return err
		}
		going := was
		going.openRun = run.ID
		if was.status == string(Failed) {
			going.status = string(Provisioning)
		}
		return t.save(ctx, was, going, run.ID)
	})
	return run, err
}

func outdated(doing string, r row, generation int64) error {
	return tenant.Fail(tenant.CodeConflict, doing,
		fmt.Errorf("generation %d was asked for, the tenant is at %d", generation, r.generation))
}

const (
	abandonRun = `UPDATE runs SET result = 'abandoned', finished_ms = $2 WHERE run_id = $1`
	insertRun  = `INSERT INTO runs (tenant_id, onboarding, generation, epoch, action, result, started_ms)
 VALUES ($1, $2, $3, $4, $5, 'running', $6) RETURNING run_id`
	finishRun = `UPDATE runs SET result = $2, changes = $3, finished_ms = $4,
 failure_code = $5, failure_class = $6, failure_step = $7, failure_message = $8, failure_remedy = $9
 WHERE run_id = $1`
	selectRuns = `SELECT run_id, tenant_id, generation, epoch, action, result, changes, started_ms, finished_ms,
 failure_code, failure_class, failure_step, failure_message, failure_remedy
 FROM runs WHERE tenant_id = $1 ORDER BY run_id`
)

func (t *txn) abandonRun(ctx context.Context, r row) error {
	if r.openRun == 0 {
		return nil
	}
	if _, err := t.exec(ctx, abandonRun, r.openRun, t.now); err != nil {
		return err
	}
	return t.note(ctx, r, r.openRun, EventRunAbandoned, fmt.Sprintf("run %d ended without a word", r.openRun))
}

func (t *txn) insertRun(ctx context.Context, r row, run *Run) error {
	args := []any{r.id, r.onboarding, run.Generation, run.Epoch, run.Action, t.now}
	if err := t.one(ctx, insertRun, args, &run.ID); err != nil {
		return err
	}
	return t.note(ctx, r, run.ID, EventRunStarted,
		fmt.Sprintf("run %d: %s of generation %d", run.ID, run.Action, run.Generation))
}

// FinishRun records what the run came to. The result of a run for an older generation than the current one
// closes the run and changes nothing of the tenant. A failure makes a Provisioning tenant Failed; one that
// is Online stays so.
func (c *Catalog) FinishRun(ctx context.Context, run Run, outcome Outcome) error {
	doing := fmt.Sprintf("recording the end of run %d of tenant %s", run.ID, run.Tenant)
	return c.store.write(ctx, doing, func(ctx context.Context, t *txn) error {
		was, err := t.owned(ctx, run.Epoch, run.Tenant)
		if err != nil {
			return err
		}
		if err := t.closeRun(ctx, was, run, outcome); err != nil {
			return err
		}
		is := was
		is.openRun = 0
		if run.Generation < was.generation {
			return t.save(ctx, was, is, run.ID)
		}
		if err := t.setConditions(ctx, was, outcome.Conditions); err != nil {
			return err
		}
		return t.save(ctx, was, is.after(outcome, t.now), run.ID)
	})
}

func (t *txn) closeRun(ctx context.Context, r row, run Run, outcome Outcome) error {
	result, event := RunSucceeded, EventRunSucceeded
	text := fmt.Sprintf("run %d: %s", run.ID, outcome.Changes)
	f := columnsOf(outcome.Failure)
	if outcome.Failure != nil {
		result, event = RunFailed, EventRunFailed
		text = fmt.Sprintf("run %d: %s", run.ID, f.code)
		if f.step != "" {
			text += " at step " + f.step
		}
	}
	if run.Generation < r.generation {
		text += fmt.Sprintf("; of generation %d, which is no longer wanted", run.Generation)
	}
	if r.openRun != run.ID {
		return r.refuse("finishing a run of", fmt.Sprintf("run %d is not open", run.ID))
	}
	_, err := t.exec(ctx, finishRun, run.ID, string(result), outcome.Changes, t.now,
		f.code, f.class, f.step, f.message, f.remedy)
	if err != nil {
		return err
	}
	return t.note(ctx, r, run.ID, event, text)
}

// after is the row after a run with the current generation.
func (r row) after(outcome Outcome, now int64) row {
	r.observed, r.lastReconcile = r.generation, now
	r.nextReconcile = milliseconds(outcome.NextReconcile)
	r.failure = columnsOf(outcome.Failure)
	if outcome.Failure == nil {
		r.attempts = 0
		if outcome.Outputs != nil {
			r.outputs, r.hostname = string(outcome.Outputs), outcome.Hostname
		}
		return r
	}
	r.attempts++
	if r.status == string(Provisioning) {
		r.status = string(Failed)
	}
	return r
}

// SetConditions records steps while a run goes on. Those of an older generation than the current one are
// dropped.
func (c *Catalog) SetConditions(
	ctx context.Context, epoch int64, id tenant.ID, generation int64, conditions []Condition,
) error {
	doing := "recording the steps of tenant " + string(id)
	return c.store.write(ctx, doing, func(ctx context.Context, t *txn) error {
		r, err := t.owned(ctx, epoch, id)
		if err != nil || generation < r.generation {
			return err
		}
		return t.setConditions(ctx, r, conditions)
	})
}

// upsertCondition keeps the time since when a step is what it is, and writes nothing that is already there.
const upsertCondition = `INSERT INTO conditions (tenant_id, step, status, reason, message,
 generation, since_ms) VALUES ($1, $2, $3, $4, $5, $6, $7)
 ON CONFLICT (tenant_id, step) DO UPDATE SET
 since_ms = CASE WHEN conditions.status = excluded.status THEN conditions.since_ms ELSE excluded.since_ms END,
 status = excluded.status, reason = excluded.reason, message = excluded.message,
 generation = excluded.generation
 WHERE conditions.status <> excluded.status OR conditions.reason <> excluded.reason
 OR conditions.message <> excluded.message OR conditions.generation <> excluded.generation`

func (t *txn) setConditions(ctx context.Context, r row, conditions []Condition) error {
	for _, condition := range conditions {
		since := t.now
		if !condition.Since.IsZero() {
			since = condition.Since.UnixMilli()
		}
		_, err := t.exec(ctx, upsertCondition, r.id, string(condition.Step), string(condition.Status),
			condition.Reason, condition.Message, r.generation, since)
		if err != nil {
			return err
		}
	}
	return nil
}

// Runs returns a tenant's runs, oldest first.
func (c *Catalog) Runs(ctx context.Context, id tenant.ID) ([]Run, error) {
	var runs []Run
	err := c.store.read(
		ctx,
		"reading the runs of tenant "+string(id),
		func(ctx context.Context, t *txn) error {
			return t.each(ctx, selectRuns, []any{string(id)}, func(scan func(...any) error) error {
				run, err := scanRun(scan)
				runs = append(runs, run)
				return err
			})
		},
	)
	return runs, err
}

func scanRun(scan func(...any) error) (Run, error) {
	var (
		run               Run
		started, finished int64
		f                 failureColumns
	)
	err := scan(&run.ID, &run.Tenant, &run.Generation, &run.Epoch, &run.Action, &run.Result, &run.Changes,
		&started, &finished, &f.code, &f.class, &f.step, &f.message, &f.remedy)
	run.StartedAt, run.FinishedAt, run.Failure = timeOf(started), timeOf(finished), f.failure()
	return run, err
}
