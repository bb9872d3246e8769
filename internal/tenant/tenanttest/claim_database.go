package tenanttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// DatabaseClaims is what a backend passes that can take over databases which existed before. The fixture's Plant puts a
// database without any mark there, with a table named theirs that has one row.
func DatabaseClaims(t *testing.T, makeFixture func(t *testing.T) DatabaseFixture) {
	t.Helper()
	cases := map[string]func(*testing.T, DatabaseFixture){
		"taken over":             claimTakenOver,
		"with a baseline":        claimBaseline,
		"absent":                 claimAbsent,
		"another tenant's":       claimOfAnotherTenant,
		"another installation's": claimOfNeighbour,
		"looked at beforehand":   claimPlanned,
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, makeFixture(t))
		})
	}
}

func claimTakenOver(t *testing.T, f DatabaseFixture) {
	t.Helper()
	spec := f.spec(t, "acme", f.notes())
	f.Plant(t, "acme", spec.Place)
	_, err := f.Databases.Ensure(t.Context(), spec, &Journal{})
	wantCode(t, err, tenant.CodeForeign)

	spec.Claim = true
	database, journal := f.ensure(t, spec)
	require.Equal(t, spec.Migrations.Files, database.Applied)
	require.Empty(t, journal.Made(), "a compensation must never delete what was claimed")
	require.Equal(t, "1", f.Query(t, "acme", spec.Place, "SELECT count(*) FROM theirs"))

	again, _ := f.ensure(t, spec)
	require.Equal(t, database, again)
	spec.Claim = false
	again, _ = f.ensure(t, spec)
	require.Equal(t, database, again)
	require.NoError(
		t,
		f.Databases.Delete(t.Context(), "acme", spec.Place, tenant.Disposal{How: tenant.Drop}, journal),
	)
	require.Empty(t, f.Objects(t))
}

// claimBaseline has a first migration that could not be run: its table is there.
func claimBaseline(t *testing.T, f DatabaseFixture) {
	t.Helper()
	files := map[string]string{
		"00001_theirs.sql": "-- +goose Up\n" + f.table("theirs", "id INTEGER PRIMARY KEY") + "\n",
		"00002_ours.sql":   "-- +goose Up\n" + f.table("ours", "id INTEGER PRIMARY KEY") + "\n",
	}
	spec := f.spec(t, "acme", files)
	f.Plant(t, "acme", spec.Place)
	spec.Claim, spec.Baseline = true, 3
	before := f.Print(t, "acme", spec.Place)
	_, err := f.Databases.Ensure(t.Context(), spec, &Journal{})
	wantCode(t, err, tenant.CodeInvalidConfig)
	require.Equal(t, before, f.Print(t, "acme", spec.Place))

	spec.Baseline = 1
	database, _ := f.ensure(t, spec)
	require.Equal(t, spec.Migrations.Files, database.Applied)
	require.Equal(t, "1", f.Query(t, "acme", spec.Place, "SELECT count(*) FROM theirs"))
	require.Equal(t, "0", f.Query(t, "acme", spec.Place, "SELECT count(*) FROM ours"))
	again, _ := f.ensure(t, spec)
	require.Equal(t, database, again)
}

func claimAbsent(t *testing.T, f DatabaseFixture) {
	t.Helper()
	spec := f.spec(t, "acme", f.notes())
	spec.Claim = true
	_, err := f.Databases.Ensure(t.Context(), spec, &Journal{})
	wantCode(t, err, tenant.CodeNotFound)
	require.Empty(t, f.Objects(t))
}

func claimOfAnotherTenant(t *testing.T, f DatabaseFixture) {
	t.Helper()
	theirs := f.spec(t, "globex", f.notes())
	f.ensure(t, theirs)
	f.refuseClaim(t, theirs)
}

func claimOfNeighbour(t *testing.T, f DatabaseFixture) {
	t.Helper()
	theirs := f.spec(t, "globex", f.notes())
	_, err := f.Neighbour.Ensure(t.Context(), theirs, &Journal{})
	require.NoError(t, err)
	f.refuseClaim(t, theirs)
}

// refuseClaim claims what is another's for acme.
func (f DatabaseFixture) refuseClaim(t *testing.T, theirs tenant.DatabaseSpec) {
	t.Helper()
	before := f.Print(t, "globex", theirs.Place)
	spec := f.spec(t, "acme", f.notes())
	spec.Place, spec.Claim = theirs.Place, true
	_, err := f.Databases.Ensure(t.Context(), spec, &Journal{})
	wantCode(t, err, tenant.CodeForeign)
	require.Equal(t, before, f.Print(t, "globex", theirs.Place))
}

func claimPlanned(t *testing.T, f DatabaseFixture) {
	t.Helper()
	planner, ok := f.Databases.(tenant.DatabasePlanner)
	require.True(t, ok, "a claim can be looked at beforehand")
	spec := f.spec(t, "acme", f.notes())
	spec.Claim = true
	_, err := planner.PlanDatabase(t.Context(), spec)
	wantCode(t, err, tenant.CodeNotFound)

	f.Plant(t, "acme", spec.Place)
	before := f.Print(t, "acme", spec.Place)
	notes, err := planner.PlanDatabase(t.Context(), spec)
	require.NoError(t, err)
	for _, file := range spec.Migrations.Files {
		require.Contains(t, notes, "Migration "+file.Name+" will be run.")
	}
	require.Equal(t, before, f.Print(t, "acme", spec.Place), "a look changes nothing")

	spec.Claim = false
	_, err = planner.PlanDatabase(t.Context(), spec)
	wantCode(t, err, tenant.CodeForeign)
}
