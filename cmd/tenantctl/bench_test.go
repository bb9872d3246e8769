//go:build bench

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/acctest"
)

const benchTenants = 100

// TestBenchOnboarding prints what the onboarding of 100 tenants of the quickstart costs on the embedded backends, and what a
// bare `terraform apply` of eleven terraform_data costs on the same machine in the same run. It asserts no time.
//
//nolint:paralleltest // what it measures is what the machine does meanwhile
func TestBenchOnboarding(t *testing.T) {
	binary := filepath.Join(acctest.Repository(), "bin", "tenantctl")
	bare := benchBare(t)
	fmt.Printf(
		"bare terraform apply of 11 terraform_data: %6.1f ms CPU, %6.1f ms wall, %3d MiB\n",
		bare.cpu,
		bare.wall,
		bare.rss,
	)
	ratio := 0.0
	for _, parallel := range []int{1, 2, 4} {
		one := benchFleet(t, binary, parallel)
		fmt.Printf(
			"onboarding at %d at once:                   %6.1f ms CPU, %6.1f ms wall a tenant, driver %d MiB\n",
			parallel,
			one.cpu,
			one.wall,
			one.rss,
		)
		fmt.Printf("bench onboard_rate_%d %.2f tenants/s\n", parallel, 1000/one.wall)
		if parallel == 1 {
			ratio = one.cpu / bare.cpu
		}
	}
	fmt.Printf("bench onboard_child_rss_mib %d MiB\n", bare.rss)
	fmt.Printf("bench onboard_cpu_ratio %.2f ratio\n", ratio)
}

// cost is for one tenant: milliseconds, and the high-water mark of memory in MiB.
type cost struct {
	cpu, wall float64
	rss       int64
}

func measure(t *testing.T, n int, cmd *exec.Cmd) cost {
	t.Helper()
	start := time.Now()
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	peak, done := make(chan int64, 1), make(chan struct{})
	go func() { peak <- watchPeak(cmd.Process.Pid, done) }()
	err := cmd.Wait()
	close(done)
	require.NoError(t, err, out.String())
	state := cmd.ProcessState
	cpu := state.UserTime() + state.SystemTime() // of the process and all children that it has waited for
	each := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(n) }
	return cost{cpu: each(cpu), wall: each(time.Since(start)), rss: <-peak}
}

// watchPeak reads the process' own peak until it ends (proc(5), VmHWM).
func watchPeak(pid int, done <-chan struct{}) (peak int64) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		for line := range strings.Lines(string(status)) {
			if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmHWM:" {
				kib, _ := strconv.ParseInt(fields[1], 10, 64)
				peak = max(peak, kib/1024)
			}
		}
		select {
		case <-done:
			return peak
		case <-ticker.C:
		}
	}
}

func benchFleet(t *testing.T, binary string, parallel int) cost {
	t.Helper()
	dir := t.TempDir()
	require.NoError(
		t,
		os.CopyFS(dir, os.DirFS(filepath.Join(acctest.Repository(), "examples", "quickstart"))),
	)
	require.NoError(
		t,
		os.CopyFS(
			filepath.Join(dir, "modules", "tenant"),
			os.DirFS(filepath.Join(acctest.Repository(), "modules", "tenant")),
		),
	)
	main, err := os.ReadFile(filepath.Join(dir, "main.tf"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.tf"),
		[]byte(strings.ReplaceAll(string(main), "../../modules", "./modules")), 0o600))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "tenants")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "tenants"), 0o700))
	for n := range benchTenants {
		file := fmt.Sprintf("display_name = %q\nplan = \"pro\"\nfiscal_year_start = \"2026-01-01\"\n"+
			"administrator = { name = \"Ada\", email = \"ada@t%03d.example\" }\n", fmt.Sprintf("Tenant %d", n), n)
		require.NoError(
			t,
			os.WriteFile(filepath.Join(dir, "tenants", fmt.Sprintf("t%03d.tfvars", n)), []byte(file), 0o600),
		)
	}
	run := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Dir = dir
		return cmd
	}
	measure(t, 1, run("init"))
	cost := measure(t, benchTenants, run("apply", "--parallel", strconv.Itoa(parallel)))
	mails, err := filepath.Glob(filepath.Join(dir, ".tenant", "mail", "*.eml"))
	require.NoError(t, err)
	require.Len(t, mails, benchTenants)
	return cost
}

func benchBare(t *testing.T) cost {
	t.Helper()
	terraform, err := exec.LookPath("terraform")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.tf"), []byte(
		"resource \"terraform_data\" \"this\" {\n  count = 11\n  input = \"x\"\n}\n"), 0o600))
	run := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), terraform, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1")
		return cmd
	}
	measure(t, 1, run("init"))
	var total cost
	for range benchTenants {
		one := measure(t, benchTenants, run("apply", "-auto-approve"))
		total.cpu, total.wall, total.rss = total.cpu+one.cpu, total.wall+one.wall, max(total.rss, one.rss)
		if err := os.Remove(
			filepath.Join(dir, "terraform.tfstate"),
		); err != nil &&
			!errors.Is(err, syscall.ENOENT) {
			require.NoError(t, err)
		}
	}
	return total
}
