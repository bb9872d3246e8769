package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenantry/terraform-provider-tenant/internal/driver"
)

func newApply(o *options) *cobra.Command {
	var domainWait time.Duration
	var allowDestroy, alreadyOnline bool
	var attempts int
	var mailFrom string
	cmd := &cobra.Command{
		Use:   "apply [TENANT_ID...]",
		Short: "Bring tenants to what their files say, set them Online and send their welcome mails",
		Long: "apply runs Terraform for each tenant, with a workspace of its own. A tenant whose apply succeeded is set Online, its\n" +
			"hostnames are opened and its welcome mail is sent, once. A tenant that failed is resumed by the next apply; the\n" +
			"others go on. Whatever was interrupted, apply goes on from there.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if attempts < 1 {
				return usageError{fmt.Errorf("--attempts is %d; at least 1 is needed", attempts)}
			}
			sender, err := mailSender(mailFrom)
			if err != nil {
				return err
			}
			return o.withFleet(cmd.Context(), func(c *driver.Config) {
				sender(c)
				c.DomainWait, c.AllowDestroy, c.Retry.Attempts = domainWait, allowDestroy, attempts
				c.AlreadyOnline = alreadyOnline
			}, func(ctx context.Context, f *fleet) error {
				return o.apply(ctx, f, args)
			})
		},
	}
	cmd.Flags().DurationVar(&domainWait, "domain-wait", driver.DefaultDomainWait,
		"how long a tenant waits for its custom hostname before it goes Online on its default one")
	cmd.Flags().BoolVar(&allowDestroy, "allow-destroy", false, "let a plan delete or replace something")
	cmd.Flags().BoolVar(&alreadyOnline, "already-online", false,
		"take over tenants whose people use them already: set them Online without announcing them, now or ever")
	cmd.Flags().IntVar(&attempts, "attempts", driver.DefaultRetry().Attempts,
		"how often a failure that time may mend is tried")
	mailFromFlag(cmd, &mailFrom)
	return cmd
}

// withFleet opens the driver for one verb and closes it behind it.
func (o *options) withFleet(
	ctx context.Context, configure func(*driver.Config), verb func(context.Context, *fleet) error,
) error {
	opened, err := o.openFleet(ctx, configure)
	if err != nil {
		return err
	}
	return errors.Join(verb(ctx, opened), opened.Close())
}

func (o *options) apply(ctx context.Context, f *fleet, ids []string) error {
	tenants, err := f.Project.Tenants(ids)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		if err := o.reportVanished(ctx, f, tenants); err != nil {
			return err
		}
	}
	results, err := f.Apply(ctx, tenants)
	if err != nil {
		return err
	}
	return o.summarise(results)
}

// reportVanished names the tenants whose files are gone. A vanished file is never a reason to destroy.
func (o *options) reportVanished(ctx context.Context, f *fleet, tenants []driver.TenantFile) error {
	rows, err := f.Catalog.List(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		has := slices.ContainsFunc(tenants, func(file driver.TenantFile) bool { return file.ID == row.ID })
		if !has && row.Status != "offboarded" {
			f.Progress(driver.Event{
				Time: time.Now(), Tenant: row.ID, Type: "notice",
				Message: "is in the catalog but has no file in tenants/ any more; nothing was changed",
			})
		}
	}
	return nil
}

func (o *options) summarise(results []driver.Result) error {
	var failed, waiting, unchanged, unsent int
	for _, result := range results {
		if result.Unsent {
			unsent++
		}
		switch {
		case result.Err != nil:
			failed++
		case result.Waiting != "":
			waiting++
		case result.Changes.None():
			unchanged++
		}
	}
	if !o.json {
		noun := "tenants"
		if len(results) == 1 {
			noun = "tenant"
		}
		fmt.Fprintf(o.out, "\n%d %s: %d without changes, %d changed, %d waiting for a domain, %d failed\n",
			len(results), noun, unchanged, len(results)-unchanged-waiting-failed, waiting, failed)
		if unsent > 0 {
			fmt.Fprintf(o.out, "%d welcome mails are not delivered yet\n", unsent)
		}
	}
	if failed+unsent > 0 {
		return exitError{exitFailed}
	}
	return nil
}
