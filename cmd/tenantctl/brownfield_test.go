package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAccBrownfield takes over ten tenants, as the guide says: looked at first, then adopted, announced to nobody, not
// even by later applies.
func TestAccBrownfield(t *testing.T) {
	t.Parallel()
	s := newExample(t, "brownfield")
	made := s.command("bash", "existing")
	require.Zero(t, made.code, made.all())
	s.ok("init")
	before := s.files(".tenant/databases/*.db")
	require.Len(t, before, 10)
	untouched := s.read(".tenant/databases/customer-delta.db")

	planned := s.ok("plan", "delta")
	require.Contains(t, planned.all(), "carries nobody's mark")
	require.Contains(t, planned.all(), "00003_notes.sql will be run")
	require.NotContains(t, planned.all(), "00002_bookings.sql will be run")
	require.Equal(t, untouched, s.read(".tenant/databases/customer-delta.db"), "a plan writes nothing")

	// Without the flag's help: an apply that fails half-way must not make a later one announce anything.
	s.write(".tenant/databases/customer-juniper.db", "no database at all")
	failed := s.run("apply", "--already-online")
	require.Equal(t, 1, failed.code, failed.all())
	require.Contains(t, failed.all(), "taken over: nobody is told")
	s.write(".tenant/databases/customer-juniper.db", s.read(".tenant/databases/customer-indigo.db"))
	copied := s.run("apply", "juniper")
	require.Equal(t, 1, copied.code, "a copy of another tenant's database carries that tenant's mark")
	require.Contains(t, copied.all(), "foreign_object")
	s.command("rm", ".tenant/databases/customer-juniper.db")
	require.Zero(t, s.command("bash", "existing").code)
	s.ok("apply")

	require.ElementsMatch(t, before, s.files(".tenant/databases/*.db"), "nothing new beside what was there")
	require.Empty(t, s.mails())
	rows := s.status()
	require.Len(t, rows, 10)
	for id, row := range rows {
		require.Equal(t, "online", string(row.Status), id)
		require.Nil(t, row.Mail, id)
		taken := s.command("sqlite3", ".tenant/databases/customer-"+id+".db",
			"SELECT name FROM rooms; SELECT count(note) FROM bookings;")
		require.Equal(t, "Room of "+id+"\n0", strings.TrimSpace(taken.stdout))
	}

	// What was taken over is managed like any other, also when the configuration no longer says where it came from.
	s.edit("tenants/delta.tfvars", `existing_database = "customer-delta"`, "")
	require.Contains(t, s.ok("apply", "delta").stdout, "1 changed")
	require.Contains(t, s.ok("apply").stdout, "10 without changes")
	s.write("tenants/newcomer.tfvars", `display_name = "New"`+"\n"+
		`administrator = { name = "Nora New", email = "nora@new.example" }`+"\n")
	s.ok("apply")
	require.Len(t, s.mails(), 1, "who comes later is told")
}
