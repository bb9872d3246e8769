package tenanttest

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// SeedFixture is an empty pool whose backend writes seeds, too.
type SeedFixture struct {
	DatabaseFixture

	Seeds          tenant.Seeds
	SeedsAgain     tenant.Seeds // in another process
	SeedsNeighbour tenant.Seeds // of another installation
}

// ledger is a product with all that a seed may meet.
func (f SeedFixture) ledger() map[string]string {
	return map[string]string{
		"00001_ledger.sql": "-- +goose Up\n" +
			f.table(
				"accounts",
				`code INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, rate NUMERIC(10,4), active BOOLEAN, parent INTEGER REFERENCES accounts (code)`,
			) + "\n" +
			f.table("entries", `id INTEGER PRIMARY KEY, account INTEGER REFERENCES accounts (code)`) + "\n" +
			f.table(
				"notes",
				`id INTEGER PRIMARY KEY, account INTEGER REFERENCES accounts (code) ON DELETE CASCADE`,
			) + "\n" +
			f.table(
				"tags",
				`id INTEGER PRIMARY KEY, account INTEGER REFERENCES accounts (code) ON DELETE SET NULL`,
			) + "\n" +
			f.table(
				"prices",
				`currency TEXT NOT NULL, since TEXT NOT NULL, amount INTEGER CHECK (amount >= 0), PRIMARY KEY (currency, since)`,
			) + "\n" +
			f.table(
				`"odd ""table; DROP TABLE accounts; --"`,
				`"a ""key""" TEXT PRIMARY KEY, "select" TEXT, "Ünï'code" TEXT`,
			) + "\n",
	}
}

// with makes the tenant's database and returns where it is.
func (f SeedFixture) with(t *testing.T) tenant.Place {
	t.Helper()
	database, _ := f.ensure(t, f.spec(t, "acme", f.ledger()))
	return database.Place
}

func (f SeedFixture) seedObject(t *testing.T) tenant.Object {
	t.Helper()
	return tenant.Object{Tenant: "acme", Kind: tenant.KindSeed, Name: f.place(t, "acme").Name}
}

// cells makes a row of name, value, name, value…; "NULL" is null.
func cells(pairs ...string) tenant.Row {
	out := tenant.Row{}
	for pair := range slices.Chunk(pairs, 2) {
		value := &pair[1]
		if *value == "NULL" {
			value = nil
		}
		out[pair[0]] = value
	}
	return out
}

func accounts(rows ...tenant.Row) tenant.SeedTable {
	return tenant.SeedTable{Name: "accounts", Key: []string{"code"}, Rows: rows}
}

func cash(name string) tenant.Row {
	return cells("code", "1000", "name", name, "rate", "0.10", "active", "true")
}

func bank() tenant.Row {
	return cells("code", "1200", "name", "Bank", "rate", "NULL", "active", "false")
}

func (f SeedFixture) seed(t *testing.T, onEdit tenant.OnEdit, tables ...tenant.SeedTable) tenant.SeedSpec {
	t.Helper()
	return tenant.SeedSpec{Tenant: "acme", Place: f.place(t, "acme"), Tables: tables, OnEdit: onEdit}
}

func (f SeedFixture) apply(t *testing.T, onEdit tenant.OnEdit, tables ...tenant.SeedTable) tenant.Seed {
	t.Helper()
	journal := &Journal{}
	out, err := f.Seeds.Apply(t.Context(), f.seed(t, onEdit, tables...), journal)
	require.NoError(t, err)
	journal.RequireSound(t)
	seen, err := f.SeedsAgain.Read(t.Context(), "acme", f.place(t, "acme"))
	require.NoError(t, err)
	require.Equal(t, texts(out.Edited), texts(seen.Edited), "what Apply says is what Read sees")
	require.Equal(t, texts(out.Kept), texts(seen.Kept))
	return out
}

func texts(edits []tenant.RowEdit) []string {
	out := []string{}
	for _, edit := range edits {
		out = append(out, edit.String())
	}
	return out
}

func (f SeedFixture) read(t *testing.T) tenant.Seed {
	t.Helper()
	out, err := f.Seeds.Read(t.Context(), "acme", f.place(t, "acme"))
	require.NoError(t, err)
	return out
}

func (f SeedFixture) exec(t *testing.T, statements string) {
	t.Helper()
	require.NoError(t, f.Exec(t, "acme", f.place(t, "acme"), statements))
}

func (f SeedFixture) value(t *testing.T, query string) string {
	t.Helper()
	return f.Query(t, "acme", f.place(t, "acme"), query)
}

func (f SeedFixture) fails(t *testing.T, code tenant.Code, spec tenant.SeedSpec, parts ...string) {
	t.Helper()
	before := f.Print(t, "acme", spec.Place)
	_, err := f.Seeds.Apply(t.Context(), spec, &Journal{})
	wantCode(t, err, code)
	for _, part := range parts {
		require.ErrorContains(t, err, part)
	}
	require.Equal(t, before, f.Print(t, "acme", spec.Place), "all of it or nothing")
}

// Seeds is what every backend of tenant.Seeds passes. makeFixture returns a fresh world each time.
func Seeds(t *testing.T, makeFixture func(t *testing.T) SeedFixture) {
	t.Helper()
	cases := map[string]func(*testing.T, SeedFixture){
		"apply, then again":               seedTwice,
		"read back for an import":         seedReadBack,
		"absent":                          seedAbsent,
		"foreign database":                seedForeignDatabase,
		"neighbour installation":          seedNeighbour,
		"a seed without rows":             seedEmpty,
		"a changed seed":                  seedChanged,
		"edits are kept":                  seedKeep,
		"edits are restored":              seedRestore,
		"edits are refused":               seedRefuse,
		"the customer was first":          seedSameEdit,
		"an edit taken back":              seedUndone,
		"an existing row":                 seedTakeOver,
		"an existing row, restored":       seedTakeOverRestore,
		"after a lost marker":             seedLostMarker,
		"a row removed from the seed":     seedRemoved,
		"a removed row that was edited":   seedRemovedEdited,
		"a removed row with references":   seedRemovedReferenced,
		"removed rows in their order":     seedRemovedInOrder,
		"a unique value that moves":       seedUniqueMoves,
		"a row that comes back":           seedComesBack,
		"columns that come and go":        seedColumns,
		"another key":                     seedOtherKey,
		"null":                            seedNull,
		"canonical forms":                 seedCanonical,
		"composite keys":                  seedComposite,
		"hostile names and values":        seedHostile,
		"what does not fit":               seedInvalid,
		"one bad row":                     seedBadRow,
		"a table that a migration drops":  seedDroppedTable,
		"a column that a migration drops": seedDroppedColumn,
		"a read-only database":            seedReadOnly,
		"forget":                          seedDelete,
		"two at once":                     seedTwoAtOnce,
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, makeFixture(t))
		})
	}
	crashes := map[string]func(*testing.T, SeedFixture) (func(context.Context, tenant.Seeds) error, func(*testing.T)){
		"cut while seeding":    seedCutCreate,
		"cut while changing":   seedCutUpdate,
		"cut while forgetting": seedCutDelete,
		"cut while closed":     seedCutReadOnly,
	}
	for name, scenario := range crashes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			CrashEverywhere(t, func(t *testing.T, _ int) (func(context.Context) error, func(*testing.T)) {
				f := makeFixture(t)
				f.with(t)
				work, check := scenario(t, f)
				backend := f.Seeds
				return func(ctx context.Context) error {
					current := backend
					backend = f.SeedsAgain // the next run is another process
					return work(ctx, current)
				}, check
			})
		})
	}
}

func seedTwice(t *testing.T, f SeedFixture) {
	place := f.with(t)
	spec, journal := f.seed(t, tenant.KeepEdits, accounts(cash("Cash"), bank())), &Journal{}
	seed, err := f.Seeds.Apply(t.Context(), spec, journal)
	require.NoError(t, err)
	require.Empty(t, seed.Edited)
	require.Empty(t, seed.Kept)
	object := f.seedObject(t)
	require.Equal(t, []string{"intent " + object.String(), "created " + object.String()}, journal.Events)
	require.NotEmpty(t, journal.Made()[object])
	require.Equal(t, "2", f.value(t, "SELECT count(*) FROM accounts"))
	before := f.Print(t, "acme", place)

	again := &Journal{}
	seed, err = f.SeedsAgain.Apply(t.Context(), spec, again)
	require.NoError(t, err)
	require.Empty(t, seed.Edited)
	require.Equal(t, []string{"adopted " + object.String()}, again.Events)
	require.Empty(t, f.read(t).Edited)
	require.Equal(t, before, f.Print(t, "acme", place), "repeating and reading changes nothing")
}

// seedReadBack: what an import would write into the configuration plans nothing.
func seedReadBack(t *testing.T, f SeedFixture) {
	reader, ok := f.Seeds.(tenant.SeedReader)
	require.True(t, ok)
	place := f.with(t)
	_, err := reader.ReadTables(t.Context(), "acme", place)
	require.ErrorIs(t, err, tenant.ErrAbsent)
	f.apply(t, tenant.KeepEdits, accounts(cash("Cash"), bank()))
	tables, err := reader.ReadTables(t.Context(), "acme", place)
	require.NoError(t, err)
	require.Equal(t, []tenant.SeedTable{accounts(cash("Cash"), bank())}, tables)
	require.Empty(t, f.apply(t, tenant.KeepEdits, tables...).Edited)

	f.apply(t, tenant.KeepEdits, accounts(bank()))
	tables, err = reader.ReadTables(t.Context(), "acme", place)
	require.NoError(t, err)
	require.Equal(t, []tenant.SeedTable{accounts(bank())}, tables)
}

func seedAbsent(t *testing.T, f SeedFixture) {
	place, journal := f.place(t, "acme"), &Journal{}
	_, err := f.Seeds.Read(t.Context(), "acme", place)
	require.ErrorIs(t, err, tenant.ErrAbsent)
	_, err = f.Seeds.Apply(t.Context(), f.seed(t, tenant.KeepEdits, accounts(bank())), journal)
	wantCode(t, err, tenant.CodeSeedFailed)
	require.NoError(t, f.Seeds.Delete(t.Context(), "acme", place, journal))
	require.Empty(t, f.Objects(t))
	require.Empty(t, journal.Made())

	f.with(t)
	_, err = f.Seeds.Read(t.Context(), "acme", place)
	require.ErrorIs(t, err, tenant.ErrAbsent, "a database without a seed")
	require.NoError(t, f.Seeds.Delete(t.Context(), "acme", place, &Journal{}))
}

func seedForeignDatabase(t *testing.T, f SeedFixture) {
	place := f.place(t, "acme")
	f.Plant(t, "acme", place)
	before, journal := f.Print(t, "acme", place), &Journal{}
	_, err := f.Seeds.Apply(t.Context(), f.seed(t, tenant.KeepEdits, accounts(bank())), journal)
	wantCode(t, err, tenant.CodeForeign)
	_, err = f.Seeds.Read(t.Context(), "acme", place)
	wantCode(t, err, tenant.CodeForeign)
	wantCode(t, f.Seeds.Delete(t.Context(), "acme", place, journal), tenant.CodeForeign)
	require.Equal(t, before, f.Print(t, "acme", place))
	require.Empty(t, journal.Events)
}

func seedNeighbour(t *testing.T, f SeedFixture) {
	place := f.with(t)
	f.apply(t, tenant.KeepEdits, accounts(bank()))
	before := f.Print(t, "acme", place)
	_, err := f.SeedsNeighbour.Apply(
		t.Context(),
		f.seed(t, tenant.RestoreEdits, accounts(cash("Theirs"))),
		&Journal{},
	)
	wantCode(t, err, tenant.CodeForeign)
	_, err = f.SeedsNeighbour.Read(t.Context(), "acme", place)
	wantCode(t, err, tenant.CodeForeign)
	wantCode(t, f.SeedsNeighbour.Delete(t.Context(), "acme", place, &Journal{}), tenant.CodeForeign)
	require.Equal(t, before, f.Print(t, "acme", place))
}

func seedEmpty(t *testing.T, f SeedFixture) {
	f.with(t)
	f.apply(t, tenant.KeepEdits)
	f.apply(t, tenant.KeepEdits, accounts())
	require.Equal(t, "0", f.value(t, "SELECT count(*) FROM accounts"))
	f.apply(t, tenant.KeepEdits, accounts(bank()))
	f.apply(t, tenant.KeepEdits)
	require.Equal(t, "0", f.value(t, "SELECT count(*) FROM accounts"))
}

func seedChanged(t *testing.T, f SeedFixture) {
	f.with(t)
	f.apply(t, tenant.KeepEdits, accounts(cash("Cash")))
	seed := f.apply(t, tenant.KeepEdits, accounts(cash("Petty cash"), bank()))
	require.Empty(t, seed.Edited)
	require.Equal(t, "Petty cash", f.value(t, "SELECT name FROM accounts WHERE code = 1000"))
	require.Equal(t, "2", f.value(t, "SELECT count(*) FROM accounts"))
}

func seedKeep(t *testing.T, f SeedFixture) {
	f.with(t)
	f.apply(t, tenant.KeepEdits, accounts(cash("Cash"), bank(), cells("code", "1300", "name", "Safe")))
	f.exec(t, "UPDATE accounts SET name = 'My cash', active = false WHERE code = 1000")
	f.exec(t, "DELETE FROM accounts WHERE code = 1300")
	f.exec(t, "INSERT INTO accounts (code, name) VALUES (9000, 'My own')")
	want := []string{"accounts[code=1000]: active, name", "accounts[code=1300]: deleted"}
	require.Equal(t, want, texts(f.read(t).Edited))

	for range 2 {
		seed := f.apply(
			t,
			tenant.KeepEdits,
			accounts(cash("Cash, new"), bank(), cells("code", "1300", "name", "Safe, new")),
		)
		require.Equal(t, want, texts(seed.Edited))
		require.Equal(t, "My cash", f.value(t, "SELECT name FROM accounts WHERE code = 1000"))
		require.Equal(
			t,
			"0",
			f.value(t, "SELECT count(*) FROM accounts WHERE code = 1300"),
			"a deletion is an edit, too",
		)
		require.Equal(t, "My own", f.value(t, "SELECT name FROM accounts WHERE code = 9000"))
	}
}

func seedRestore(t *testing.T, f SeedFixture) {
	f.with(t)
	rows := accounts(cash("Cash"), bank())
	f.apply(t, tenant.KeepEdits, rows)
	f.exec(t, "UPDATE accounts SET name = 'My cash', rate = NULL WHERE code = 1000")
	f.exec(t, "DELETE FROM accounts WHERE code = 1200")
	require.Len(t, f.read(t).Edited, 2)
	seed := f.apply(t, tenant.RestoreEdits, rows)
	require.Empty(t, seed.Edited)
	require.Equal(t, "Cash", f.value(t, "SELECT name FROM accounts WHERE code = 1000"))
	require.Equal(t, "1", f.value(t, "SELECT count(*) FROM accounts WHERE rate BETWEEN 0.09 AND 0.11"))
	require.Equal(t, "Bank", f.value(t, "SELECT name FROM accounts WHERE code = 1200"))
	f.apply(t, tenant.RestoreEdits, rows)
}

func seedRefuse(t *testing.T, f SeedFixture) {
	f.with(t)
	f.apply(t, tenant.RefuseEdits, accounts(cash("Cash"), bank()))
	f.exec(t, "UPDATE accounts SET name = 'My cash' WHERE code = 1000")
	f.exec(t, "DELETE FROM accounts WHERE code = 1200")
	spec := f.seed(
		t,
		tenant.RefuseEdits,
		accounts(cells("code", "1", "name", "New"), cash("Cash, new"), bank()),
	)
	f.fails(t, tenant.CodeSeedEdited, spec, "accounts[code=1000]: name", "accounts[code=1200]: deleted")
	require.Equal(t, "0", f.value(t, "SELECT count(*) FROM accounts WHERE code = 1"))
}

func seedSameEdit(t *testing.T, f SeedFixture) {
	f.with(t)
	f.apply(t, tenant.KeepEdits, accounts(cash("Cash")))
	f.exec(t, "UPDATE accounts SET name = 'Petty cash' WHERE code = 1000")
	require.Len(t, f.read(t).Edited, 1)
	for _, onEdit := range []tenant.OnEdit{tenant.KeepEdits, tenant.RefuseEdits} {
		seed := f.apply(t, onEdit, accounts(cash("Petty cash")))
		require.Empty(t, seed.Edited, "the new seed says the same")
	}
}

func seedUndone(t *testing.T, f SeedFixture) {
	f.with(t)
	f.apply(t, tenant.KeepEdits, accounts(cash("Cash")))
	f.exec(t, "UPDATE accounts SET name = 'My cash' WHERE code = 1000")
	f.apply(t, tenant.KeepEdits, accounts(cash("Cash, new")))
	f.exec(t, "UPDATE accounts SET name = 'Cash' WHERE code = 1000")
	require.Empty(t, f.read(t).Edited)
	f.apply(t, tenant.KeepEdits, accounts(cash("Cash, new")))
	require.Equal(t, "Cash, new", f.value(t, "SELECT name FROM accounts WHERE code = 1000"))
}

func seedTakeOver(t *testing.T, f SeedFixture) {
	f.with(t)
	f.exec(t, "INSERT INTO accounts (code, name, rate, active) VALUES (1000, 'Cash', 0.1, true)")
	f.exec(t, "INSERT INTO accounts (code, name, rate, active) VALUES (1200, 'The customer''s', NULL, false)")
	seed := f.apply(t, tenant.KeepEdits, accounts(cash("Cash"), bank()))
	require.Equal(
		t,
		[]string{"accounts[code=1200]: name"},
		texts(seed.Edited),
		"where it differs, it counts as edited",
	)
	require.Equal(t, "The customer's", f.value(t, "SELECT name FROM accounts WHERE code = 1200"))
	f.apply(t, tenant.KeepEdits, accounts())
	require.Equal(
		t,
		"0",
		f.value(t, "SELECT count(*) FROM accounts WHERE code = 1000"),
		"the row became the seed's",
	)
}

func seedTakeOverRestore(t *testing.T, f SeedFixture) {
	f.with(t)
	f.exec(t, "INSERT INTO accounts (code, name) VALUES (1200, 'The customer''s')")
	f.fails(t, tenant.CodeSeedEdited, f.seed(t, tenant.RefuseEdits, accounts(bank())), "accounts[code=1200]")
	seed := f.apply(t, tenant.RestoreEdits, accounts(bank()))
	require.Empty(t, seed.Edited)
	require.Equal(t, "Bank", f.value(t, "SELECT name FROM accounts WHERE code = 1200"))
}

func seedLostMarker(t *testing.T, f SeedFixture) {
	place := f.with(t)
	f.apply(t, tenant.KeepEdits, accounts(cash("Cash"), bank()))
	f.exec(t, "UPDATE accounts SET name = 'My cash' WHERE code = 1000")
	require.NoError(t, f.Seeds.Delete(t.Context(), "acme", place, &Journal{}))
	seed := f.apply(t, tenant.KeepEdits, accounts(cash("Cash"), bank()))
	require.Equal(t, []string{"accounts[code=1000]: name"}, texts(seed.Edited))
	require.Equal(t, "My cash", f.value(t, "SELECT name FROM accounts WHERE code = 1000"))
}

func seedRemoved(t *testing.T, f SeedFixture) {
	f.with(t)
	f.apply(t, tenant.KeepEdits, accounts(cash("Cash"), bank()))
	seed := f.apply(t, tenant.KeepEdits, accounts(bank()))
	require.Empty(t, seed.Kept)
	require.Equal(t, "1", f.value(t, "SELECT count(*) FROM accounts"))
	f.exec(t, "DELETE FROM accounts WHERE code = 1200")
	seed = f.apply(t, tenant.KeepEdits)
	require.Empty(t, seed.Kept, "deleted by both is gone")
	require.Empty(t, seed.Edited)
}

func seedRemovedEdited(t *testing.T, f SeedFixture) {
	f.with(t)
	f.apply(t, tenant.KeepEdits, accounts(cash("Cash"), bank()))
	f.exec(t, "UPDATE accounts SET name = 'My cash' WHERE code = 1000")
	for _, onEdit := range []tenant.OnEdit{tenant.KeepEdits, tenant.RestoreEdits, tenant.RefuseEdits} {
		seed := f.apply(t, onEdit, accounts(bank()))
		require.Equal(t, []string{"accounts[code=1000]: name"}, texts(seed.Kept))
		require.Empty(t, seed.Edited)
		require.Equal(t, "My cash", f.value(t, "SELECT name FROM accounts WHERE code = 1000"))
	}
	f.exec(t, "DELETE FROM accounts WHERE code = 1000")
	require.Empty(t, f.read(t).Kept)
	require.Empty(t, f.apply(t, tenant.KeepEdits, accounts(bank())).Kept)
}

func seedRemovedReferenced(t *testing.T, f SeedFixture) {
	f.with(t)
	var rows []tenant.Row
	for _, code := range []string{"1", "2", "3", "4", "5"} {
		rows = append(rows, cells("code", code, "name", "Account "+code))
	}
	f.apply(t, tenant.KeepEdits, accounts(rows...))
	f.exec(t, "INSERT INTO entries (id, account) VALUES (1, 1)")
	f.exec(t, "INSERT INTO notes (id, account) VALUES (1, 2)")
	f.exec(t, "INSERT INTO tags (id, account) VALUES (1, 3)")
	f.exec(t, "UPDATE accounts SET parent = 4 WHERE code = 4") // to itself only
	want := []string{
		"accounts[code=1]: referenced by entries",
		"accounts[code=2]: referenced by notes",
		"accounts[code=3]: referenced by tags",
	}
	for range 2 {
		seed := f.apply(t, tenant.KeepEdits, accounts())
		require.Equal(t, want, texts(seed.Kept))
		require.Equal(t, "3", f.value(t, "SELECT count(*) FROM accounts"))
	}
	require.Equal(t, "2", f.value(t, "SELECT account FROM notes"), "nothing of the customer's goes with it")
	require.Equal(t, "3", f.value(t, "SELECT account FROM tags"))
	f.exec(t, "DELETE FROM entries")
	f.exec(t, "DELETE FROM notes")
	seed := f.apply(t, tenant.KeepEdits, accounts())
	require.Equal(t, want[2:], texts(seed.Kept))
	require.Equal(t, "1", f.value(t, "SELECT count(*) FROM accounts"))
}

func seedRemovedInOrder(t *testing.T, f SeedFixture) {
	f.with(t)
	entries := tenant.SeedTable{
		Name: "entries",
		Key:  []string{"id"},
		Rows: []tenant.Row{cells("id", "1", "account", "2")},
	}
	parent, child := cells("code", "1", "name", "Parent"), cells("code", "2", "name", "Child", "parent", "1")
	f.apply(t, tenant.KeepEdits, accounts(parent, child), entries)
	seed := f.apply(t, tenant.KeepEdits)
	require.Empty(t, seed.Kept)
	require.Equal(t, "0", f.value(t, "SELECT count(*) FROM accounts"))

	// A parent that the seed got later goes all the same.
	f.apply(t, tenant.KeepEdits, accounts(cells("code", "2", "name", "Child")))
	f.apply(t, tenant.KeepEdits, accounts(parent, child))
	seed = f.apply(t, tenant.KeepEdits)
	require.Empty(t, seed.Kept)
	require.Equal(t, "0", f.value(t, "SELECT count(*) FROM accounts"))
}

func seedUniqueMoves(t *testing.T, f SeedFixture) {
	f.with(t)
	f.apply(t, tenant.KeepEdits, accounts(cash("Cash")))
	seed := f.apply(t, tenant.KeepEdits, accounts(cells("code", "1001", "name", "Cash")))
	require.Empty(t, seed.Kept)
	require.Equal(t, "1001", f.value(t, "SELECT code FROM accounts"))

	// The row that goes is referred to by one that changes in the same Apply.
	f.apply(
		t,
		tenant.KeepEdits,
		accounts(cells("code", "1", "name", "Old"), cells("code", "2", "name", "Child", "parent", "1")),
	)
	seed = f.apply(
		t,
		tenant.KeepEdits,
		accounts(cells("code", "3", "name", "New"), cells("code", "2", "name", "Child", "parent", "3")),
	)
	require.Empty(t, seed.Kept)
	require.Equal(t, "0", f.value(t, "SELECT count(*) FROM accounts WHERE code = 1"))
}

func seedComesBack(t *testing.T, f SeedFixture) {
	f.with(t)
	f.apply(t, tenant.KeepEdits, accounts(cash("Cash")))
	f.exec(t, "INSERT INTO entries (id, account) VALUES (1, 1000)")
	require.Len(t, f.apply(t, tenant.KeepEdits).Kept, 1)
	seed := f.apply(t, tenant.KeepEdits, accounts(cash("Cash, again")))
	require.Empty(t, seed.Kept)
	require.Empty(t, seed.Edited)
	require.Equal(t, "Cash, again", f.value(t, "SELECT name FROM accounts WHERE code = 1000"))
}

func seedColumns(t *testing.T, f SeedFixture) {
	f.with(t)
	f.apply(t, tenant.KeepEdits, accounts(cells("code", "1", "name", "One")))
	f.apply(t, tenant.KeepEdits, accounts(cells("code", "1", "name", "One", "rate", "2")))
	require.Equal(t, "1", f.value(t, "SELECT count(*) FROM accounts WHERE rate = 2"))
	f.apply(t, tenant.KeepEdits, accounts(cells("code", "1", "name", "One")))
	f.exec(t, "UPDATE accounts SET rate = 3")
	require.Empty(t, f.read(t).Edited, "the column is no longer the seed's")

	f.apply(t, tenant.KeepEdits, accounts(cells("code", "1", "name", "One", "active", "true")))
	f.exec(t, "UPDATE accounts SET name = 'Uno', active = false")
	seed := f.apply(t, tenant.KeepEdits, accounts(cells("code", "1", "name", "One")))
	require.Equal(t, []string{"accounts[code=1]: name"}, texts(seed.Edited))
}

// seedOtherKey has the seed name the same rows by another key: they stay the rows that they are.
func seedOtherKey(t *testing.T, f SeedFixture) {
	f.with(t)
	f.apply(t, tenant.KeepEdits, accounts(cash("Cash"), bank()))
	f.exec(t, "UPDATE accounts SET rate = 7 WHERE code = 1000")
	byName := accounts(cash("Cash"), bank())
	byName.Key = []string{"name"}
	seed := f.apply(t, tenant.KeepEdits, byName)
	require.Len(t, seed.Edited, 1)
	require.Equal(t, []string{"rate"}, seed.Edited[0].Columns)
	require.Empty(t, seed.Kept)
	require.Equal(t, "2", f.value(t, "SELECT count(*) FROM accounts"))

	byName.Rows[1] = cells("code", "1200", "name", "Bank", "rate", "4", "active", "false")
	f.apply(t, tenant.KeepEdits, byName)
	require.Equal(t, "1", f.value(t, "SELECT count(*) FROM accounts WHERE code = 1200 AND rate = 4"))
	require.Equal(t, "1", f.value(t, "SELECT count(*) FROM accounts WHERE code = 1000 AND rate = 7"))
}

func seedNull(t *testing.T, f SeedFixture) {
	f.with(t)
	rows := accounts(cells("code", "1", "name", "One", "rate", "NULL", "active", "NULL"))
	f.apply(t, tenant.KeepEdits, rows)
	require.Equal(t, "NULL", f.value(t, "SELECT rate FROM accounts"))
	require.Empty(t, f.read(t).Edited)
	f.exec(t, "UPDATE accounts SET rate = 0")
	require.Equal(t, []string{"accounts[code=1]: rate"}, texts(f.read(t).Edited), "zero is not null")
	f.apply(t, tenant.RestoreEdits, rows)
	require.Equal(t, "NULL", f.value(t, "SELECT rate FROM accounts"))
	f.apply(t, tenant.KeepEdits, accounts(cells("code", "1", "name", "One", "rate", "5", "active", "NULL")))
	f.exec(t, "UPDATE accounts SET rate = NULL")
	require.Len(t, f.read(t).Edited, 1, "null is not five")

	empty, odd := "", tenant.SeedTable{Name: `odd "table; DROP TABLE accounts; --`, Key: []string{`a "key"`}}
	odd.Rows = []tenant.Row{cells(`a "key"`, "k", "select", empty)}
	f.apply(t, tenant.KeepEdits, odd)
	f.exec(t, `UPDATE "odd ""table; DROP TABLE accounts; --" SET "select" = NULL`)
	require.Len(t, f.read(t).Edited, 1, "null is not the empty text")
}

func seedCanonical(t *testing.T, f SeedFixture) {
	place := f.with(t)
	rows := accounts(cells("code", "0001", "name", "007", "rate", "00.5000", "active", "TRUE"))
	f.apply(t, tenant.KeepEdits, rows)
	require.Empty(t, f.read(t).Edited, "another form of the same value is no edit")
	require.Equal(t, "007", f.value(t, "SELECT name FROM accounts WHERE code = 1"), "a text stays as it is")
	require.Equal(t, "1", f.value(t, "SELECT count(*) FROM accounts WHERE rate = 0.5 AND active"))
	before := f.Print(t, "acme", place)
	f.apply(t, tenant.KeepEdits, rows)
	require.Equal(t, before, f.Print(t, "acme", place))
	f.exec(t, "UPDATE accounts SET rate = 0.50, active = true")
	require.Empty(t, f.read(t).Edited)

	f.exec(t, "INSERT INTO entries (id, account) VALUES (1, 1)")
	seed := f.apply(
		t,
		tenant.KeepEdits,
		accounts(cells("code", "1", "name", "007", "rate", ".5", "active", "true")),
	)
	require.Empty(t, seed.Edited)
	require.Empty(t, seed.Kept, "another form of the same key is the same row")
	require.Equal(t, "1", f.value(t, "SELECT count(*) FROM accounts"))

	twice := f.seed(
		t,
		tenant.KeepEdits,
		accounts(cells("code", "1", "name", "a"), cells("code", "01", "name", "b")),
	)
	f.fails(t, tenant.CodeSeedInvalid, twice, "code=1", "code=01")
}

func seedComposite(t *testing.T, f SeedFixture) {
	f.with(t)
	prices := func(rows ...tenant.Row) tenant.SeedTable {
		return tenant.SeedTable{Name: "prices", Key: []string{"currency", "since"}, Rows: rows}
	}
	one, two := cells(
		"currency",
		"EUR",
		"since",
		"2026-01-01",
		"amount",
		"1",
	), cells(
		"currency",
		"EUR",
		"since",
		"2026-02-01",
		"amount",
		"2",
	)
	three := cells("currency", "USD", "since", "2026-01-01", "amount", "3")
	f.apply(t, tenant.KeepEdits, prices(one, two, three))
	f.exec(t, "UPDATE prices SET amount = 9 WHERE currency = 'EUR' AND since = '2026-02-01'")
	seed := f.apply(t, tenant.KeepEdits, prices(one, two))
	require.Equal(t, []string{"prices[currency=EUR,since=2026-02-01]: amount"}, texts(seed.Edited))
	require.Equal(t, "2", f.value(t, "SELECT count(*) FROM prices"))
	f.exec(t, "UPDATE prices SET since = '2027' WHERE since = '2026-01-01'")
	require.Equal(t, []string{
		"prices[currency=EUR,since=2026-01-01]: deleted", "prices[currency=EUR,since=2026-02-01]: amount",
	}, texts(f.read(t).Edited), "a row with another key is not the seed's")
	f.fails(
		t,
		tenant.CodeSeedInvalid,
		f.seed(t, tenant.KeepEdits, prices(one, two, one)),
		"currency=EUR,since=2026-01-01",
	)
}

func seedHostile(t *testing.T, f SeedFixture) {
	f.with(t)
	const name, key, other = `odd "table; DROP TABLE accounts; --`, `a "key"`, `Ünï'code`
	values := []string{
		`'); DROP TABLE accounts; --`,
		`"`,
		`''`,
		`\x00`,
		`\`,
		"line\nfeed\ttab",
		"$1",
		"?",
		":x",
		"é",
		"e\u0301",
		"😀",
		"null",
		"NULL ",
		" ",
		"true",
		"1e3",
		"<&>\u2028",
		"[1]",
		`{"a":1}`,
	}
	table := tenant.SeedTable{Name: name, Key: []string{key}}
	for _, value := range values {
		table.Rows = append(table.Rows, cells(key, value, "select", value, other, value))
	}
	require.Empty(t, f.apply(t, tenant.KeepEdits, table).Edited)
	require.Empty(t, f.apply(t, tenant.KeepEdits, table).Edited)
	require.Equal(t, "20", f.value(t, `SELECT count(*) FROM "odd ""table; DROP TABLE accounts; --"
		WHERE "a ""key""" = "select" AND "select" = "Ünï'code"`))
	require.Equal(t, "0", f.value(t, "SELECT count(*) FROM accounts"))
	f.exec(t, `UPDATE "odd ""table; DROP TABLE accounts; --" SET "Ünï'code" = 'x' WHERE "a ""key""" = '"'`)
	edited := f.read(t).Edited
	require.Len(t, edited, 1)
	require.Equal(t, tenant.RowEdit{Table: name, Key: key + `="`, Columns: []string{other}}, edited[0])
	require.Empty(t, f.apply(t, tenant.RestoreEdits, table).Edited)
	table.Rows = nil
	require.Empty(t, f.apply(t, tenant.KeepEdits, table).Kept)
	require.Equal(t, "0", f.value(t, `SELECT count(*) FROM "odd ""table; DROP TABLE accounts; --"`))
}

func seedInvalid(t *testing.T, f SeedFixture) {
	f.with(t)
	f.apply(t, tenant.KeepEdits, accounts(bank()))
	table := func(name string, key []string, rows ...tenant.Row) tenant.SeedTable {
		return tenant.SeedTable{Name: name, Key: key, Rows: rows}
	}
	code := []string{"code"}
	cases := map[string]struct {
		tables []tenant.SeedTable
		parts  []string
	}{
		"unknown table": {
			[]tenant.SeedTable{accounts(cash("x")), table("acounts", code, cells("code", "1"))},
			[]string{`"acounts"`},
		},
		"another case": {
			[]tenant.SeedTable{table("Accounts", code, cells("code", "1"))},
			[]string{`"Accounts"`},
		},
		"unknown column": {
			[]tenant.SeedTable{accounts(cells("code", "1", "nickname", "x"))},
			[]string{"accounts", `"nickname"`},
		},
		"unknown key column": {
			[]tenant.SeedTable{table("accounts", []string{"cod"}, cells("cod", "1"))},
			[]string{"accounts", `"cod"`},
		},
		"no key": {
			[]tenant.SeedTable{table("accounts", nil, cells("code", "1"))},
			[]string{"accounts", "key"},
		},
		"key column twice": {
			[]tenant.SeedTable{table("accounts", []string{"code", "code"})},
			[]string{"accounts"},
		},
		"key missing": {
			[]tenant.SeedTable{accounts(cells("code", "1", "name", "x"), cells("name", "y"))},
			[]string{"row 2", `"code"`},
		},
		"key null": {
			[]tenant.SeedTable{accounts(cells("code", "NULL", "name", "y"))},
			[]string{"row 1", `"code"`},
		},
		"duplicate key": {
			[]tenant.SeedTable{accounts(cells("code", "1", "name", "x"), cells("code", "1", "name", "y"))},
			[]string{"row 2", "code=1"},
		},
		"table twice": {
			[]tenant.SeedTable{accounts(bank()), accounts(cash("x"))},
			[]string{"accounts"},
		},
		"NUL": {
			[]tenant.SeedTable{accounts(cells("code", "1", "name", "a\x00b"))},
			[]string{"row 1", `"name"`},
		},
		"no UTF-8": {
			[]tenant.SeedTable{accounts(cells("code", "1", "name", "a\xff"))},
			[]string{"row 1", `"name"`},
		},
		"our own table": {
			[]tenant.SeedTable{table("tenantry_migrations", []string{"version"})},
			[]string{"tenantry_migrations"},
		},
		"goose's table": {
			[]tenant.SeedTable{table("goose_db_version", []string{"id"})},
			[]string{"goose_db_version"},
		},
		"a table of the tool": {[]tenant.SeedTable{table("", code)}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f.fails(t, tenant.CodeSeedInvalid, f.seed(t, tenant.KeepEdits, c.tables...), c.parts...)
		})
	}
	spec := f.seed(t, "sometimes", accounts(bank()))
	f.fails(t, tenant.CodeInvalidConfig, spec, "sometimes")
}

func seedBadRow(t *testing.T, f SeedFixture) {
	f.with(t)
	f.apply(t, tenant.KeepEdits, accounts(cash("Cash")))
	prices := tenant.SeedTable{Name: "prices", Key: []string{"currency", "since"}}
	prices.Rows = []tenant.Row{
		cells(
			"currency",
			"EUR",
			"since",
			"a",
			"amount",
			"1",
		),
		cells("currency", "EUR", "since", "b", "amount", "-1"),
	}
	spec := f.seed(t, tenant.KeepEdits, accounts(bank(), cash("Cash, new")), prices)
	f.fails(t, tenant.CodeSeedFailed, spec, "prices[currency=EUR,since=b]")
	require.Equal(t, "Cash", f.value(t, "SELECT name FROM accounts"))
	spec.Tables = []tenant.SeedTable{accounts(bank(), cells("code", "1", "name", "x", "parent", "77"))}
	f.fails(t, tenant.CodeSeedFailed, spec, "acme")
	spec.Tables = []tenant.SeedTable{accounts(bank(), cells("code", "1", "name", "NULL"))}
	f.fails(t, tenant.CodeSeedFailed, spec, "accounts[code=1]")
	spec.Tables = []tenant.SeedTable{accounts(bank(), cells("code", "no number", "name", "x"))}
	f.fails(t, tenant.CodeSeedFailed, spec, "accounts")

	_, err := f.Seeds.Apply(t.Context(), f.seed(t, tenant.KeepEdits, accounts(cash("Cash"))), &Journal{})
	require.NoError(t, err, "after the failures it works")
}

func (f SeedFixture) migrate(t *testing.T, statements string) {
	t.Helper()
	f.ensure(t, f.spec(t, "acme", withFile(f.ledger(), "00002_more.sql", statements)))
}

func seedDroppedTable(t *testing.T, f SeedFixture) {
	f.with(t)
	entries := tenant.SeedTable{Name: "entries", Key: []string{"id"}, Rows: []tenant.Row{cells("id", "1")}}
	f.apply(t, tenant.KeepEdits, accounts(bank()), entries)
	f.migrate(t, "DROP TABLE entries;")
	require.Equal(t, []string{"entries[id=1]: deleted"}, texts(f.read(t).Edited))
	f.fails(t, tenant.CodeSeedInvalid, f.seed(t, tenant.KeepEdits, accounts(bank()), entries), `"entries"`)
	seed := f.apply(t, tenant.KeepEdits, accounts(bank()))
	require.Empty(t, seed.Edited)
	require.Empty(t, seed.Kept)
}

func seedDroppedColumn(t *testing.T, f SeedFixture) {
	f.with(t)
	f.apply(t, tenant.KeepEdits, accounts(cash("Cash")))
	f.migrate(t, "ALTER TABLE accounts DROP COLUMN rate;")
	require.Empty(t, f.read(t).Edited, "a migration is no edit")
	f.fails(t, tenant.CodeSeedInvalid, f.seed(t, tenant.KeepEdits, accounts(cash("Cash"))), `"rate"`)
	seed := f.apply(t, tenant.KeepEdits, accounts(cells("code", "1000", "name", "Cash", "active", "true")))
	require.Empty(t, seed.Edited)
}

func (f SeedFixture) close(t *testing.T) tenant.DatabaseSpec {
	t.Helper()
	spec := f.spec(t, "acme", f.ledger())
	spec.ReadOnly = true
	f.ensure(t, spec)
	return spec
}

func (f SeedFixture) requireClosed(t *testing.T, spec tenant.DatabaseSpec) {
	t.Helper()
	database, err := f.Databases.Read(t.Context(), "acme", spec.Place)
	require.NoError(t, err)
	require.True(t, database.ReadOnly)
	require.Error(t, f.Exec(t, "acme", spec.Place, "DELETE FROM accounts"))
}

func seedReadOnly(t *testing.T, f SeedFixture) {
	f.with(t)
	spec := f.close(t)
	f.apply(t, tenant.KeepEdits, accounts(cash("Cash")))
	f.requireClosed(t, spec)
	require.Equal(t, "1", f.value(t, "SELECT count(*) FROM accounts"), "we may still seed")
	require.Empty(t, f.read(t).Edited)
	require.NoError(t, f.Seeds.Delete(t.Context(), "acme", spec.Place, &Journal{}))
	f.requireClosed(t, spec)
}

func seedDelete(t *testing.T, f SeedFixture) {
	place := f.with(t)
	f.apply(t, tenant.KeepEdits, accounts(cash("Cash")))
	journal := &Journal{}
	require.NoError(t, f.Seeds.Delete(t.Context(), "acme", place, journal))
	require.Equal(t, []string{"removed " + f.seedObject(t).String()}, journal.Events)
	_, err := f.Seeds.Read(t.Context(), "acme", place)
	require.ErrorIs(t, err, tenant.ErrAbsent)
	require.Equal(t, "1", f.value(t, "SELECT count(*) FROM accounts"), "the rows are the tenant's")
	require.NoError(t, f.SeedsAgain.Delete(t.Context(), "acme", place, journal), "a second time")
}

func seedTwoAtOnce(t *testing.T, f SeedFixture) {
	f.with(t)
	spec := f.seed(t, tenant.KeepEdits, accounts(cash("Cash"), bank()))
	backends, journals := []tenant.Seeds{f.Seeds, f.SeedsAgain}, []*Journal{{}, {}, {}, {}}
	made := 0
	for n, err := range databaseRace(len(journals), func(n int) error {
		_, err := backends[n%2].Apply(t.Context(), spec, journals[n])
		return err
	}) {
		if err != nil {
			require.Equalf(t, tenant.Retryable, tenant.FailureOf(err).Class, "%v", err)
			continue
		}
		journals[n].RequireSound(t)
		made += len(journals[n].Made())
	}
	require.Equal(t, 1, made)
	require.Equal(t, "2", f.value(t, "SELECT count(*) FROM accounts"))
	require.Empty(t, f.read(t).Edited)
}

type seedWork = func(context.Context, tenant.Seeds) error

func (f SeedFixture) cut(t *testing.T, journal *Journal, tables ...tenant.SeedTable) seedWork {
	t.Helper()
	spec := f.seed(t, tenant.KeepEdits, tables...)
	return func(ctx context.Context, seeds tenant.Seeds) error {
		_, err := seeds.Apply(ctx, spec, journal)
		return err
	}
}

func seedCutCreate(t *testing.T, f SeedFixture) (seedWork, func(*testing.T)) {
	journal := &Journal{}
	return f.cut(t, journal, accounts(cash("Cash"), bank())), func(t *testing.T) {
		t.Helper()
		journal.RequireSound(t)
		require.Contains(t, journal.Made(), f.seedObject(t))
		require.Empty(t, f.read(t).Edited)
		require.Equal(t, "2", f.value(t, "SELECT count(*) FROM accounts"))
	}
}

func seedCutUpdate(t *testing.T, f SeedFixture) (seedWork, func(*testing.T)) {
	f.apply(t, tenant.KeepEdits, accounts(cash("Cash"), bank()))
	return f.cut(
			t,
			&Journal{},
			accounts(cash("Cash, new"), cells("code", "3", "name", "Bank")),
		), func(t *testing.T) {
			t.Helper()
			require.Empty(t, f.read(t).Edited)
			require.Empty(t, f.read(t).Kept)
			require.Equal(t, "Cash, new", f.value(t, "SELECT name FROM accounts WHERE code = 1000"))
			require.Equal(t, "2", f.value(t, "SELECT count(*) FROM accounts"))
		}
}

func seedCutDelete(t *testing.T, f SeedFixture) (seedWork, func(*testing.T)) {
	f.apply(t, tenant.KeepEdits, accounts(cash("Cash")))
	journal, place := &Journal{}, f.place(t, "acme")
	return func(ctx context.Context, seeds tenant.Seeds) error {
			return seeds.Delete(ctx, "acme", place, journal)
		}, func(t *testing.T) {
			t.Helper()
			_, err := f.Seeds.Read(t.Context(), "acme", place)
			require.ErrorIs(t, err, tenant.ErrAbsent)
			require.Contains(t, journal.Events, "removed "+f.seedObject(t).String())
		}
}

// seedCutReadOnly: a kill may leave the database open for writing, which its next Ensure sees and mends.
func seedCutReadOnly(t *testing.T, f SeedFixture) (seedWork, func(*testing.T)) {
	spec := f.close(t)
	return f.cut(t, &Journal{}, accounts(cash("Cash"))), func(t *testing.T) {
		t.Helper()
		require.Equal(t, "1", f.value(t, "SELECT count(*) FROM accounts"))
		f.ensure(t, spec)
		f.requireClosed(t, spec)
	}
}
