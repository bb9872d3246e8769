package sqlite_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// seeded is a database with tables of SQLite's own making.
type seeded struct {
	world

	at tenant.DatabaseSpec
}

func newSeeded(tb testing.TB, statements string) seeded {
	tb.Helper()
	w := newWorld(tb)
	s := seeded{
		w,
		w.spec(tb, "acme", oneFile("-- +goose StatementBegin\n"+statements+"\n-- +goose StatementEnd")),
	}
	w.ensure(tb, s.at)
	return s
}

func (s seeded) apply(tb testing.TB, onEdit tenant.OnEdit, tables ...tenant.SeedTable) (tenant.Seed, error) {
	tb.Helper()
	return s.pool.Seeds().Apply(tb.Context(), tenant.SeedSpec{
		Tenant: "acme", Place: s.at.Place, Tables: tables, OnEdit: onEdit,
	}, tenant.NoJournal{})
}

func (s seeded) applied(tb testing.TB, tables ...tenant.SeedTable) tenant.Seed {
	tb.Helper()
	out, err := s.apply(tb, tenant.KeepEdits, tables...)
	require.NoError(tb, err)
	seen, err := s.pool.Seeds().Read(tb.Context(), "acme", s.at.Place)
	require.NoError(tb, err)
	require.Equal(tb, out, seen)
	return out
}

func (s seeded) value(tb testing.TB, query string) string {
	tb.Helper()
	return one(tb, s.path(s.at), query)
}

func (s seeded) exec(tb testing.TB, statements string) {
	tb.Helper()
	run(tb, s.path(s.at), statements)
}

func row(pairs ...string) tenant.Row {
	out := tenant.Row{}
	for i := range len(pairs) / 2 {
		out[pairs[2*i]] = &pairs[2*i+1]
	}
	return out
}

func table(name, key string, rows ...tenant.Row) tenant.SeedTable {
	return tenant.SeedTable{Name: name, Key: []string{key}, Rows: rows}
}

func TestSeedTypes(t *testing.T) {
	t.Parallel()
	s := newSeeded(t, `CREATE TABLE a (
		id INTEGER PRIMARY KEY, n INTEGER, r REAL, b BOOLEAN, x BLOB, t TEXT, v, d DATE, big INTEGER)`)
	rows := table(
		"a",
		"id",
		row("id", "1", "n", "007", "r", "1", "b", "FALSE", "x", `\x00ff`, "t", "007", "v", "007",
			"d", "2026-01-01", "big", "9007199254740993"),
	)
	require.Empty(t, s.applied(t, rows).Edited)
	require.Equal(t, "7|1.0|0|X'00FF'|'007'|'007'|'2026-01-01'|9007199254740993", s.value(
		t,
		"SELECT quote(n)||'|'||quote(r)||'|'||quote(b)||'|'||quote(x)||'|'||quote(t)||'|'||quote(v)||'|'||quote(d)||'|'||big FROM a",
	))
	for n, edit := range []string{
		"n = '7x'", "r = 1.5", "b = 1", "x = x'00fe'", "t = 7", "v = 7", "d = NULL", "big = 9007199254740992",
	} {
		s.exec(t, "UPDATE a SET "+edit)
		seed := s.applied(t, rows)
		require.Len(t, seed.Edited, 1, edit)
		require.Len(t, seed.Edited[0].Columns, 1, "edit %d: %s", n, edit)
		_, err := s.apply(t, tenant.RestoreEdits, rows)
		require.NoError(t, err)
		require.Empty(t, s.applied(t, rows).Edited)
	}
	_, err := s.apply(t, tenant.KeepEdits, table("a", "x", row("x", `\x00`)))
	requireCode(t, tenant.CodeSeedInvalid, err)
}

func TestSeedKindsOfTables(t *testing.T) {
	t.Parallel()
	s := newSeeded(t, `
		CREATE TABLE without (a TEXT, b INTEGER, c TEXT, PRIMARY KEY (b, a)) WITHOUT ROWID;
		CREATE TABLE shadowed (rowid TEXT, oid TEXT, code TEXT);
		CREATE TABLE blind (rowid TEXT, oid TEXT, _rowid_ TEXT);
		CREATE TABLE strict (id INTEGER PRIMARY KEY, n INTEGER, t TEXT) STRICT;
		CREATE TABLE nocase (code TEXT COLLATE NOCASE PRIMARY KEY, t TEXT);
		CREATE TABLE computed (id INTEGER PRIMARY KEY, twice INTEGER GENERATED ALWAYS AS (2 * id));
		CREATE VIEW looks AS SELECT * FROM strict`)
	tables := []tenant.SeedTable{
		{Name: "without", Key: []string{"a", "b"}, Rows: []tenant.Row{row("a", "x", "b", "1", "c", "y")}},
		table("shadowed", "code", row("code", "1", "rowid", "x")),
		table("blind", "_rowid_", row("_rowid_", "1", "rowid", "x")),
		table("strict", "id", row("id", "1", "n", "2", "t", "3")),
		table("nocase", "code", row("code", "Abc", "t", "x")),
		table("computed", "id", row("id", "1")),
	}
	require.Empty(t, s.applied(t, tables...).Edited)
	s.exec(
		t,
		"UPDATE without SET c = 'z'; UPDATE shadowed SET rowid = 'z'; UPDATE blind SET rowid = 'z'; UPDATE strict SET t = '4'",
	)
	s.exec(t, "UPDATE nocase SET code = 'ABC'")
	require.Len(t, s.applied(t, tables...).Edited, 5)
	require.Len(t, s.applied(t).Kept, 5, "the edited ones stay")
	require.Equal(t, "0", s.value(t, "SELECT count(*) FROM computed"))

	_, err := s.apply(t, tenant.KeepEdits, table("computed", "id", row("id", "1", "twice", "2")))
	requireCode(t, tenant.CodeSeedInvalid, err)
	require.ErrorContains(t, err, `"twice"`)
	_, err = s.apply(t, tenant.KeepEdits, table("looks", "id", row("id", "1")))
	requireCode(t, tenant.CodeSeedInvalid, err)
	_, err = s.apply(t, tenant.KeepEdits, table("strict", "id", row("id", "1", "n", "two")))
	requireCode(t, tenant.CodeSeedFailed, err)
	require.ErrorContains(t, err, "strict[id=1]")
}

// TestSeedKeyOfManyRows has a key that no index makes unique.
func TestSeedKeyOfManyRows(t *testing.T) {
	t.Parallel()
	s := newSeeded(t, "CREATE TABLE a (code INTEGER, name TEXT)")
	_, err := s.apply(
		t,
		tenant.KeepEdits,
		table("a", "code", row("code", "1", "name", "x"), row("code", "01", "name", "y")),
	)
	requireCode(t, tenant.CodeSeedInvalid, err)
	require.Equal(t, "0", s.value(t, "SELECT count(*) FROM a"))

	rows := table("a", "code", row("code", "1", "name", "x"))
	s.applied(t, rows)
	s.exec(t, "INSERT INTO a VALUES (1, 'another')")
	seen, err := s.pool.Seeds().Read(t.Context(), "acme", s.at.Place)
	require.NoError(t, err)
	require.Len(t, seen.Edited, 1)
	for _, onEdit := range []tenant.OnEdit{tenant.KeepEdits, tenant.RestoreEdits} {
		_, err = s.apply(t, onEdit, rows)
		requireCode(t, tenant.CodeSeedInvalid, err)
		require.ErrorContains(t, err, "code=1")
	}
	require.Len(t, s.applied(t).Kept, 1, "which of the two is the seed's?")
	require.Equal(t, "2", s.value(t, "SELECT count(*) FROM a"))
}

// TestSeedTriggers has triggers of the product, which change what is written, and of a customer, which refuse.
func TestSeedTriggers(t *testing.T) {
	t.Parallel()
	s := newSeeded(t, `
		CREATE TABLE a (id INTEGER PRIMARY KEY, name TEXT, touched INTEGER DEFAULT 0);
		CREATE TABLE b (id INTEGER PRIMARY KEY, a INTEGER);
		CREATE TRIGGER upper AFTER INSERT ON a BEGIN UPDATE a SET name = upper(name) WHERE id = new.id; END;
		CREATE TRIGGER touch AFTER INSERT ON b BEGIN UPDATE a SET touched = touched + 1 WHERE id = new.a; END;`)
	tables := []tenant.SeedTable{
		table(
			"a",
			"id",
			row("id", "1", "name", "x", "touched", "0"),
		),
		table("b", "id", row("id", "1", "a", "1")),
	}
	require.Empty(t, s.applied(t, tables...).Edited, "what the product's triggers do is no edit")
	require.Equal(t, "X1", s.value(t, "SELECT name||touched FROM a"))
	tables[1].Rows = append(tables[1].Rows, row("id", "2", "a", "1"))
	require.Empty(t, s.applied(t, tables...).Edited)
	require.Equal(t, "2", s.value(t, "SELECT touched FROM a"))

	s.exec(t, "CREATE TRIGGER guard BEFORE DELETE ON b BEGIN SELECT RAISE(ABORT, 'no'); END")
	seed := s.applied(t, tables[0])
	require.Len(t, seed.Kept, 2)
	require.Equal(t, "b[id=1]: referenced by a constraint", seed.Kept[0].String())
	s.exec(
		t,
		"DROP TRIGGER guard; CREATE TRIGGER guard BEFORE DELETE ON b BEGIN SELECT RAISE(ROLLBACK, 'no'); END",
	)
	tables[0].Rows = append(tables[0].Rows, row("id", "9", "name", "x"))
	_, err := s.apply(t, tenant.KeepEdits, tables[0])
	requireCode(t, tenant.CodeSeedFailed, err)
	require.Equal(t, "0", s.value(t, "SELECT count(*) FROM a WHERE id = 9"), "all of it or nothing")
	s.exec(t, "DROP TRIGGER guard; CREATE TRIGGER swallow BEFORE INSERT ON a BEGIN SELECT RAISE(IGNORE); END")
	_, err = s.apply(t, tenant.KeepEdits, tables[0])
	requireCode(t, tenant.CodeSeedFailed, err)
	require.ErrorContains(t, err, "a[id=9]")
}

// TestSeedReferences has foreign keys of all shapes.
func TestSeedReferences(t *testing.T) {
	t.Parallel()
	s := newSeeded(t, `
		CREATE TABLE p (a INTEGER, b INTEGER, code TEXT UNIQUE, PRIMARY KEY (a, b));
		CREATE TABLE late (a INTEGER, b INTEGER, FOREIGN KEY (a, b) REFERENCES p DEFERRABLE INITIALLY DEFERRED);
		CREATE TABLE bycode (code TEXT REFERENCES p (code) ON UPDATE CASCADE ON DELETE SET DEFAULT);
		CREATE TABLE "odd ""child" ("c ""ol" TEXT REFERENCES P (CODE))`)
	rows := func(names ...string) tenant.SeedTable {
		out := tenant.SeedTable{Name: "p", Key: []string{"a", "b"}}
		for n, name := range names {
			out.Rows = append(out.Rows, row("a", "1", "b", strconv.Itoa(n), "code", name))
		}
		return out
	}
	s.applied(t, rows("zero", "one", "two", "three"))
	s.exec(
		t,
		`INSERT INTO late VALUES (1, 0); INSERT INTO bycode VALUES ('one'); INSERT INTO "odd ""child" VALUES ('two')`,
	)
	var kept []string
	for _, edit := range s.applied(t, rows()).Kept {
		kept = append(kept, edit.String())
	}
	require.Equal(t, []string{
		"p[a=1,b=0]: referenced by late",
		"p[a=1,b=1]: referenced by bycode",
		`p[a=1,b=2]: referenced by odd "child`,
	}, kept)

	// A deferred key is checked at the commit only; then, too, nothing is written.
	late := tenant.SeedTable{Name: "late", Key: []string{"a"}, Rows: []tenant.Row{row("a", "7", "b", "7")}}
	_, err := s.apply(t, tenant.KeepEdits, late)
	requireCode(t, tenant.CodeSeedFailed, err)
	require.Equal(t, "1", s.value(t, "SELECT count(*) FROM late"))
	require.Len(t, s.applied(t, rows()).Kept, 3, "after the failure it works")
}
