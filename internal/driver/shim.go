package driver

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ShimName is the name under which this program, instead of being the driver, takes a tenant's child lock and becomes
// Terraform.
const ShimName = "tenantctl-terraform"

const (
	shimTerraform = "TENANTCTL_SHIM_TERRAFORM"
	shimLock      = "TENANTCTL_SHIM_LOCK"
	// shimEnvPrefix carries variables that terraform-exec keeps from its callers, such as TF_VAR_*.
	shimEnvPrefix = "TENANTCTL_SHIM_ENV_"
)

// RunShim takes the lock named by the environment and replaces this process by Terraform, which inherits the lock and
// gives it up by exiting, however it ends: a Terraform that outlives its driver still owns the tenant. It returns
// only if that failed.
func RunShim(args []string) error {
	terraform, lock := os.Getenv(shimTerraform), os.Getenv(shimLock)
	if terraform == "" {
		return fmt.Errorf("%s is started by tenantctl only", ShimName)
	}
	if lock != "" {
		if err := lockForLife(lock); err != nil {
			return fmt.Errorf("taking the lock %s for Terraform: %w", lock, err)
		}
	}
	argv := append([]string{"terraform"}, args...)
	//nolint:gosec // running the Terraform that the user has is what this is for
	return fmt.Errorf("starting %s: %w", terraform, syscall.Exec(terraform, argv, shimEnviron(os.Environ())))
}

// lockForLife opens the lock file without close-on-exec, takes it, and leaves it open. The process id is written into it for
// people.
func lockForLife(path string) error {
	file, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT, 0o600)
	if err != nil {
		return err
	}
	if err := unix.Flock(file, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	if err := unix.Ftruncate(file, 0); err != nil {
		return err
	}
	_, err = unix.Write(file, fmt.Appendf(nil, "%d\n", os.Getpid()))
	return err
}

func shimEnviron(environ []string) []string {
	out := make([]string, 0, len(environ))
	for _, pair := range environ {
		switch {
		case strings.HasPrefix(pair, shimEnvPrefix):
			out = append(out, strings.TrimPrefix(pair, shimEnvPrefix))
		case strings.HasPrefix(pair, shimTerraform+"="), strings.HasPrefix(pair, shimLock+"="):
		default:
			out = append(out, pair)
		}
	}
	return out
}
