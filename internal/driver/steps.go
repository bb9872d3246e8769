package driver

import (
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/catalog"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// stepReport follows a run's steps. Terraform's output comes from one goroutine, so it needs no lock.
type stepReport struct {
	generation int64
	now        func() time.Time
	seen       map[tenant.Step]string
}

func newStepReport(generation int64, now func() time.Time) *stepReport {
	return &stepReport{generation: generation, now: now, seen: map[tenant.Step]string{}}
}

func (r *stepReport) saw(step tenant.Step, kind string) { r.seen[step] = kind }

// conditions tells the steps after the run. All are Ready only if the run succeeded: then Terraform has refreshed or
// made every one of them. A step that the run did not get to is left out: it stays what it was.
func (r *stepReport) conditions(output Output, failure error) []catalog.Condition {
	var all []catalog.Condition
	for _, step := range tenant.Steps() {
		condition, reached := r.condition(step, failure)
		if !reached {
			continue
		}
		if step == tenant.StepDomain && failure == nil && output.Waits() != "" {
			condition.Message = "waiting for the proof of " + output.Waits()
		}
		all = append(all, condition)
	}
	return all
}

func (r *stepReport) condition(step tenant.Step, failure error) (catalog.Condition, bool) {
	condition := catalog.Condition{Step: step, Generation: r.generation, Since: r.now()}
	kind := r.seen[step]
	switch {
	case failure == nil || kind == "apply_complete":
		condition.Status, condition.Reason = catalog.StepReady, "Applied"
	case kind == "apply_errored" || tenant.FailureOf(failure).Step == step:
		found := tenant.FailureOf(failure)
		condition.Status, condition.Reason, condition.Message = catalog.StepFailed, string(
			found.Code,
		), failure.Error()
	case kind == "apply_start":
		condition.Status, condition.Reason = catalog.StepProgressing, "Interrupted"
	default:
		return catalog.Condition{}, false
	}
	return condition, true
}

func failureRow(err error) *catalog.Failure {
	found := tenant.FailureOf(err)
	return &catalog.Failure{
		Code: found.Code, Class: found.Class, Step: found.Step, Message: err.Error(), Remedy: found.Remedy,
	}
}
