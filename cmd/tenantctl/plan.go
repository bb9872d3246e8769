package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenantry/terraform-provider-tenant/internal/driver"
)

func newPlan(o *options) *cobra.Command {
	var detailed bool
	cmd := &cobra.Command{
		Use:   "plan [TENANT_ID...]",
		Short: "Show what an apply would change, and change nothing",
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withFleet(
				cmd.Context(),
				func(*driver.Config) {},
				func(ctx context.Context, f *fleet) error {
					return o.plan(ctx, f, args, detailed)
				},
			)
		},
	}
	cmd.Flags().BoolVar(&detailed, "detailed-exitcode", false, "exit 2 if changes are pending")
	return cmd
}

func (o *options) plan(ctx context.Context, f *fleet, ids []string, detailed bool) error {
	tenants, err := f.Project.Tenants(ids)
	if err != nil {
		return err
	}
	plans, err := f.Plan(ctx, tenants, !o.json)
	if err != nil {
		return err
	}
	var failed, pending bool
	for _, plan := range plans {
		failed = failed || plan.Err != nil
		pending = pending || plan.Pending
		o.showPlan(f, plan)
	}
	switch {
	case failed:
		return exitError{exitFailed}
	case pending && detailed:
		return exitError{exitPending}
	default:
		return nil
	}
}

func (o *options) showPlan(f *fleet, plan driver.PlanResult) {
	if o.json {
		if plan.Err == nil {
			f.Progress(driver.Event{
				Time: f.Now(), Tenant: plan.Tenant, Type: "planned", Changes: plan.Planned,
				Message: fmt.Sprintf("%d changes", len(plan.Planned)),
			})
		}
		return
	}
	if text := strings.TrimSpace(plan.Text); text != "" {
		fmt.Fprintf(o.out, "# %s\n\n%s\n\n", plan.Tenant, text)
	}
}
