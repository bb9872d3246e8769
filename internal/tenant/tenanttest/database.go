package tenanttest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/migrations"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// DatabaseFixture is one empty pool and what a test may do to it behind the backend's back.
type DatabaseFixture struct {
	Databases tenant.Databases
	Again     tenant.Databases // the same installation in another process
	Neighbour tenant.Databases // another installation on the same server or folder
	Isolation tenant.Isolation

	// Plant puts something of somebody else's where the tenant's database would be made.
	Plant func(t *testing.T, id tenant.ID, place tenant.Place)
	// Print tells everything about what stands there, so that two equal prints mean that nothing has touched it.
	Print func(t *testing.T, id tenant.ID, place tenant.Place) string
	// Objects returns the tenants' databases that there are, ours or not, by what ExternalID or a name says.
	Objects func(t *testing.T) []string
	// Archives returns what was archived.
	Archives func(t *testing.T) []string
	// Leftovers returns what a finished or interrupted run has left that is no tenant's database, archive or lasting
	// equipment of the pool.
	Leftovers func(t *testing.T) []string
	// Exec runs statements in the tenant's database as its application would.
	Exec func(t *testing.T, id tenant.ID, place tenant.Place, statements string) error
	// Query returns the one value of a query as text, "NULL" for none.
	Query func(t *testing.T, id tenant.ID, place tenant.Place, query string) string
	// Table writes a CREATE TABLE for the isolation; nil writes a plain one.
	Table func(name, columns string) string
}

func (f DatabaseFixture) table(name, columns string) string {
	if f.Table != nil {
		return f.Table(name, columns)
	}
	return "CREATE TABLE " + name + " (" + columns + ");"
}

// place is where the tenant's database lives.
func (f DatabaseFixture) place(t *testing.T, id tenant.ID) tenant.Place {
	t.Helper()
	name, err := f.Databases.DatabaseName(id, f.Isolation)
	require.NoError(t, err)
	return tenant.Place{Pool: "the-pool", Isolation: f.Isolation, Name: name}
}

func (f DatabaseFixture) object(t *testing.T, id tenant.ID) tenant.Object {
	t.Helper()
	return tenant.Object{Tenant: id, Kind: tenant.KindDatabase, Name: f.place(t, id).Name}
}

func (f DatabaseFixture) spec(t *testing.T, id tenant.ID, files map[string]string) tenant.DatabaseSpec {
	t.Helper()
	return tenant.DatabaseSpec{Tenant: id, Place: f.place(t, id), Migrations: Migrations(t, files)}
}

func (f DatabaseFixture) ensure(t *testing.T, spec tenant.DatabaseSpec) (tenant.Database, *Journal) {
	t.Helper()
	journal := &Journal{}
	database, err := f.Databases.Ensure(t.Context(), spec, journal)
	require.NoError(t, err)
	return database, journal
}

// notes is a first release of a product: two files.
func (f DatabaseFixture) notes() map[string]string {
	return map[string]string{
		"00001_notes.sql": "-- +goose Up\n" + f.table("notes", "id INTEGER PRIMARY KEY, body TEXT") + "\n",
		"00003_first.sql": "-- +goose Up\nINSERT INTO notes (id, body) VALUES (1, 'first');\n",
	}
}

func withFile(files map[string]string, name, statements string) map[string]string {
	out := map[string]string{name: "-- +goose Up\n" + statements + "\n"}
	for name, contents := range files {
		if _, replaced := out[name]; !replaced {
			out[name] = contents
		}
	}
	return out
}

// Migrations writes the files, by name, to a folder and loads it.
func Migrations(tb testing.TB, files map[string]string) tenant.Migrations {
	tb.Helper()
	if len(files) == 0 {
		return tenant.Migrations{}
	}
	dir := tb.TempDir()
	for name, contents := range files {
		require.NoError(tb, os.WriteFile(filepath.Join(dir, name), []byte(contents), 0o600))
	}
	out, err := migrations.Load(dir)
	require.NoError(tb, err)
	return out
}

func wantCode(tb testing.TB, err error, code tenant.Code) {
	tb.Helper()
	require.Truef(tb, tenant.HasCode(err, code), "want %s, got: %v", code, err)
}

// Databases is what every backend of tenant.Databases passes. makeFixture returns a fresh world each time.
func Databases(t *testing.T, makeFixture func(t *testing.T) DatabaseFixture) {
	t.Helper()
	cases := map[string]func(*testing.T, DatabaseFixture){
		"create, then again":             databaseTwice,
		"without migrations":             databaseEmpty,
		"absent":                         databaseAbsent,
		"adopt for another journal":      databaseAdopt,
		"foreign":                        databaseForeign,
		"foreign in step":                databaseForeignInStep,
		"another tenant's":               databaseOfAnotherTenant,
		"neighbour installation":         databaseNeighbour,
		"a new migration":                databaseUpdate,
		"refused migrations":             databaseRefused,
		"a failing migration":            databaseFailing,
		"read-only":                      databaseReadOnly,
		"drop":                           databaseDrop,
		"archive":                        databaseArchive,
		"retain":                         databaseRetain,
		"two creators":                   databaseTwoCreators,
		"many tenants at once":           databaseMany,
		"pool full":                      databasePoolFull,
		"a rush for the last places":     databaseRush,
		"long ids":                       databaseLongIDs,
		"hostile ids":                    databaseHostileIDs,
		"an isolation nobody offers":     databaseIsolation,
		"an unknown disposal":            databaseDisposal,
		"list":                           databaseList,
		"a call that is canceled before": databaseCanceled,
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, makeFixture(t))
		})
	}
	crashes := map[string]func(*testing.T, DatabaseFixture) (func(context.Context, tenant.Databases) error, func(*testing.T)){
		"cut while creating":  databaseCutCreate,
		"cut while updating":  databaseCutUpdate,
		"cut while closing":   databaseCutReadOnly,
		"cut while opening":   databaseCutReopen,
		"cut while dropping":  databaseCutDrop,
		"cut while archiving": databaseCutArchive,
	}
	for name, scenario := range crashes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			CrashEverywhere(t, func(t *testing.T, _ int) (func(context.Context) error, func(*testing.T)) {
				f := makeFixture(t)
				work, check := scenario(t, f)
				backend := f.Databases
				return func(ctx context.Context) error {
						current := backend
						backend = f.Again // the next run is another process
						return work(ctx, current)
					}, func(t *testing.T) {
						t.Helper()
						check(t)
						require.Empty(t, f.Leftovers(t))
					}
			})
		})
	}
}

func databaseTwice(t *testing.T, f DatabaseFixture) {
	spec := f.spec(t, "acme", f.notes())
	database, journal := f.ensure(t, spec)
	require.Equal(t, spec.Place, database.Place)
	require.NotEmpty(t, database.ExternalID)
	require.Equal(t, spec.Migrations.Files, database.Applied)
	require.False(t, database.ReadOnly)
	object := f.object(t, "acme").String()
	require.Equal(t, []string{"intent " + object, "created " + object}, journal.Events)
	require.Equal(t, database.ExternalID, journal.Made()[f.object(t, "acme")])
	require.Equal(t, "1", f.Query(t, "acme", spec.Place, "SELECT count(*) FROM notes"))
	before := f.Print(t, "acme", spec.Place)

	again, _ := f.ensure(t, spec)
	require.Equal(t, database, again)
	seen, err := f.Again.Read(t.Context(), "acme", spec.Place)
	require.NoError(t, err)
	require.Equal(t, database, seen)
	require.Equal(t, before, f.Print(t, "acme", spec.Place), "repeating and reading changes nothing")
	require.Len(t, f.Objects(t), 1)
	require.Empty(t, f.Leftovers(t))
}

func databaseEmpty(t *testing.T, f DatabaseFixture) {
	spec := f.spec(t, "acme", nil)
	database, _ := f.ensure(t, spec)
	require.Empty(t, database.Applied)
	seen, err := f.Databases.Read(t.Context(), "acme", spec.Place)
	require.NoError(t, err)
	require.Empty(t, seen.Applied)
	database, _ = f.ensure(t, f.spec(t, "acme", f.notes()))
	require.Len(t, database.Applied, 2)
}

func databaseAbsent(t *testing.T, f DatabaseFixture) {
	place := f.place(t, "acme")
	_, err := f.Databases.Read(t.Context(), "acme", place)
	require.ErrorIs(t, err, tenant.ErrAbsent)
	journal := &Journal{}
	for _, how := range []tenant.OnDestroy{tenant.Drop, tenant.Archive, tenant.Retain} {
		require.NoError(
			t,
			f.Databases.Delete(t.Context(), "acme", place, tenant.Disposal{How: how}, journal),
			"absent is done",
		)
	}
	require.Empty(t, f.Objects(t))
	require.Empty(t, f.Archives(t))
}

func databaseAdopt(t *testing.T, f DatabaseFixture) {
	spec := f.spec(t, "acme", f.notes())
	database, _ := f.ensure(t, spec)
	journal := &Journal{}
	adopted, err := f.Again.Ensure(t.Context(), spec, journal)
	require.NoError(t, err)
	require.Equal(t, database, adopted)
	require.Equal(t, []string{"adopted " + f.object(t, "acme").String()}, journal.Events)
	require.Empty(t, journal.Made(), "what was adopted was not made by this onboarding")
}

func databaseForeign(t *testing.T, f DatabaseFixture) {
	spec := f.spec(t, "acme", f.notes())
	f.Plant(t, "acme", spec.Place)
	f.requireForeign(t, f.Databases, spec)
}

// databaseForeignInStep lets somebody be first after the name was seen to be free.
func databaseForeignInStep(t *testing.T, f DatabaseFixture) {
	spec := f.spec(t, "acme", f.notes())
	planted := ""
	ctx := tenant.WithFailpoint(t.Context(), func(name string) {
		if name == "database.intended" {
			f.Plant(t, "acme", spec.Place)
			planted = f.Print(t, "acme", spec.Place)
		}
	})
	_, err := f.Databases.Ensure(ctx, spec, &Journal{})
	wantCode(t, err, tenant.CodeForeign)
	require.NotEmpty(t, planted)
	require.Equal(t, planted, f.Print(t, "acme", spec.Place))
	require.Empty(t, f.Leftovers(t))
	f.requireForeign(t, f.Again, spec)
}

// requireForeign tries everything on an object that is not the backend's.
func (f DatabaseFixture) requireForeign(t *testing.T, backend tenant.Databases, spec tenant.DatabaseSpec) {
	t.Helper()
	before, objects := f.Print(t, spec.Tenant, spec.Place), f.Objects(t)
	journal := &Journal{}
	_, err := backend.Ensure(t.Context(), spec, journal)
	wantCode(t, err, tenant.CodeForeign)
	require.ErrorIs(t, err, tenant.ErrForeign)
	require.ErrorContains(t, err, spec.Place.Name, "the object is named")
	_, err = backend.Read(t.Context(), spec.Tenant, spec.Place)
	wantCode(t, err, tenant.CodeForeign)
	for _, how := range []tenant.OnDestroy{tenant.Drop, tenant.Archive} {
		wantCode(
			t,
			backend.Delete(t.Context(), spec.Tenant, spec.Place, tenant.Disposal{How: how}, journal),
			tenant.CodeForeign,
		)
	}
	require.NoError(
		t,
		backend.Delete(t.Context(), spec.Tenant, spec.Place, tenant.Disposal{How: tenant.Retain}, journal),
	)
	require.Equal(t, before, f.Print(t, spec.Tenant, spec.Place), "a foreign object is never changed")
	require.Equal(t, objects, f.Objects(t))
	require.Empty(t, journal.Made())
	journal.RequireSound(t)
	for _, event := range journal.Events {
		require.NotContains(t, event, "removed", "it is still there")
	}
}

func databaseOfAnotherTenant(t *testing.T, f DatabaseFixture) {
	mine := f.spec(t, "acme", f.notes())
	f.ensure(t, mine)
	if f.Isolation == tenant.IsolationRow {
		return // the tables are shared: a place names no tenant
	}
	mine.Tenant = "globex"
	f.requireForeign(t, f.Databases, mine)
}

func databaseNeighbour(t *testing.T, f DatabaseFixture) {
	spec := f.spec(t, "acme", f.notes())
	database, _ := f.ensure(t, spec)
	f.requireForeign(t, f.Neighbour, spec)

	theirs := spec
	var err error
	theirs.Place.Name, err = f.Neighbour.DatabaseName("acme", f.Isolation)
	require.NoError(t, err)
	require.NotEqual(t, spec.Place.Name, theirs.Place.Name)
	_, err = f.Neighbour.Ensure(t.Context(), theirs, &Journal{})
	require.NoError(t, err)
	require.NoError(t, f.Exec(t, "acme", theirs.Place, "INSERT INTO notes (id, body) VALUES (2, 'theirs')"))
	require.Equal(t, "1", f.Query(t, "acme", spec.Place, "SELECT count(*) FROM notes"))
	require.NoError(
		t,
		f.Neighbour.Delete(t.Context(), "acme", theirs.Place, tenant.Disposal{How: tenant.Drop}, &Journal{}),
	)
	seen, err := f.Databases.Read(t.Context(), "acme", spec.Place)
	require.NoError(t, err)
	require.Equal(t, database, seen)
}

func databaseUpdate(t *testing.T, f DatabaseFixture) {
	f.ensure(t, f.spec(t, "acme", f.notes()))
	spec := f.spec(
		t,
		"acme",
		withFile(f.notes(), "00004_more.sql", "INSERT INTO notes (id, body) VALUES (2, 'more');"),
	)
	place := spec.Place
	require.NoError(t, f.Exec(t, "acme", place, "UPDATE notes SET body = 'the customer''s' WHERE id = 1"))
	database, journal := f.ensure(t, spec)
	require.Equal(t, spec.Migrations.Files, database.Applied)
	journal.RequireSound(t)
	require.Empty(t, journal.Made())
	require.Equal(t, "2", f.Query(t, "acme", place, "SELECT count(*) FROM notes"))
	require.Equal(t, "the customer's", f.Query(t, "acme", place, "SELECT body FROM notes WHERE id = 1"))
}

func databaseRefused(t *testing.T, f DatabaseFixture) {
	f.ensure(t, f.spec(t, "acme", f.notes()))
	cases := map[string]struct {
		files map[string]string
		code  tenant.Code
	}{
		"00003_first.sql": {
			withFile(
				withFile(f.notes(), "00003_first.sql", "SELECT 1;"),
				"00004_d.sql",
				"DELETE FROM notes;",
			),
			tenant.CodeMigrationEdited,
		},
		"00002_below.sql": {
			withFile(
				withFile(f.notes(), "00002_below.sql", "DELETE FROM notes;"),
				"00004_d.sql",
				"DELETE FROM notes;",
			),
			tenant.CodeMigrationOrder,
		},
		"00001_notes.sql": {
			map[string]string{
				"00003_first.sql": f.notes()["00003_first.sql"],
				"00004_d.sql":     "-- +goose Up\nDELETE FROM notes;\n",
			},
			tenant.CodeDatabaseAhead,
		},
	}
	for name, c := range cases {
		spec := f.spec(t, "acme", c.files)
		before := f.Print(t, "acme", spec.Place)
		_, err := f.Databases.Ensure(t.Context(), spec, &Journal{})
		wantCode(t, err, c.code)
		require.ErrorContains(t, err, name)
		require.Equal(t, before, f.Print(t, "acme", spec.Place), "refused without a change")
	}
}

func databaseFailing(t *testing.T, f DatabaseFixture) {
	broken := withFile(
		f.notes(),
		"00004_broken.sql",
		"INSERT INTO notes (id, body) VALUES (4, 'x');\nINSERT INTO nowhere VALUES (1);",
	)
	broken = withFile(broken, "00005_after.sql", "INSERT INTO notes (id, body) VALUES (5, 'after');")
	spec, journal := f.spec(t, "acme", broken), &Journal{}
	for range 2 {
		_, err := f.Databases.Ensure(t.Context(), spec, journal)
		wantCode(t, err, tenant.CodeMigrationFailed)
		require.ErrorContains(t, err, "00004_broken.sql")
		database, err := f.Databases.Read(t.Context(), "acme", spec.Place)
		require.NoError(t, err, "the database stays, so that the next run goes on")
		require.Len(t, database.Applied, 2, "the earlier ones stay applied")
		require.Equal(t, "1", f.Query(t, "acme", spec.Place, "SELECT count(*) FROM notes"))
	}
	require.Len(t, journal.Made(), 1, "it was created by this onboarding")
	journal.RequireSound(t)

	mended := withFile(broken, "00004_broken.sql", "INSERT INTO notes (id, body) VALUES (4, 'x');")
	database, _ := f.ensure(t, f.spec(t, "acme", mended))
	require.Len(t, database.Applied, 4)
	require.Equal(t, "3", f.Query(t, "acme", spec.Place, "SELECT count(*) FROM notes"))
}

func databaseReadOnly(t *testing.T, f DatabaseFixture) {
	spec := f.spec(t, "acme", f.notes())
	f.ensure(t, spec)
	spec.ReadOnly = true
	for range 2 {
		database, _ := f.ensure(t, spec)
		require.True(t, database.ReadOnly)
		seen, err := f.Databases.Read(t.Context(), "acme", spec.Place)
		require.NoError(t, err)
		require.Equal(t, database, seen)
		require.Error(t, f.Exec(t, "acme", spec.Place, "INSERT INTO notes (id) VALUES (7)"))
		require.Equal(t, "1", f.Query(t, "acme", spec.Place, "SELECT count(*) FROM notes"))
	}
	more := f.spec(t, "acme", withFile(f.notes(), "00004_more.sql", "INSERT INTO notes (id) VALUES (2);"))
	more.ReadOnly = true
	database, _ := f.ensure(t, more)
	require.Len(t, database.Applied, 3, "we may still migrate")
	require.Error(t, f.Exec(t, "acme", spec.Place, "INSERT INTO notes (id) VALUES (7)"))
	more.ReadOnly = false
	for range 2 {
		database, _ = f.ensure(t, more)
		require.False(t, database.ReadOnly)
	}
	require.NoError(t, f.Exec(t, "acme", spec.Place, "INSERT INTO notes (id) VALUES (7)"))

	fresh := f.spec(t, "globex", f.notes())
	fresh.ReadOnly = true
	database, _ = f.ensure(t, fresh)
	require.True(t, database.ReadOnly, "from the start")
}

func (f DatabaseFixture) delete(t *testing.T, spec tenant.DatabaseSpec, how tenant.OnDestroy) {
	t.Helper()
	journal := &Journal{}
	require.NoError(
		t,
		f.Databases.Delete(t.Context(), spec.Tenant, spec.Place, tenant.Disposal{How: how}, journal),
	)
	require.Equal(t, []string{"removed " + f.object(t, spec.Tenant).String()}, journal.Events)
	require.NoError(
		t,
		f.Again.Delete(t.Context(), spec.Tenant, spec.Place, tenant.Disposal{How: how}, journal),
		"a second time",
	)
	_, err := f.Databases.Read(t.Context(), spec.Tenant, spec.Place)
	require.ErrorIs(t, err, tenant.ErrAbsent)
	require.Empty(t, f.Objects(t))
	require.Empty(t, f.Leftovers(t))
}

func databaseDrop(t *testing.T, f DatabaseFixture) {
	spec := f.spec(t, "acme", f.notes())
	for range 2 { // the name can be used again
		f.ensure(t, spec)
		require.NoError(t, f.Exec(t, "acme", spec.Place, "INSERT INTO notes (id) VALUES (2)"))
		f.delete(t, spec, tenant.Drop)
		require.Empty(t, f.Archives(t))
	}
}

func databaseArchive(t *testing.T, f DatabaseFixture) {
	spec := f.spec(t, "acme", f.notes())
	for n := range 3 {
		f.ensure(t, spec)
		f.delete(t, spec, tenant.Archive)
		require.Len(t, f.Archives(t), n+1, "no archive overwrites another")
	}
	spec.ReadOnly = true
	f.ensure(t, spec)
	f.delete(t, spec, tenant.Archive)
	require.Len(t, f.Archives(t), 4)
}

func databaseRetain(t *testing.T, f DatabaseFixture) {
	spec := f.spec(t, "acme", f.notes())
	f.ensure(t, spec)
	before, journal := f.Print(t, "acme", spec.Place), &Journal{}
	require.NoError(
		t,
		f.Databases.Delete(t.Context(), "acme", spec.Place, tenant.Disposal{How: tenant.Retain}, journal),
	)
	require.Empty(t, journal.Events)
	require.Equal(t, before, f.Print(t, "acme", spec.Place))
	_, journal = f.ensure(t, spec)
	require.Equal(t, []string{"adopted " + f.object(t, "acme").String()}, journal.Events)
}

// databaseRace runs n calls together and returns their errors.
func databaseRace(n int, call func(n int) error) []error {
	var group sync.WaitGroup
	out := make([]error, n)
	for i := range n {
		group.Go(func() { out[i] = tenant.Guard("a call", func() error { return call(i) }) })
	}
	group.Wait()
	return out
}

func databaseTwoCreators(t *testing.T, f DatabaseFixture) {
	spec := f.spec(t, "acme", f.notes())
	backends, journals := []tenant.Databases{f.Databases, f.Again}, []*Journal{{}, {}, {}, {}}
	failed := databaseRace(len(journals), func(n int) error {
		_, err := backends[n%2].Ensure(t.Context(), spec, journals[n])
		return err
	})
	made := 0
	for n, err := range failed {
		if err != nil {
			require.Equalf(t, tenant.Retryable, tenant.FailureOf(err).Class, "%v", err)
			continue
		}
		journals[n].RequireSound(t)
		made += len(journals[n].Made())
	}
	require.Equal(t, 1, made, "one of them made it")
	require.Len(t, f.Objects(t), 1)
	require.Empty(t, f.Leftovers(t))
	require.Equal(t, "1", f.Query(t, "acme", spec.Place, "SELECT count(*) FROM notes"))
}

func databaseMany(t *testing.T, f DatabaseFixture) {
	const tenants = 12
	specs := make([]tenant.DatabaseSpec, tenants)
	for n := range specs {
		specs[n] = f.spec(t, tenant.ID("t"+strconv.Itoa(n)), f.notes())
	}
	backends := []tenant.Databases{f.Databases, f.Again}
	for _, err := range databaseRace(tenants, func(n int) error {
		database, err := backends[n%2].Ensure(t.Context(), specs[n], &Journal{})
		if err == nil && len(database.Applied) != 2 {
			err = errors.New("a migration is missing")
		}
		return err
	}) {
		require.NoError(t, err)
	}
	require.Len(t, f.Objects(t), tenants)
	require.Empty(t, f.Leftovers(t))
}

func databasePoolFull(t *testing.T, f DatabaseFixture) {
	first, second := f.spec(t, "acme", f.notes()), f.spec(t, "globex", f.notes())
	first.MaxTenants, second.MaxTenants = 1, 1
	f.ensure(t, first)
	journal := &Journal{}
	_, err := f.Databases.Ensure(t.Context(), second, journal)
	wantCode(t, err, tenant.CodePoolFull)
	require.Empty(t, journal.Events, "nothing was begun")
	require.Len(t, f.Objects(t), 1)
	f.ensure(t, first) // an adoption is never refused
	first.MaxTenants = 2
	second.MaxTenants = 2
	f.ensure(t, second)
	first.MaxTenants = 1
	f.ensure(t, first)
	require.NoError(
		t,
		f.Databases.Delete(
			t.Context(),
			"globex",
			second.Place,
			tenant.Disposal{How: tenant.Drop},
			&Journal{},
		),
	)
	third := f.spec(t, "initech", f.notes())
	third.MaxTenants = 2
	f.ensure(t, third)
}

func databaseRush(t *testing.T, f DatabaseFixture) {
	const callers, places = 8, 3
	specs, journals := make([]tenant.DatabaseSpec, callers), make([]*Journal, callers)
	for n := range specs {
		specs[n] = f.spec(t, tenant.ID("t"+strconv.Itoa(n)), f.notes())
		specs[n].MaxTenants, journals[n] = places, &Journal{}
	}
	backends := []tenant.Databases{f.Databases, f.Again}
	made := 0
	for n, err := range databaseRace(callers, func(n int) error {
		_, err := backends[n%2].Ensure(t.Context(), specs[n], journals[n])
		return err
	}) {
		journals[n].RequireSound(t)
		if err == nil {
			made++
			continue
		}
		wantCode(t, err, tenant.CodePoolFull)
	}
	require.Equal(t, places, made)
	require.Len(t, f.Objects(t), places)
}

func databaseLongIDs(t *testing.T, f DatabaseFixture) {
	one, two := LongIDs()
	first, second := f.spec(t, one, f.notes()), f.spec(t, two, f.notes())
	if f.Isolation != tenant.IsolationRow {
		require.NotEqual(t, first.Place.Name, second.Place.Name)
		require.LessOrEqual(t, len(first.Place.Name), 63)
	}
	f.ensure(t, first)
	_, journal := f.ensure(t, second)
	require.Len(t, journal.Made(), 1)
	require.NoError(t, f.Exec(t, one, first.Place, "INSERT INTO notes (id, body) VALUES (2, 'one')"))
	require.Equal(t, "1", f.Query(t, two, second.Place, "SELECT count(*) FROM notes"))
	require.NoError(
		t,
		f.Databases.Delete(t.Context(), one, first.Place, tenant.Disposal{How: tenant.Drop}, &Journal{}),
	)
	_, err := f.Databases.Read(t.Context(), two, second.Place)
	require.NoError(t, err)
}

// databaseHostileIDs uses ids that are labels and yet words of SQL, numbers, or nearly the same.
func databaseHostileIDs(t *testing.T, f DatabaseFixture) {
	ids := []tenant.ID{
		"select",
		"user",
		"0",
		"00",
		"a-b",
		"a--b",
		"ab",
		"drop-table-notes",
		"postgres",
		"public",
		"template1",
	}
	for _, id := range ids {
		f.ensure(t, f.spec(t, id, f.notes()))
	}
	require.Len(t, f.Objects(t), len(ids))
	for _, name := range []string{"", "../escape", "a/b", "a\x00b", `a"b`, "a'; DROP DATABASE x; --", "..", ".hidden", strings.Repeat("n", 300)} {
		spec := f.spec(t, "acme", f.notes())
		spec.Place.Name = name
		_, err := f.Databases.Ensure(t.Context(), spec, &Journal{})
		require.Errorf(t, err, "%q", name)
		_, err = f.Databases.Read(t.Context(), "acme", spec.Place)
		require.Errorf(t, err, "%q", name)
		require.Errorf(
			t,
			f.Databases.Delete(
				t.Context(),
				"acme",
				spec.Place,
				tenant.Disposal{How: tenant.Drop},
				&Journal{},
			),
			"%q",
			name,
		)
	}
	require.Len(t, f.Objects(t), len(ids))
	require.Empty(t, f.Leftovers(t))
}

func databaseIsolation(t *testing.T, f DatabaseFixture) {
	_, err := f.Databases.DatabaseName("acme", "galaxy")
	wantCode(t, err, tenant.CodeInvalidConfig)
	require.ErrorContains(t, err, "galaxy")
	spec := f.spec(t, "acme", f.notes())
	spec.Place.Isolation = "galaxy"
	_, err = f.Databases.Ensure(t.Context(), spec, &Journal{})
	wantCode(t, err, tenant.CodeInvalidConfig)
	_, err = f.Databases.Read(t.Context(), "acme", spec.Place)
	wantCode(t, err, tenant.CodeInvalidConfig)
}

func databaseDisposal(t *testing.T, f DatabaseFixture) {
	spec := f.spec(t, "acme", f.notes())
	f.ensure(t, spec)
	err := f.Databases.Delete(t.Context(), "acme", spec.Place, tenant.Disposal{How: "burn"}, &Journal{})
	wantCode(t, err, tenant.CodeInvalidConfig)
	require.Len(t, f.Objects(t), 1)
}

func databaseList(t *testing.T, f DatabaseFixture) {
	lister, ok := f.Databases.(tenant.DatabaseLister)
	if !ok {
		t.Fatalf("%T does not list", f.Databases)
	}
	listed, err := lister.ListDatabases(t.Context())
	require.NoError(t, err)
	require.Empty(t, listed)
	long, _ := LongIDs()
	want := map[tenant.ID]tenant.Database{}
	for _, id := range []tenant.ID{"acme", long} {
		spec := f.spec(t, id, f.notes())
		spec.ReadOnly = id == long
		want[id], _ = f.ensure(t, spec)
	}
	theirs := f.spec(t, "acme", f.notes())
	theirs.Place.Name, err = f.Neighbour.DatabaseName("acme", f.Isolation)
	require.NoError(t, err)
	_, err = f.Neighbour.Ensure(t.Context(), theirs, &Journal{})
	require.NoError(t, err)
	f.Plant(t, "globex", f.place(t, "globex"))

	listed, err = lister.ListDatabases(t.Context())
	require.NoError(t, err)
	require.Len(t, listed, len(want))
	for id, database := range want {
		database.Place.Pool = listed[id].Place.Pool // a backend may not know what its pool is called
		require.Equal(t, database, listed[id])
	}
}

func databaseCanceled(t *testing.T, f DatabaseFixture) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.Databases.Ensure(ctx, f.spec(t, "acme", f.notes()), &Journal{})
	require.Error(t, err)
	require.Equalf(t, tenant.Retryable, tenant.FailureOf(err).Class, "%v", err)
	require.Empty(t, f.Objects(t))
	f.ensure(t, f.spec(t, "acme", f.notes()))
	require.Empty(t, f.Leftovers(t))
}

type databaseWork = func(context.Context, tenant.Databases) error

func databaseCutCreate(t *testing.T, f DatabaseFixture) (databaseWork, func(*testing.T)) {
	spec, journal := f.spec(t, "acme", f.notes()), &Journal{}
	spec.MaxTenants = 1
	work := func(ctx context.Context, backend tenant.Databases) error {
		_, err := backend.Ensure(ctx, spec, journal)
		return err
	}
	return work, func(t *testing.T) {
		t.Helper()
		journal.RequireSound(t)
		require.Contains(t, journal.Made(), f.object(t, "acme"), "it counts as created by this onboarding")
		require.Len(t, f.Objects(t), 1)
		f.requireNotes(t, spec, "1")
	}
}

func (f DatabaseFixture) requireNotes(t *testing.T, spec tenant.DatabaseSpec, count string) {
	t.Helper()
	database, err := f.Databases.Read(t.Context(), spec.Tenant, spec.Place)
	require.NoError(t, err)
	require.Equal(t, spec.Migrations.Files, database.Applied)
	require.Equal(t, spec.ReadOnly, database.ReadOnly)
	require.Equal(t, count, f.Query(t, spec.Tenant, spec.Place, "SELECT count(*) FROM notes"))
}

func (f DatabaseFixture) cutChange(
	t *testing.T, before, after tenant.DatabaseSpec, count string,
) (databaseWork, func(*testing.T)) {
	t.Helper()
	f.ensure(t, before)
	work := func(ctx context.Context, backend tenant.Databases) error {
		_, err := backend.Ensure(ctx, after, &Journal{})
		return err
	}
	return work, func(t *testing.T) {
		t.Helper()
		require.Len(t, f.Objects(t), 1)
		f.requireNotes(t, after, count)
	}
}

func databaseCutUpdate(t *testing.T, f DatabaseFixture) (databaseWork, func(*testing.T)) {
	files := withFile(f.notes(), "00004_more.sql", "INSERT INTO notes (id) VALUES (2);")
	files = withFile(files, "00005_more.sql", "INSERT INTO notes (id) VALUES (3);")
	return f.cutChange(t, f.spec(t, "acme", f.notes()), f.spec(t, "acme", files), "3")
}

func databaseCutReadOnly(t *testing.T, f DatabaseFixture) (databaseWork, func(*testing.T)) {
	closed := f.spec(t, "acme", f.notes())
	closed.ReadOnly = true
	return f.cutChange(t, f.spec(t, "acme", f.notes()), closed, "1")
}

func databaseCutReopen(t *testing.T, f DatabaseFixture) (databaseWork, func(*testing.T)) {
	closed := f.spec(t, "acme", f.notes())
	closed.ReadOnly = true
	return f.cutChange(t, closed, f.spec(t, "acme", f.notes()), "1")
}

func (f DatabaseFixture) cutDelete(
	t *testing.T, how tenant.OnDestroy, archives int,
) (databaseWork, func(*testing.T)) {
	t.Helper()
	spec := f.spec(t, "acme", f.notes())
	_, journal := f.ensure(t, spec)
	work := func(ctx context.Context, backend tenant.Databases) error {
		return backend.Delete(ctx, "acme", spec.Place, tenant.Disposal{How: how}, journal)
	}
	return work, func(t *testing.T) {
		t.Helper()
		require.Empty(t, f.Objects(t))
		require.Empty(t, journal.Made())
		require.Len(t, f.Archives(t), archives)
	}
}

func databaseCutDrop(t *testing.T, f DatabaseFixture) (databaseWork, func(*testing.T)) {
	return f.cutDelete(t, tenant.Drop, 0)
}

func databaseCutArchive(t *testing.T, f DatabaseFixture) (databaseWork, func(*testing.T)) {
	return f.cutDelete(t, tenant.Archive, 1)
}
