package main

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tenantry/terraform-provider-tenant/internal/catalog"
	"github.com/tenantry/terraform-provider-tenant/internal/driver"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func newMail(o *options) *cobra.Command {
	var list, preview, resend bool
	var mailFrom string
	cmd := &cobra.Command{
		Use:   "mail [TENANT_ID...]",
		Short: "Deliver the welcome mails that are due; list, preview or resend them",
		Long: "mail finishes what an interrupted command left: it settles waits for custom hostnames that are over, opens\n" +
			"hostnames and delivers the mails that are not delivered yet, without waiting for their next attempt.",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case list:
				return o.withCatalog(cmd.Context(), o.listMails)
			case (preview || resend) && len(args) != 1:
				return usageError{errors.New("--preview and --resend need one TENANT_ID")}
			case preview:
				return o.withCatalog(cmd.Context(), func(ctx context.Context, c *catalog.Catalog) error {
					return o.previewMail(ctx, c, tenant.ID(args[0]))
				})
			}
			sender, err := mailSender(mailFrom)
			if err != nil {
				return err
			}
			return o.withFleet(cmd.Context(), sender, func(ctx context.Context, f *fleet) error {
				return o.deliver(ctx, f, args, resend)
			},
			)
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the mails and send none")
	cmd.Flags().
		BoolVar(&preview, "preview", false, "print the mail of one tenant, with a placeholder for the invitation, and send none")
	cmd.Flags().
		BoolVar(&resend, "resend", false, "send the mail of one tenant again, under the same Message-ID and with a fresh invitation")
	mailFromFlag(cmd, &mailFrom)
	cmd.MarkFlagsMutuallyExclusive("list", "preview", "resend")
	return cmd
}

func mailFromFlag(cmd *cobra.Command, address *string) {
	cmd.Flags().
		StringVar(address, "mail-from", "", "the mail's sender, ADDRESS or \"Name <ADDRESS>\" (default onboarding@ZONE)")
}

// mailSender checks the sender's address before anything is done.
func mailSender(address string) (func(*driver.Config), error) {
	if address != "" {
		if _, err := mail.ParseAddress(address); err != nil {
			return nil, usageError{fmt.Errorf("--mail-from %q is no mail address: %w", address, err)}
		}
	}
	return func(c *driver.Config) { c.From = address }, nil
}

func (o *options) listMails(ctx context.Context, c *catalog.Catalog) error {
	mails, err := c.ListMails(ctx, "")
	if err != nil {
		return err
	}
	rows := []mailStatus{}
	for _, queued := range mails {
		rows = append(rows, mailOf(queued))
	}
	return o.show(rows, func() {
		w := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "TENANT\tKIND\tTO\tSTATE\tATTEMPTS\tMESSAGE-ID")
		for _, row := range rows {
			fmt.Fprintf(
				w,
				"%s\t%s\t%s\t%s\t%d\t%s\n",
				row.Tenant,
				row.Kind,
				row.To,
				row.State,
				row.Attempts,
				row.MessageID,
			)
		}
		_ = w.Flush()
	})
}

func (o *options) previewMail(ctx context.Context, c *catalog.Catalog, id tenant.ID) error {
	row, err := knownTenant(ctx, c, id)
	if err != nil {
		return err
	}
	text, err := driver.PreviewMail(row, templates(o.chdir))
	if err != nil {
		return err
	}
	fmt.Fprint(o.out, text)
	return nil
}

func (o *options) deliver(ctx context.Context, f *fleet, ids []string, resend bool) error {
	tenants, err := f.Project.Tenants(ids)
	if err != nil {
		return err
	}
	if resend {
		if _, err := knownTenant(ctx, f.Catalog, tenants[0].ID); err != nil {
			return err
		}
		if err := f.Resend(ctx, tenants[0]); err != nil {
			return err
		}
	}
	for _, result := range f.Deliver(ctx, tenants) {
		if result.Err != nil || result.Unsent {
			return exitError{exitFailed}
		}
	}
	return nil
}
