package catalog_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/catalog"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// otherEnv names what this binary does as the other process of a test.
const otherEnv = "CATALOG_TEST_OTHER"

// other is the life of another process: it does its work, says so in one line, and ends when its input does.
func other(out io.Writer, verb string, args []string) {
	line, held, err := otherWork(context.Background(), verb, args)
	if err != nil {
		line = fmt.Sprint("failed: ", err)
	}
	_, _ = fmt.Fprintln(out, line)
	_, _ = io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(held) // a lock that nobody refers to any more is closed by the garbage collector
}

func otherWork(ctx context.Context, verb string, args []string) (line string, held any, err error) {
	if verb == "child" {
		lock := flock.New(args[0])
		_, err := lock.TryLock()
		return "locked", lock, err
	}
	now := start().Add(time.Hour) // another process's clock is another clock
	c, err := catalog.Open(ctx, catalog.Config{
		Path: args[0], LockDir: args[1], Now: func() time.Time { return now },
	})
	if err != nil {
		return "", nil, err
	}
	switch verb {
	case "own":
		lease, err := c.Leases().Acquire(ctx, tenant.ID(args[2]))
		if err != nil {
			return "", nil, err
		}
		return strconv.FormatInt(lease.Epoch(), 10), lease, nil
	case "claim":
		mail, err := c.ClaimMail(ctx, tenant.ID(args[2]), time.Minute)
		if err != nil {
			return "", nil, err
		}
		return mail.MessageID, c, nil
	default:
		return "done", c, onboardMany(ctx, c, args[2])
	}
}

// onboardMany onboards tenants of its own, and takes part in the race for a shared one.
func onboardMany(ctx context.Context, c *catalog.Catalog, prefix string) error {
	for n := range 5 {
		if err := onboardOne(ctx, c, tenant.ID(fmt.Sprintf("%s-%d", prefix, n))); err != nil {
			return err
		}
		err := onboardOne(ctx, c, "shared")
		if err != nil && !tenant.HasCode(err, tenant.CodeLeaseHeld) {
			return err
		}
	}
	return nil
}

func onboardOne(ctx context.Context, c *catalog.Catalog, id tenant.ID) error {
	lease, err := c.Leases().Acquire(ctx, id)
	if err != nil {
		return err
	}
	declared, err := c.Declare(ctx, lease.Epoch(), id, spec("pro"))
	if err != nil {
		return err
	}
	run, err := c.StartRun(ctx, lease.Epoch(), id, declared.Generation, "apply")
	if err != nil {
		return err
	}
	object := tenant.Object{Tenant: id, Kind: tenant.KindDatabase, Name: string(id)}
	if _, err := tenant.Make(ctx, c.Journal(lease.Epoch(), id), object,
		func(context.Context) (string, error) { return "1", nil }); err != nil {
		return err
	}
	if err := c.FinishRun(ctx, run, ready()); err != nil {
		return err
	}
	if _, err := c.Pivot(ctx, lease.Epoch(), id, catalog.PivotRequest{
		Generation: declared.Generation, Hostname: string(id),
		Mail: catalog.NewMail{Kind: "welcome", MessageID: "<" + string(id) + ">", To: "ann@acme.example"},
	}); err != nil {
		return err
	}
	return lease.Release()
}

// process is another process that has done its work.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
}

func startProcess(t *testing.T, verb string, args ...string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...) //nolint:gosec // this very binary
	cmd.Env = append(os.Environ(), otherEnv+"="+verb)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p := &process{cmd: cmd, stdin: stdin, out: bufio.NewReader(stdout)}
	t.Cleanup(func() { p.kill() })
	return p
}

// says returns the line with which the process tells that it has done its work.
func (p *process) says(t *testing.T) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	require.NoError(t, err)
	line = strings.TrimSpace(line)
	require.NotContains(t, line, "failed:")
	return line
}

// kill ends the process as kill -9 does, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func (s *system) process(t *testing.T, verb string, arg string) *process {
	t.Helper()
	return startProcess(t, verb, s.config.Path, s.config.LockDir, arg)
}

func testKilledOwner(t *testing.T, s *system) {
	dying := s.process(t, "own", "acme")
	epoch := dying.says(t)
	c := s.open(t)
	_, err := c.Leases().Acquire(t.Context(), "acme")
	requireCode(t, tenant.CodeLeaseHeld, err)
	require.ErrorContains(t, err, fmt.Sprintf("process %d", dying.cmd.Process.Pid))
	dying.kill()
	heir, err := c.Leases().Acquire(t.Context(), "acme")
	require.NoError(t, err, "its death frees the tenant at once")
	require.Greater(t, fmt.Sprint(heir.Epoch()), epoch, "though this clock is behind the dead one's")
	require.NoError(t, heir.Release())
}

func testKilledClaimer(t *testing.T, s *system) {
	o := s.online(t, "acme")
	dying := s.process(t, "claim", "acme")
	require.Equal(t, "<acme@example.com>", dying.says(t))
	dying.kill()
	require.Nil(t, o.claim(), "death proves nothing about the mail; its time decides")
	s.pass(time.Hour + time.Minute)
	mail := o.claim()
	require.NotNil(t, mail)
	require.True(t, mail.Uncertain)
	require.Equal(t, 2, mail.Attempts)
}

// testFirstMigration: four processes find no catalog and make it.
func testFirstMigration(t *testing.T, s *system) {
	var makers []*process
	for n := range 4 {
		makers = append(makers, s.process(t, "own", fmt.Sprintf("acme-%d", n)))
	}
	for _, maker := range makers {
		require.NotEmpty(t, maker.says(t))
	}
}

// testManyProcesses: nobody's work fails because others work, too.
func testManyProcesses(t *testing.T, s *system) {
	var workers []*process
	for n := range 4 {
		workers = append(workers, s.process(t, "onboard", fmt.Sprintf("worker-%d", n)))
	}
	for _, worker := range workers {
		require.Equal(t, "done", worker.says(t))
	}
	c := s.open(t)
	all, err := c.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 4*5+1)
	for _, one := range all {
		require.Equal(t, catalog.Online, one.Status)
		require.NotNil(t, one.Mail)
		require.Len(t, one.ExternalIDs, 1)
	}
	mails, err := c.ListMails(t.Context(), "shared")
	require.NoError(t, err)
	require.Len(t, mails, 1)
}

func TestAwaitChildThatDies(t *testing.T) {
	t.Parallel()
	s := &system{config: catalog.Config{Path: t.TempDir() + "/catalog.db"}}
	o := s.own(t, "acme")
	require.NoError(t, o.AwaitChild(t.Context(), "acme"), "there never was one")
	child := startProcess(t, "child", o.ChildLockPath("acme"))
	child.says(t)
	past, cancel := context.WithDeadline(t.Context(), time.Now().Add(time.Millisecond))
	defer cancel()
	requireCode(t, tenant.CodeLeaseHeld, o.AwaitChild(past, "acme"))
	require.NoError(t, o.AwaitChild(t.Context(), "globex"), "another tenant's child is nobody's business")
	child.kill()
	require.NoError(t, o.AwaitChild(t.Context(), "acme"))
	require.NoError(t, o.AwaitChild(t.Context(), "acme"), "asking leaves no lock")
}

func TestAwaitChildIsBounded(t *testing.T) {
	t.Parallel()
	s := &system{config: catalog.Config{Path: t.TempDir() + "/catalog.db"}}
	o := s.own(t, "acme")
	path := o.ChildLockPath("acme")
	require.NoError(t, os.WriteFile(path, []byte("4711\n"), 0o600))
	synctest.Test(t, func(t *testing.T) {
		lock := flock.New(path)
		held, err := lock.TryLock()
		require.NoError(t, err)
		require.True(t, held)
		begin := time.Now()
		bounded, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = o.AwaitChild(bounded, "acme")
		requireCode(t, tenant.CodeLeaseHeld, err)
		require.ErrorContains(t, err, "process 4711")
		require.Equal(t, time.Minute, time.Since(begin))

		canceled, cancelNow := context.WithCancel(t.Context())
		cancelNow()
		requireCode(t, tenant.CodeCanceled, o.AwaitChild(canceled, "acme"))

		go func() {
			time.Sleep(10 * time.Second)
			_ = lock.Unlock()
		}()
		require.NoError(t, o.AwaitChild(t.Context(), "acme"))
	})
}
