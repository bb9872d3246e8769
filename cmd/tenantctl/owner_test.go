package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAccOneOwner: while one process works on a tenant, another one is refused; once the first is dead, it is not.
func TestAccOneOwner(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	s.addTenant("other")
	first := s.with("TENANT_FAILPOINT=stop=seed.made#1").start("apply", "acme")
	waitStopped(t, first)

	second := s.run("apply")
	require.Equal(t, exitFailed, second.code, second.all())
	require.Contains(t, second.stderr, "lease_held")
	require.Contains(t, second.stderr, fmt.Sprint(first.Process.Pid), "the owner is named")
	rows := s.status()
	require.Equal(t, "provisioning", string(rows["acme"].Status), "nobody but the owner writes")
	require.Equal(t, "online", string(rows["other"].Status), "other tenants go on: %s", second.all())

	require.NoError(t, first.Process.Kill())
	require.Error(t, first.Wait())
	s.ok("apply")
	s.requireOnline("acme", "other")
}

func (s *scratch) start(args ...string) *exec.Cmd {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), s.binary, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), s.env...)
	require.NoError(s.t, cmd.Start())
	return cmd
}

// waitStopped waits until the process has stopped itself (proc(5): state T).
func waitStopped(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	require.Eventually(t, func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		return err == nil && strings.Contains(string(status), "\nState:\tT")
	}, time.Minute, 10*time.Millisecond)
}

// TestAccInterrupted: Ctrl-C ends the run in order, wherever it falls; the next apply goes on.
func TestAccInterrupted(t *testing.T) {
	t.Parallel()
	for _, point := range []string{
		"database.intended#1", "database.made#1", "organization.made#1", "seed.made#1", "pivot.before#1", "pivot.after#1",
		"gate.moved#1", "mail.claimed#1", "mail.handed_over#1",
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s := newStarter(t)
			cut := s.with("TENANT_FAILPOINT=interrupt="+point).run("apply", "--attempts", "1")
			require.NotEqual(t, -1, cut.code, "it was not killed: %s", cut.all())
			require.NotContains(t, cut.all(), "panic")
			s.ok("apply")
			s.requireOnline("acme")
			require.Zero(t, s.run("plan", "--detailed-exitcode").code)
		})
	}
}
