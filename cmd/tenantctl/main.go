// Command tenantctl onboards tenants: it applies one or all of them with Terraform, sets them Online and has their
// welcome mails delivered.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/tenantry/terraform-provider-tenant/internal/driver"
)

// Exit codes are a contract: 0 all as wanted, 1 some failed, 2 (plan --detailed-exitcode) changes are pending, 64 the
// command line was wrong (EX_USAGE of sysexits.h).
const (
	exitFailed  = 1
	exitPending = 2
	exitUsage   = 64
)

func main() {
	if filepath.Base(os.Args[0]) == driver.ShimName {
		fmt.Fprintln(os.Stderr, driver.RunShim(os.Args[1:]))
		os.Exit(exitFailed)
	}
	collectLessOften()
	ownArguments()
	// The first signal asks for an orderly end; NotifyContext gives the second one back its default, which is to die.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// ownArguments takes TF_CLI_ARGS and its like out of the environment: they are meant for a Terraform that a person runs, and
// would change what is asked of ours, down to its version.
func ownArguments() {
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "TF_CLI_ARGS") {
			fmt.Fprintln(os.Stderr, "tenantctl: "+name+" is not for tenantctl and was left out")
			_ = os.Unsetenv(name) // can't fail for a name that the environment has
		}
	}
}

// collectLessOften lets the heap of a few MiB grow further before it is searched for garbage: that search was a fifth
// of the driver's work. Near the limit it is as thorough as ever. GOGC and GOMEMLIMIT have the last word.
func collectLessOften() {
	const percent, limit = 800, 48 << 20
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}

// exitError ends the program with a code, after everything worth saying was said.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// usageError is a command line that can't be understood.
type usageError struct{ error }

func exitCode(err error) int {
	var exit exitError
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.code
	case errors.As(err, &usage):
		return exitUsage
	default:
		return exitFailed
	}
}
