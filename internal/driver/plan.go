package driver

import (
	"bytes"
	"context"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// PlanResult is what an apply would do to one tenant.
type PlanResult struct {
	Result
	Text    string          // Terraform's own words, with every attribute; "" in a plan for a program
	Planned []PlannedChange // only in a plan for a program
	Pending bool            // there is something to do
}

// Plan shows what an apply would do. It writes nothing, neither outside nor in the catalog. For a person it returns
// Terraform's text, for a program the changes.
func (d *Driver) Plan(ctx context.Context, tenants []TenantFile, forPerson bool) ([]PlanResult, error) {
	if err := d.initialise(ctx); err != nil {
		return nil, err
	}
	plans := make(map[tenant.ID]*PlanResult, len(tenants))
	for _, file := range tenants {
		plans[file.ID] = &PlanResult{}
	}
	results := d.forEach(ctx, tenants, func(ctx context.Context, slot *worker, file TenantFile) Result {
		return Result{Err: d.planOne(ctx, slot, file, forPerson, plans[file.ID])}
	})
	out := make([]PlanResult, 0, len(results))
	for _, result := range results {
		plan := *plans[result.Tenant]
		plan.Result = result
		out = append(out, plan)
	}
	return out, nil
}

func (d *Driver) planOne(
	ctx context.Context,
	slot *worker,
	file TenantFile,
	forPerson bool,
	plan *PlanResult,
) error {
	served, err := d.Provider.Serve(ctx, ProviderRun{})
	if err != nil {
		return err
	}
	defer served.Close()
	events, text := &stream{}, &bytes.Buffer{}
	run := job{tenant: file, served: served, events: events}
	if forPerson {
		run.text = text
	}
	plan.Pending, err = slot.plan(ctx, run)
	plan.Text, plan.Planned = text.String(), events.planned
	d.remember(file.ID, served.Backends())
	for _, warning := range events.warnings {
		d.emit(Event{Tenant: file.ID, Type: "warning", Message: warning.text()})
	}
	if err != nil && forPerson {
		// Terraform's text is for people: it wraps its lines, so the code of a failure can't be read from it.
		plan.Text, run.text = "", nil
		_, err = slot.plan(ctx, run)
	}
	if err != nil {
		return events.failure(err)
	}
	return nil
}
