package main

import (
	"encoding/base64"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// addTenant adds a second tenant, which must go on whatever befalls the first.
func (s *scratch) addTenant(id string, lines ...string) {
	s.t.Helper()
	s.write(
		"tenants/"+id+".tfvars",
		"display_name = \"Tenant "+id+"\"\nadministrator = { name = \"Ada\", email = \"ada@"+
			id+".example\" }\n"+strings.Join(lines, "\n")+"\n",
	)
}

// requireRefused asserts that acme failed with that code before anything of it was made, and that the other tenant is Online.
func (s *scratch) requireRefused(done result, code string) {
	s.t.Helper()
	require.Equal(s.t, exitFailed, done.code, done.all())
	require.Contains(s.t, done.stderr, "acme")
	require.Contains(s.t, done.stderr, code)
	require.Empty(s.t, s.files(".tenant/databases/*acme*.db"), "a database was made")
	rows := s.status()
	require.NotEqual(s.t, "online", string(rows["acme"].Status))
	require.Equal(s.t, "online", string(rows["other"].Status))
	require.Len(s.t, s.mails(), 1)
}

func TestAccWrongInputOfOneTenant(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(*scratch)
		code    string
	}{
		"hostname at our zone": {func(s *scratch) {
			s.write("tenants/acme.tfvars", s.read("tenants/acme.tfvars")+"custom_hostname = \"app.localhost\"\n")
		}, "hostname_forbidden"},
		"hostname below our zone": {func(s *scratch) {
			s.write("tenants/acme.tfvars", s.read("tenants/acme.tfvars")+"custom_hostname = \"other.app.localhost\"\n")
		}, "hostname_forbidden"},
		"syntax error": {func(s *scratch) { s.write("tenants/acme.tfvars", "display_name = \n") }, "invalid_config"},
		"wrong type":   {func(s *scratch) { s.edit("tenants/acme.tfvars", "administrator = {", "administrator = [{") }, "invalid_config"},
		"other tenant_id": {func(s *scratch) {
			s.write("tenants/acme.tfvars", s.read("tenants/acme.tfvars")+"tenant_id = \"evil\"\n")
		}, "tenant_id_changed"},
		"an unknown variable": {func(s *scratch) { s.edit("tenants/acme.tfvars", "administrator", "administrators") }, "invalid_config"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStarter(t)
			s.addTenant("other")
			test.prepare(s)
			s.requireRefused(s.run("apply"), test.code)
		})
	}
}

func TestAccWrongTenantIDs(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	for _, id := range []string{"www", "ns1", "UPPER", "under_score", "-dash", "xn--bcher-kva"} {
		s.addTenant(id)
	}
	done := s.run("apply")
	require.Equal(t, exitFailed, done.code)
	for _, id := range []string{"www", "ns1", "UPPER", "under_score", "-dash", "xn--bcher-kva"} {
		require.Contains(t, done.stderr, id)
	}
	require.Equal(t, 6, strings.Count(done.stderr, "invalid_tenant_id"), done.stderr)
	s.requireOnline("acme")
}

func TestAccWrongInputOfTheProject(t *testing.T) {
	t.Parallel()
	short := "k1:" + base64.StdEncoding.EncodeToString([]byte("too short")) + "\n"
	for name, test := range map[string]struct {
		prepare func(*scratch)
		want    string
	}{
		"no output tenant":      {func(s *scratch) { s.edit("main.tf", `output "tenant"`, `output "customer"`) }, `output "tenant"`},
		"no key":                {func(s *scratch) { require.NoError(s.t, os.Remove(s.path(".tenant/key"))) }, "tenantctl init"},
		"a short key":           {func(s *scratch) { s.write(".tenant/key", short) }, "32 random bytes"},
		"a key for everybody":   {func(s *scratch) { require.NoError(s.t, os.Chmod(s.path(".tenant/key"), 0o644)) }, "0600"},
		"no migrations":         {func(s *scratch) { s.edit("main.tf", `"migrations"`, `"nowhere"`) }, "migrations_unreadable"},
		"a strange migration":   {func(s *scratch) { s.write("migrations/first.sql", "SELECT 1;") }, "first.sql"},
		"a syntax error":        {func(s *scratch) { s.write("extra.tf", "resource {") }, "extra.tf"},
		"a broken zone file":    {func(s *scratch) { s.write(".tenant/app.localhost.zone", "this is no zone (") }, "app.localhost.zone"},
		"an impossible default": {func(s *scratch) { s.edit("main.tf", "installation = \"dev\"", "installation = \"No Such\"") }, "installation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStarter(t)
			test.prepare(s)
			done := s.run("apply")
			require.Equal(t, exitFailed, done.code, done.all())
			require.Contains(t, done.stderr, test.want)
			require.Empty(t, s.files(".tenant/databases/*.db"))
			require.NoFileExists(t, s.path(".tenant/identity.db"))
			require.Empty(t, s.mails())
		})
	}
}

func TestAccUnknownKeyID(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	s.ok("apply")
	s.write(".tenant/key", strings.Replace(s.read(".tenant/key"), "k1:", "k2:", 1))
	done := s.run("apply")
	require.Equal(t, exitFailed, done.code)
	require.Contains(t, done.stderr, "unknown_key")
	require.Contains(t, done.stderr, `"k1"`)
	require.Len(t, s.mails(), 1)
}

func TestAccTerraformIsTooOld(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	s.write(
		"old/terraform",
		"#!/bin/sh\necho '{\"terraform_version\":\"1.5.7\",\"provider_selections\":{}}'\n",
	)
	require.NoError(t, os.Chmod(s.path("old/terraform"), 0o700))
	done := s.run("apply", "--terraform", s.path("old/terraform"))
	require.Equal(t, exitFailed, done.code)
	require.Contains(t, done.stderr, "1.5.7")
	require.Contains(t, done.stderr, "1.11.0")
}

func TestAccUsage(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	for _, args := range [][]string{
		{"apply", "--no-such-flag"}, {"history"}, {"apply", "--parallel", "0"}, {"mail", "--resend"}, {"apply", "--attempts", "0"},
	} {
		require.Equal(t, exitUsage, s.run(args...).code, args)
	}
	require.Equal(t, exitFailed, s.run("apply", "nobody").code)
	require.Equal(t, exitFailed, s.run("history", "nobody").code)
}

func TestAccForeignObjectsInTheWay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		plant func(*scratch)
		look  func(*scratch) string
	}{
		"database": {
			func(s *scratch) { s.write(".tenant/databases/dev_acme.db", "somebody's own") },
			func(s *scratch) string { return s.read(".tenant/databases/dev_acme.db") },
		},
		"organization": {
			func(s *scratch) {
				s.exec(".tenant/identity.db", "INSERT INTO organizations (id, name, display_name) VALUES ('x', 'dev_acme', 'Theirs')")
			},
			func(s *scratch) string {
				return strings.Repeat("x", s.count(".tenant/identity.db", "SELECT count(*) FROM organizations WHERE display_name = 'Theirs'"))
			},
		},
		"record": {
			func(s *scratch) {
				s.write(".tenant/app.localhost.zone", s.read(".tenant/app.localhost.zone")+"acme.app.localhost. 60 IN A 192.0.2.7\n")
			},
			func(s *scratch) string { return onlyLines(s.read(".tenant/app.localhost.zone"), "192.0.2.7") },
		},
		"binding": {
			func(s *scratch) {
				s.exec(".tenant/edge.db", "INSERT INTO bindings SELECT * FROM bindings WHERE false")
				s.exec(".tenant/edge.db", "UPDATE bindings SET hostname = 'acme.app.localhost' WHERE hostname = 'first.app.localhost'")
			},
			func(s *scratch) string {
				return strings.Repeat("x", s.count(".tenant/edge.db", "SELECT count(*) FROM bindings WHERE hostname = 'acme.app.localhost'"))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStarter(t)
			s.addTenant("first")
			s.addTenant("other")
			s.ok("apply", "first") // makes the embedded files, so that a foreign object can lie in them
			test.plant(s)
			before := test.look(s)
			require.NotEmpty(t, before)
			done := s.run("apply", "acme", "other")
			require.Equal(t, exitFailed, done.code, done.all())
			require.Contains(t, done.stderr, "foreign_object")
			require.Contains(t, done.stderr, name)
			require.Equal(t, before, test.look(s), "the foreign object was touched")
			rows := s.status()
			require.Equal(t, "failed", string(rows["acme"].Status))
			require.Equal(t, "online", string(rows["other"].Status))
			require.Len(t, s.mails(), 2)
		})
	}
}

func onlyLines(text, with string) string {
	var found []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, with) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "")
}

func TestAccMigrationsInThePlan(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	s.addTenant("other")
	s.ok("apply")
	s.write(
		"migrations/00002_notes.sql",
		"-- +goose Up\nCREATE TABLE notes (id TEXT PRIMARY KEY);\n-- +goose Down\nDROP TABLE notes;\n",
	)
	plan := s.run("plan", "--detailed-exitcode")
	require.Equal(t, exitPending, plan.code, plan.all())
	require.Equal(t, 2, strings.Count(plan.stdout, "00002_notes.sql"), "the plan names it for every tenant")
	s.ok("apply")
	require.Zero(t, s.run("plan", "--detailed-exitcode").code)
	require.Equal(t, 1, s.count(s.relative(s.files(".tenant/databases/*acme.db")[0]),
		"SELECT count(*) FROM sqlite_master WHERE name = 'notes'"))

	first := s.read("migrations/00001_users.sql")
	s.write("migrations/00001_users.sql", first+"-- edited\n")
	done := s.run("apply")
	require.Equal(t, exitFailed, done.code)
	require.Contains(t, done.stderr, "00001_users.sql")
	require.Contains(t, done.stderr, "migration_edited")

	s.write("migrations/00001_users.sql", first)
	require.NoError(t, os.Rename(s.path("migrations/00002_notes.sql"), s.path("migrations/00004_notes.sql")))
	done = s.run("plan")
	require.Equal(t, exitFailed, done.code, "an applied file is gone")
	require.NoError(t, os.Rename(s.path("migrations/00004_notes.sql"), s.path("migrations/00002_notes.sql")))
	s.write("migrations/00001_5_between.sql", "-- +goose Up\nSELECT 1;\n")
	require.Equal(t, exitFailed, s.run("plan").code, "two files of one version")
	require.NoError(t, os.Remove(s.path("migrations/00001_5_between.sql")))
	require.Zero(t, s.run("plan", "--detailed-exitcode").code)
}

func (s *scratch) relative(path string) string {
	s.t.Helper()
	name, err := filepath.Rel(s.dir, path)
	require.NoError(s.t, err)
	return name
}

func TestAccSeedRowEdited(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	s.ok("apply")
	database := s.relative(s.files(".tenant/databases/*acme.db")[0])
	s.exec(database, "UPDATE roles SET name = 'Boss' WHERE id = 'owner'")
	keep := s.run("plan", "--detailed-exitcode")
	require.Zero(t, keep.code, "under keep the plan is empty: %s", keep.all())
	require.Contains(t, keep.all(), "roles[id=owner]: name")

	s.edit("main.tf", "module \"tenant\" {", "module \"tenant\" {\n  seed_on_edit = \"restore\"")
	restore := s.run("plan", "--detailed-exitcode")
	require.Equal(t, exitPending, restore.code, restore.all())
	require.Contains(t, restore.stdout, "roles[id=owner]: name")
	s.ok("apply")
	require.Equal(t, 1, s.count(database, "SELECT count(*) FROM roles WHERE name = 'Owner'"))
	require.Zero(t, s.run("plan", "--detailed-exitcode").code)
}

func TestAccTwoTenantsOneHostname(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	s.addTenant("first", `custom_hostname = "books.acme.example"`)
	s.addTenant("second", `custom_hostname = "books.acme.example"`)
	done := s.ok("apply", "--domain-wait", "0", "--parallel", "1")
	require.Contains(t, done.stderr, "books.acme.example is claimed by tenant first too")
	record := requiredRecords(s.status()["second"])[0]
	s.write(".tenant/proofs.zone", record.Name+". 60 IN "+record.Type+" "+record.Value+".\n")
	s.ok("apply", "second")
	require.Equal(t, "books.acme.example", s.status()["second"].Hostname)
	taken := s.run("apply", "first")
	require.Equal(t, exitFailed, taken.code)
	require.Contains(t, taken.stderr, "hostname_taken")
	s.addTenant("third", `custom_hostname = "books.acme.example"`)
	third := s.run("apply", "third")
	require.Equal(t, exitFailed, third.code)
	require.Contains(t, third.stderr, "verified for tenant second")
	require.Empty(t, s.files(".tenant/databases/*third*.db"))
}

func TestAccVanishedFileIsNoReasonToDestroy(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	s.addTenant("other")
	s.ok("apply")
	require.NoError(t, os.Remove(s.path("tenants/other.tfvars")))
	done := s.ok("apply")
	require.Contains(t, done.stdout, "other")
	require.Contains(t, done.stdout, "nothing was changed")
	require.Len(t, s.files(".tenant/databases/*.db"), 2)
}

// TestAccLostDatabaseIsNoSecret: a database that is gone is made anew, and somebody is told that it is empty.
func TestAccLostDatabaseIsNoSecret(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	require.NotContains(t, s.ok("apply").all(), "empty database")
	for _, file := range s.files(".tenant/databases/*acme.db*") {
		require.NoError(t, os.Remove(file))
	}
	require.Contains(t, s.ok("apply").stderr, "a new, empty database was made")
	require.NoError(t, os.RemoveAll(s.path("terraform.tfstate.d")))
	require.NotContains(t, s.ok("apply").all(), "empty database", "what is adopted is not new")
	s.requireOnline("acme")
}

func TestAccDestroyIsRefused(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	s.ok("apply")
	s.edit(
		"modules/tenant/main.tf",
		"resource \"tenant_seed\" \"this\" {",
		"resource \"tenant_seed\" \"renamed\" {",
	)
	s.edit("modules/tenant/outputs.tf", "tenant_seed.this", "tenant_seed.renamed")
	done := s.run("apply")
	require.Equal(t, exitFailed, done.code, done.all())
	require.Contains(t, done.stderr, "destroy_refused")
	s.requireOnline("acme")
	s.ok("apply", "--allow-destroy")
}

// TestAccNoSecretAnywhere plants recognisable secrets and looks for them, in every encoding that comes to mind, in all
// that a run leaves or prints.
func TestAccNoSecretAnywhere(t *testing.T) {
	t.Parallel()
	const planted = "planted-secret-0123456789abcdef0" // 32 bytes
	encoded := base64.StdEncoding.EncodeToString([]byte(planted))
	s := newStarter(t)
	s.write("secret.tf", "variable \"tenant_key\" {\n  type = string\n  ephemeral = true\n}\n"+
		"variable \"api_token\" {\n  type = string\n  sensitive = true\n  default = \"\"\n}\n")
	s.edit(
		"main.tf",
		"  installation = \"dev\"",
		"  installation = \"dev\"\n  keys = [{ id = \"k9\", secret = var.tenant_key }]",
	)
	s.write("tenants/acme.tfvars", s.read("tenants/acme.tfvars")+"api_token = \"planted-token-xyz\"\n")
	s.env = append(s.env, "TF_VAR_tenant_key="+encoded, "TF_LOG=", "TENANT_KEYS=")

	var printed strings.Builder
	for _, args := range [][]string{
		{"plan"},
		{"plan", "--json"},
		{"apply", "--json"},
		{"apply"},
		{"status", "--json"},
		{"history", "acme", "--json"},
		{"mail", "--list", "--json"},
		{"mail", "--preview", "acme"},
	} {
		printed.WriteString(s.ok(args...).all())
	}
	s.requireOnline("acme")
	s.planFile(&printed)
	require.NotContains(t, printed.String(), planted)
	require.NotContains(t, printed.String(), encoded)
	require.NotContains(t, printed.String(), "planted-token-xyz")

	invitation := s.invitation()
	require.NotContains(t, printed.String(), invitation)
	require.NoError(t, filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.HasSuffix(path, ".tfvars") {
			return err
		}
		content, err := os.ReadFile(path) //nolint:gosec // nobody else writes there
		require.NoError(t, err)
		for _, secret := range []string{planted, encoded, "planted-token-xyz"} {
			require.NotContains(t, string(content), secret, path)
		}
		if !strings.HasSuffix(path, ".eml") {
			require.NotContains(t, string(content), invitation, path)
		}
		return nil
	}))
}

// planFile makes a plan file by hand, with the installed provider, and adds what it says in JSON.
func (s *scratch) planFile(printed *strings.Builder) {
	s.t.Helper()
	s.installProvider()
	terraform, err := exec.LookPath("terraform")
	require.NoError(s.t, err)
	for _, args := range [][]string{
		{"init", "-no-color"},
		{"workspace", "select", "acme"},
		{"plan", "-out=plan.bin", "-var", "tenant_id=acme", "-var", "display_name=Changed", "-var-file=tenants/acme.tfvars", "-var", "api_token="},
		{"show", "-json", "plan.bin"},
	} {
		done := s.command(terraform, args...)
		require.Zero(s.t, done.code, done.all())
		printed.WriteString(done.all())
	}
}

// invitation returns the token in the mail's link.
func (s *scratch) invitation() string {
	s.t.Helper()
	mail, err := os.ReadFile(s.mails()[0])
	require.NoError(s.t, err)
	text := strings.ReplaceAll(strings.ReplaceAll(string(mail), "=\r\n", ""), "=3D", "=")
	_, after, found := strings.Cut(text, "invitation=")
	require.True(s.t, found, text)
	token := strings.FieldsFunc(after, func(r rune) bool { return strings.ContainsRune(" \r\n\"<>&", r) })[0]
	require.GreaterOrEqual(s.t, len(token), 40, "the token carries 256 bits")
	return token
}
