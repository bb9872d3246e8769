package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tenantry/terraform-provider-tenant/internal/driver"
	"github.com/tenantry/terraform-provider-tenant/internal/migrations"
)

func newPool(o *options) *cobra.Command {
	pool := &cobra.Command{
		Use:   "pool",
		Short: "Look after what the tenants of a pool share",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usageError{errors.New("pool needs a verb: " + cmd.CommandPath() + " migrate")}
		},
	}
	pool.AddCommand(newPoolMigrate(o))
	return pool
}

func newPoolMigrate(o *options) *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use:   "migrate POOL",
		Short: "Migrate the shared tables of a pool whose isolation is row",
		Long: "migrate applies the pending migrations of a folder to the tables that all tenants of the pool share. No tenant's own\n" +
			"apply does that: while the pool is behind, their plans say so. The provider block is that of the root module, as\n" +
			"Terraform evaluates it for the first file in tenants/.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withFleet(
				cmd.Context(),
				func(*driver.Config) {},
				func(ctx context.Context, f *fleet) error {
					return o.migratePool(ctx, f, args[0], folder)
				},
			)
		},
	}
	cmd.Flags().StringVar(&folder, "migrations", "migrations",
		"the folder of goose migrations, relative to --chdir")
	return cmd
}

func (o *options) migratePool(ctx context.Context, f *fleet, pool, folder string) error {
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(o.chdir, folder)
	}
	files, err := migrations.Load(folder) //nolint:contextcheck // reading a folder asks nobody
	if err != nil {
		return err
	}
	tenants, err := f.Project.Tenants(nil)
	if err != nil {
		return err
	}
	applied, err := f.MigratePool(ctx, tenants, pool, files)
	if err != nil {
		return err
	}
	return o.show(applied, func() {
		for _, file := range applied {
			fmt.Fprintf(o.out, "%s  %.12s\n", file.Name, file.SHA256)
		}
		fmt.Fprintf(o.out, "\nThe pool %s has these %d migrations.\n", pool, len(applied))
	})
}
