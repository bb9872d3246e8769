package main

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
)

// TestAccKilledEverywhere ends driver, Terraform or both at every failpoint that an onboarding passes, with kill -9,
// and lets the next apply go on: also with Terraform's state gone.
func TestAccKilledEverywhere(t *testing.T) {
	t.Parallel()
	learn := killProject(t)
	record := learn.path("failpoints")
	learn.with("TENANT_FAILPOINT=record="+record).ok("apply", "--domain-wait", "0")
	requireWhole(learn)
	points := strings.Split(strings.TrimSpace(learn.read("failpoints")), "\n")
	require.Greater(t, len(points), 20, points)
	t.Logf("%d failpoints: %s", len(points), strings.Join(points, " "))
	passed := map[string]int{}
	for n, name := range points {
		passed[name]++
		at := fmt.Sprintf("%s#%d", name, passed[name])
		for _, whom := range []string{"driver", "terraform", "both"} {
			t.Run(at+" "+whom, func(t *testing.T) {
				t.Parallel()
				s := killProject(t)
				cut := s.with("TENANT_FAILPOINT=kill="+whom+"@"+at).
					run("apply", "--domain-wait", "0")
				if whom != "terraform" {
					require.Equal(t, -1, cut.code, "the driver was not killed: %s", cut.all())
				}
				require.LessOrEqual(t, len(s.mails()), 1)
				if n%2 == 1 {
					require.NoError(t, os.RemoveAll(s.path("terraform.tfstate.d")))
				}
				s.ok("apply", "--domain-wait", "0")
				requireWhole(s)
				require.Zero(t, s.run("plan", "--detailed-exitcode").code, "the plan is empty")
			})
		}
	}
}

func killProject(t *testing.T) *scratch {
	t.Helper()
	s := newStarter(t)
	s.write("tenants/acme.tfvars", s.read("tenants/acme.tfvars")+"custom_hostname = \"books.acme.example\"\n")
	return s
}

// requireWhole asserts that there is one of everything, and nothing else.
func requireWhole(s *scratch) {
	s.t.Helper()
	s.requireOnline("acme")
	require.Len(s.t, s.files(".tenant/databases/[^.]*"), 1)
	require.Empty(s.t, s.files(".tenant/databases/.scratch/*"))
	for table, want := range map[string]int{"organizations": 1, "applications": 1, "users": 1, "memberships": 1} {
		require.Equal(s.t, want, s.count(".tenant/identity.db", "SELECT count(*) FROM "+table), table)
	}
	require.Equal(s.t, 1, s.count(".tenant/edge.db", "SELECT count(*) FROM bindings WHERE state = 'open'"))
	require.Equal(s.t, 1, s.count(".tenant/edge.db", "SELECT count(*) FROM bindings"))
	require.Equal(s.t, 1, s.count(".tenant/edge.db", "SELECT count(*) FROM claims"))
	require.Equal(s.t, 1, s.count(".tenant/catalog.db", "SELECT count(*) FROM mails"))
	require.Equal(
		s.t,
		0,
		s.count(".tenant/catalog.db", "SELECT count(*) FROM journal WHERE state = 'intended'"),
	)
	mail, err := os.ReadFile(s.mails()[0])
	require.NoError(s.t, err)
	require.Equal(s.t, 1, strings.Count(strings.ToLower(string(mail)), "\nmessage-id:"))
}

func (s *scratch) count(file, query string) int {
	s.t.Helper()
	var n int
	s.query(file, func(db *sql.DB) error { return db.QueryRowContext(s.t.Context(), query).Scan(&n) })
	return n
}

func (s *scratch) exec(file, statement string) {
	s.t.Helper()
	s.query(file, func(db *sql.DB) error {
		_, err := db.ExecContext(s.t.Context(), statement)
		return err
	})
}

func (s *scratch) query(file string, work func(*sql.DB) error) {
	s.t.Helper()
	db, err := sqlitefile.OpenExisting(s.path(file))
	require.NoError(s.t, err)
	require.NoError(s.t, work(db))
	require.NoError(s.t, db.Close())
}
