package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/acctest"
)

// The acceptance tests run the real program, built with failpoints, with the real Terraform.

func buildOnce(pkg string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		dir, err := os.MkdirTemp("", "tenantctl-acc-")
		if err != nil {
			return "", err
		}
		binary := filepath.Join(dir, "terraform-provider-tenant")
		build := exec.CommandContext(
			context.Background(),
			"go",
			"build",
			"-tags",
			"failpoints",
			"-o",
			binary,
			pkg,
		)
		build.Dir = acctest.Repository()
		if out, err := build.CombinedOutput(); err != nil {
			return "", errors.New(string(out))
		}
		return binary, nil
	})
}

var (
	driverBinary   = buildOnce("./cmd/tenantctl")
	providerBinary = buildOnce(".")
)

// scratch is a project in a folder of its own.
type scratch struct {
	t      *testing.T
	dir    string
	binary string
	env    []string
}

// newStarter makes the project that `tenantctl init` makes.
func newStarter(t *testing.T) *scratch {
	t.Helper()
	acctest.Acceptance(t)
	binary, err := driverBinary()
	require.NoError(t, err)
	s := &scratch{t: t, dir: t.TempDir(), binary: binary}
	s.ok("init")
	return s
}

// newQuickstart makes a copy of examples/quickstart, ready to be applied.
func newQuickstart(t *testing.T) *scratch {
	t.Helper()
	s := newExample(t, "quickstart")
	s.ok("init")
	return s
}

// newExample makes a copy of a folder of examples/.
func newExample(t *testing.T, name string) *scratch {
	t.Helper()
	acctest.Acceptance(t)
	binary, err := driverBinary()
	require.NoError(t, err)
	s := &scratch{t: t, dir: t.TempDir(), binary: binary}
	require.NoError(t, os.CopyFS(s.dir, os.DirFS(filepath.Join(acctest.Repository(), "examples", name))))
	require.NoError(
		t,
		os.CopyFS(
			s.path("modules/tenant"),
			os.DirFS(filepath.Join(acctest.Repository(), "modules", "tenant")),
		),
	)
	s.edit("main.tf", "../../modules/tenant", "./modules/tenant")
	return s
}

func (s *scratch) path(name string) string { return filepath.Join(s.dir, name) }

func (s *scratch) read(name string) string {
	s.t.Helper()
	content, err := os.ReadFile(s.path(name))
	require.NoError(s.t, err)
	return string(content)
}

func (s *scratch) write(name, content string) {
	s.t.Helper()
	require.NoError(s.t, os.MkdirAll(filepath.Dir(s.path(name)), 0o700))
	require.NoError(s.t, os.WriteFile(s.path(name), []byte(content), 0o600))
}

func (s *scratch) edit(name, before, after string) {
	s.t.Helper()
	content := s.read(name)
	require.Contains(s.t, content, before)
	s.write(name, strings.ReplaceAll(content, before, after))
}

// run is one call of tenantctl: what it printed and its exit code (-1: killed).
type result struct {
	stdout, stderr string
	code           int
}

func (r result) all() string { return r.stdout + r.stderr }

func (s *scratch) run(args ...string) result { return s.command(s.binary, args...) }

func (s *scratch) command(program string, args ...string) result {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), program, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), s.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(s.t, err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

func (s *scratch) ok(args ...string) result {
	s.t.Helper()
	done := s.run(args...)
	require.Zero(s.t, done.code, "tenantctl %v:\n%s", args, done.all())
	return done
}

func (s *scratch) with(env ...string) *scratch {
	other := *s
	other.env = append(slices.Clone(s.env), env...)
	return &other
}

func (s *scratch) files(pattern string) []string {
	s.t.Helper()
	found, err := filepath.Glob(s.path(pattern))
	require.NoError(s.t, err)
	return found
}

func (s *scratch) status() map[string]tenantStatus {
	s.t.Helper()
	var list []tenantStatus
	require.NoError(s.t, json.Unmarshal([]byte(s.ok("status", "--json").stdout), &list))
	byID := map[string]tenantStatus{}
	for _, row := range list {
		byID[string(row.TenantID)] = row
	}
	return byID
}

// contents are all regular files of the project, by path.
func (s *scratch) contents() map[string]string {
	s.t.Helper()
	files := map[string]string{}
	require.NoError(s.t, filepath.WalkDir(s.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path) //nolint:gosec // nobody else writes there
		files[path] = string(content)
		return err
	}))
	return files
}

func (s *scratch) mails() []string { return s.files(".tenant/mail/*.eml") }

// requireOnline asserts that the tenants are Online, with one mail each, and nothing half-done anywhere.
func (s *scratch) requireOnline(ids ...string) {
	s.t.Helper()
	rows := s.status()
	for _, id := range ids {
		row := rows[id]
		require.Equal(s.t, "online", string(row.Status), "%s: %+v", id, row.Failure)
		for _, step := range row.Steps {
			require.Equal(s.t, "ready", string(step.Status), "%s %s", id, step.Step)
		}
		require.Len(s.t, row.Steps, 4)
		require.Equal(s.t, "sent", string(row.Mail.State))
		require.Len(s.t, s.files(".tenant/databases/*"+id+".db"), 1)
	}
	require.Len(s.t, s.mails(), len(ids))
}

func TestAccQuickstartTwice(t *testing.T) {
	t.Parallel()
	s := newQuickstart(t)
	first := s.ok("apply", "--domain-wait", "0")
	require.Contains(t, first.stdout, "books.northwind.example is not verified yet")
	s.requireOnline("acme", "brightside", "northwind")
	require.Equal(t, "northwind.app.localhost", s.status()["northwind"].Hostname)
	mails := map[string]string{}
	for _, file := range s.mails() {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		mails[file] = string(content)
	}

	second := s.ok("apply", "--domain-wait", "0")
	require.Contains(t, second.stdout, "3 without changes")
	s.requireOnline("acme", "brightside", "northwind")
	for file, before := range mails {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, before, string(content), "the mail was written again")
	}
	require.Zero(t, s.run("plan", "--detailed-exitcode").code, "the second plan is empty")
}

func TestAccDomainWait(t *testing.T) {
	t.Parallel()
	s := newQuickstart(t)
	done := s.ok("apply", "northwind")
	require.Contains(t, done.stdout, "waiting for the proof of books.northwind.example")
	row := s.status()["northwind"]
	require.Equal(t, "provisioning", string(row.Status))
	require.Equal(t, "books.northwind.example", row.WaitingFor)
	require.Empty(t, s.mails(), "no mail before the pivot")
	s.ok("mail")
	require.Empty(t, s.mails(), "the wait is not over")

	record := requiredRecords(row)[0]
	s.write(".tenant/proofs.zone", record.Name+". 60 IN "+record.Type+" "+record.Value+".\n")
	s.ok("apply", "northwind")
	s.requireOnline("northwind")
	require.Equal(t, "books.northwind.example", s.status()["northwind"].Hostname)
	require.Zero(t, s.run("plan", "--detailed-exitcode", "northwind").code)
}

func TestAccWaitIsSettledByMail(t *testing.T) {
	t.Parallel()
	s := newQuickstart(t)
	s.ok("apply", "northwind", "--domain-wait", "1ms")
	s.ok("mail", "northwind")
	s.requireOnline("northwind")
}

// TestAccResendGoesToWhoeverAdministersNow: the invitation in the mail is theirs.
func TestAccResendGoesToWhoeverAdministersNow(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	require.Equal(t, exitFailed, s.run("mail", "--resend", "acme").code, "there is none yet")
	s.ok("apply")
	id := s.status()["acme"].Mail.MessageID
	s.edit("tenants/acme.tfvars", "wanda@acme.example", "walter@acme.example")
	require.Contains(
		t,
		s.ok("apply").stdout,
		"walter@acme.example is the administrator now and has not been invited",
	)
	require.Contains(t, s.ok("mail", "--resend", "acme").stdout, "walter@acme.example")
	s.requireOnline("acme")
	mail := s.status()["acme"].Mail
	require.Equal(t, "walter@acme.example", mail.To)
	require.Equal(t, id, mail.MessageID)
	require.NotContains(t, s.read(".tenant/mail/acme.welcome.eml"), "wanda@acme.example")
}

// TestAccByHand: the same project with the installed provider and Terraform alone; tenantctl then announces without a change.
func TestAccByHand(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	s.installProvider()
	terraform, err := exec.LookPath("terraform")
	require.NoError(t, err)
	for _, args := range [][]string{
		{"init", "-no-color"},
		{"workspace", "new", "-no-color", "acme"},
		{"apply", "-no-color", "-auto-approve", "-var", "tenant_id=acme", "-var-file=tenants/acme.tfvars"},
	} {
		done := s.command(terraform, args...)
		require.Zero(t, done.code, done.all())
	}
	require.Empty(t, s.mails(), "an apply by hand tells nobody")
	require.Equal(t, exitFailed, s.run("status").code, "nothing was applied by tenantctl")
	require.NoFileExists(t, s.path(".tenant/catalog.db"), "looking makes nothing")

	done := s.ok("apply")
	require.Contains(t, done.stdout, "1 without changes")
	s.requireOnline("acme")
}

// installProvider puts the built provider into a filesystem mirror that the project's Terraform uses.
func (s *scratch) installProvider() {
	s.t.Helper()
	binary, err := providerBinary()
	require.NoError(s.t, err)
	mirror := s.t.TempDir()
	folder := filepath.Join(
		mirror,
		"registry.terraform.io/tenantry/tenant/0.1.0",
		runtime.GOOS+"_"+runtime.GOARCH,
	)
	require.NoError(s.t, os.MkdirAll(folder, 0o700))
	require.NoError(s.t, os.Link(binary, filepath.Join(folder, "terraform-provider-tenant_v0.1.0")))
	config := filepath.Join(mirror, "terraform.tfrc")
	require.NoError(s.t, os.WriteFile(config, []byte(
		"provider_installation {\n  filesystem_mirror { path = \""+mirror+"\" }\n}\n"), 0o600))
	s.env = append(s.env, "TF_CLI_CONFIG_FILE="+config)
}
