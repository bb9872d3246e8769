package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What an operator does, or meets, that must neither be passed over in silence nor made worse.

// TestAccForeignDeletes: what other providers would delete is refused as our own is, terraform_data included, whether
// it is replaced or has left the configuration.
func TestAccForeignDeletes(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	other := func(trigger string) {
		s.write("extra.tf", "resource \"terraform_data\" \"x\" {\n  triggers_replace = ["+trigger+"]\n}\n")
	}
	other("1")
	s.ok("apply")
	refused := func() {
		done := s.run("apply")
		require.Equal(t, exitFailed, done.code, done.all())
		require.Contains(t, done.stderr, "destroy_refused")
		require.Contains(t, done.stderr, "terraform_data.x")
	}
	other("2")
	refused()
	require.NoError(t, os.Remove(s.path("extra.tf")))
	refused()
	s.ok("apply", "--allow-destroy")
	s.requireOnline("acme")
}

// TestAccUnsentMail: a mail that could not be sent is told by every command until it is.
func TestAccUnsentMail(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	good := s.read("mails/welcome.txt.tmpl")
	s.write("mails/welcome.txt.tmpl", "{{ .Tenant.nope ")
	refused := s.run("apply")
	require.Equal(t, exitFailed, refused.code)
	require.Contains(t, refused.stderr, "welcome.txt.tmpl")
	require.Empty(t, s.files(".tenant/databases/*.db"), "a broken template is told before anything is made")

	s.write("mails/welcome.txt.tmpl", "{{ .Tenant.nope }}")
	for _, verb := range []string{"apply", "apply", "mail"} {
		unsent := s.run(verb)
		require.Equal(t, exitFailed, unsent.code, "%s: %s", verb, unsent.all())
		require.Contains(t, unsent.all(), "is not delivered")
		require.Contains(t, unsent.all(), "nope")
	}
	require.Equal(t, "online", string(s.status()["acme"].Status))
	s.write("mails/welcome.txt.tmpl", good)
	s.ok("mail")
	s.requireOnline("acme")
	s.ok("apply")
}

// TestAccLostCatalog: without the catalog nobody is told a second time.
func TestAccLostCatalog(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	s.ok("apply")
	mail := s.read(relative(s, s.mails()[0]))
	for _, file := range s.files(".tenant/catalog.db*") {
		require.NoError(t, os.Remove(file))
	}
	again := s.ok("apply")
	require.Contains(t, again.stderr, "has never announced the tenant")
	require.Contains(t, again.stderr, "mail --resend acme")
	require.Equal(t, mail, s.read(relative(s, s.mails()[0])))
	row := s.status()["acme"]
	require.Equal(t, "online", string(row.Status))
	require.Nil(t, row.Mail)
	s.ok("apply")
	require.Equal(t, mail, s.read(relative(s, s.mails()[0])), "later applies tell nobody, either")

	s.ok("mail", "--resend", "acme")
	require.Len(t, s.mails(), 1, "the same Message-ID")
	require.NotEqual(t, mail, s.read(relative(s, s.mails()[0])), "with a fresh invitation")
}

func relative(s *scratch, path string) string { return path[len(s.dir)+1:] }

// TestAccLostKey: a new key would make every tenant foreign.
func TestAccLostKey(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	s.ok("apply")
	key := s.read(".tenant/key")
	require.NoError(t, os.Remove(s.path(".tenant/key")))
	refused := s.run("init")
	require.Equal(t, exitFailed, refused.code, refused.all())
	require.Contains(t, refused.stderr, "Put the key back")
	require.NoFileExists(t, s.path(".tenant/key"))

	s.write(".tenant/key", "k1:MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=\n")
	wrong := s.run("apply")
	require.Equal(t, exitFailed, wrong.code)
	require.Contains(t, wrong.stderr, "put the key back with which it was made")
	s.write(".tenant/key", key)
	require.Contains(t, s.ok("apply").stdout, "1 without changes")
}

// TestAccDamagedState: it is not called a lock, and an apply without it adopts what there is.
func TestAccDamagedState(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	s.ok("apply")
	const state = "terraform.tfstate.d/acme/terraform.tfstate"
	s.write(state, s.read(state)[:500])
	done := s.run("apply")
	require.Equal(t, exitFailed, done.code, done.all())
	require.Contains(t, done.stderr, "terraform_state_unreadable")
	require.NotContains(t, done.all(), "force-unlock")
	require.NoError(t, os.Rename(s.path(state), s.path("damaged")))
	s.ok("apply")
	s.requireOnline("acme")
}

// TestAccDisabledIdentity: nobody is invited to what they can't sign in to.
func TestAccDisabledIdentity(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	s.write("mails/welcome.txt.tmpl", "{{ .Tenant.nope }}")
	require.Equal(t, exitFailed, s.run("apply").code)
	require.NoError(t, os.Remove(s.path("mails/welcome.txt.tmpl")))
	require.Zero(t, s.command("sqlite3", ".tenant/identity.db",
		"UPDATE organizations SET enabled = 0; UPDATE applications SET enabled = 0").code)
	held := s.run("mail")
	require.Equal(t, exitFailed, held.code, held.all())
	require.Contains(t, held.all(), "the identity is disabled")
	require.Empty(t, s.mails())
	require.Contains(t, s.run("apply").stderr, "Nobody can sign in to tenant acme")

	require.Zero(t, s.command("sqlite3", ".tenant/identity.db",
		"UPDATE organizations SET enabled = 1; UPDATE applications SET enabled = 1").code)
	s.ok("mail")
	s.requireOnline("acme")
}

// TestAccAdministratorMadeAnew: an account that was made again has no password, and its owner no invitation.
func TestAccAdministratorMadeAnew(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	s.ok("apply")
	require.Zero(
		t,
		s.command("sqlite3", ".tenant/identity.db", "PRAGMA foreign_keys = on; DELETE FROM users").code,
	)
	require.Contains(t, s.ok("apply").stdout, "`tenantctl mail --resend acme` does it")
}

// TestAccTenantFileThatNeverEnds: what is no regular file is refused by name, and does not hang anybody.
func TestAccTenantFileThatNeverEnds(t *testing.T) {
	t.Parallel()
	s := newStarter(t)
	require.NoError(t, unix.Mkfifo(s.path("tenants/pipe.tfvars"), 0o600))
	done := s.run("apply")
	require.Equal(t, exitFailed, done.code)
	require.Contains(t, done.stderr, "is no regular file")
	s.requireOnline("acme")
}
