package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// options are the flags that every verb has.
type options struct {
	chdir     string
	dataDir   string
	catalog   string
	terraform string
	json      bool
	parallel  int
	out, err  io.Writer
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	printed := &watchedWriter{Writer: stdout}
	//nolint:contextcheck // cobra hands each verb its context
	root := newRoot(&options{out: printed, err: stderr})
	started := false
	each(root, func(verb *cobra.Command) {
		work := verb.RunE
		if work == nil {
			return
		}
		verb.RunE = func(cmd *cobra.Command, args []string) error {
			started = true
			return work(cmd, args)
		}
	})
	root.SetArgs(args)
	root.SetOut(printed)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil && printed.failed != nil {
		err = fmt.Errorf("writing the output: %w", printed.failed)
	}
	if err != nil && !started {
		err = usageError{err} // cobra did not get to the verb
	}
	if _, said := errors.AsType[exitError](err); err != nil && !said {
		explain(stderr, err)
	}
	return exitCode(err)
}

// each calls do for every command below root.
func each(root *cobra.Command, do func(*cobra.Command)) {
	for _, verb := range root.Commands() {
		do(verb)
		each(verb, do)
	}
}

// watchedWriter remembers that something was not printed: whoever reads the output then misses it.
type watchedWriter struct {
	io.Writer

	failed error
}

func (w *watchedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		w.failed = err
	}
	return n, err
}

// explain tells what failed, why, and what to do now.
func explain(w io.Writer, err error) {
	fmt.Fprintf(w, "Error: %v\n", err)
	if _, ours := errors.AsType[*tenant.Failure](err); ours {
		full := tenant.FailureOf(err)
		fmt.Fprintf(w, "\n%s\n(%s, %s)\n", full.Remedy, full.Code, full.Class)
	}
}

func newRoot(o *options) *cobra.Command {
	root := &cobra.Command{
		Use:   "tenantctl",
		Short: "Onboard tenants: database, identity, domain and seed by Terraform, then Online, then the welcome mail",
		Long: "tenantctl applies one tenant or all of them with Terraform, sets each Online once everything is ready, and sends\n" +
			"its welcome mail exactly then. A tenant is a file tenants/ID.tfvars beside your root module.\n\n" +
			"Without arguments a verb means every tenant in tenants/.",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&o.chdir, "chdir", ".", "the folder of the root module")
	flags.StringVar(
		&o.dataDir,
		"data-dir",
		".tenant",
		"where tenantctl keeps its own files, relative to --chdir",
	)
	flags.StringVar(&o.catalog, "catalog", "", "the catalog's file (default catalog.db in --data-dir)")
	flags.StringVar(
		&o.terraform,
		"terraform",
		"",
		"the Terraform to use (default: the one on PATH, or one that is installed)",
	)
	flags.BoolVar(&o.json, "json", false, "write JSON for programs: one event a line, or one document")
	flags.IntVar(&o.parallel, "parallel", defaultParallel(), "how many tenants to work on at once")
	root.AddCommand(
		newInit(o), newPlan(o), newApply(o), newStatus(o), newHistory(o), newMail(o), newPool(o), newEdge(o),
	)
	root.AddCommand(manPages()...)
	return root
}
