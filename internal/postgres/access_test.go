package postgres_test

import (
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

// TestApplicationRole does as the application what it may, and tries what it may not.
func TestApplicationRole(t *testing.T) {
	t.Parallel()
	forAll(t, all(), func(t *testing.T, x *tenants) {
		x.ensure(t, x.spec(t, "acme"))
		x.ensure(t, x.spec(t, "globex"))
		acme, globex := x.as(t, "acme"), x.as(t, "globex")
		for _, statement := range []string{
			"INSERT INTO notes (body) VALUES ('mine')", "UPDATE notes SET body = 'still mine'",
			"INSERT INTO lines (id, note) SELECT 1, id FROM notes", "DELETE FROM lines",
		} {
			_, err := acme.Exec(t.Context(), statement)
			require.NoError(t, err, statement)
		}
		var count int
		require.NoError(t, globex.QueryRow(t.Context(), "SELECT count(*) FROM notes").Scan(&count))
		require.Zero(t, count, "the other tenant sees nothing of it")

		spec := x.spec(t, "acme")
		for _, statement := range []string{
			"CREATE TABLE mine (id INTEGER)", "ALTER TABLE notes ADD COLUMN x INTEGER", "DROP TABLE lines", "TRUNCATE notes",
			"CREATE SCHEMA mine", "CREATE TEMP TABLE passing (id INTEGER)", "CREATE ROLE mine",
			"SELECT * FROM goose_db_version", "UPDATE tenantry_migrations SET sha256 = ''", "DELETE FROM tenantry_seed",
			"SELECT * FROM tenantry_schema", "COMMENT ON TABLE notes IS 'mine'",
			"CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
			"COMMENT ON ROLE " + quoted(x.read(t, spec).User) + " IS 'mine'",
			"SET ROLE tenant_admin", "SET SESSION AUTHORIZATION tenant_admin",
		} {
			if x.isolation != tenant.IsolationDatabase &&
				statement == "CREATE TEMP TABLE passing (id INTEGER)" {
				continue // the shared database is the operator's, and so is who may have temporary tables in it
			}
			_, err := globex.Exec(t.Context(), statement)
			require.Error(t, err, statement)
		}
		x.tryNeighbour(t, globex)
	})
}

// tryNeighbour has globex reach for what is acme's.
func (x *tenants) tryNeighbour(t *testing.T, globex *pgx.Conn) {
	t.Helper()
	acme := x.spec(t, "acme")
	switch x.isolation {
	case tenant.IsolationDatabase:
		database := x.read(t, x.spec(t, "globex"))
		secret, err := tenanttest.KeyringOf(t, x.ours).
			Derive(database.Password.Ref("globex", tenant.DatabasePassword))
		require.NoError(t, err)
		_, err = pgx.Connect(
			t.Context(),
			at(t, x.url, acme.Place.Name, url.UserPassword(database.User, secret.Reveal())),
		)
		require.ErrorContains(t, err, "42501")
	case tenant.IsolationSchema:
		for _, statement := range []string{
			"SELECT * FROM %s.notes", "INSERT INTO %s.notes (body) VALUES ('theirs')", "CREATE TABLE %s.theirs (id INTEGER)",
		} {
			_, err := globex.Exec(t.Context(), replaceSchema(statement, acme.Place.Name))
			require.ErrorContains(t, err, "42501", statement)
		}
		var listed int
		require.NoError(
			t,
			globex.QueryRow(t.Context(), "SELECT count(*) FROM information_schema.tables WHERE table_schema = $1",
				acme.Place.Name).
				Scan(&listed),
		)
		require.Zero(t, listed)
	case tenant.IsolationRow:
		_, err := globex.Exec(t.Context(), "INSERT INTO notes (tenant_id, body) VALUES ('acme', 'theirs')")
		require.ErrorContains(t, err, "42501")
		tag, err := globex.Exec(
			t.Context(),
			"UPDATE notes SET tenant_id = tenant_id WHERE tenant_id = 'acme'",
		)
		require.NoError(t, err)
		require.Zero(t, tag.RowsAffected())
		for _, statement := range []string{
			"SELECT * FROM tenantry_tenants", "SELECT * FROM tenantry_logins", "INSERT INTO tenantry_logins VALUES (session_user, 'acme')",
			"SET row_security = off; SELECT * FROM notes",
		} {
			_, err := globex.Exec(t.Context(), statement)
			require.Error(t, err, statement)
		}
	}
}

// TestResetRole has a trigger in the tenant's own table do what it likes while we seed: it finds itself to be the tenant's
// owner, whatever it resets, and can neither make roles nor change another tenant's.
func TestResetRole(t *testing.T) {
	t.Parallel()
	everywhere(t, separate(), func(t *testing.T, makeWorld func(*testing.T) *world) {
		w := makeWorld(t)
		files := w.product()
		files["00003_trigger.sql"] = `-- +goose Up
CREATE TABLE seen (who TEXT, how TEXT);
-- +goose StatementBegin
CREATE FUNCTION spy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	RESET ROLE; RESET SESSION AUTHORIZATION;
	BEGIN EXECUTE 'CREATE ROLE stolen'; INSERT INTO seen VALUES (current_user, 'created'); EXCEPTION WHEN insufficient_privilege THEN
		INSERT INTO seen VALUES (current_user, 'refused'); END;
	BEGIN EXECUTE 'ALTER ROLE tenant_admin PASSWORD ''x'''; INSERT INTO seen VALUES (current_user, 'changed');
		EXCEPTION WHEN insufficient_privilege THEN NULL; END;
	RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER spy BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION spy();
`
		x := newTenants(t, w, files)
		spec := x.spec(t, "acme")
		x.ensure(t, spec)
		id, body := "1", "seeded"
		_, err := x.pool.Seeds().Apply(t.Context(), tenant.SeedSpec{
			Tenant: "acme",
			Place:  spec.Place,
			OnEdit: tenant.KeepEdits,
			Tables: []tenant.SeedTable{
				{Name: "notes", Key: []string{"id"}, Rows: []tenant.Row{{"id": &id, "body": &body}}},
			},
		}, &tenanttest.Journal{})
		require.NoError(t, err)
		rows, err := x.as(t, "acme").Query(t.Context(), "SELECT DISTINCT who || ' ' || how FROM seen")
		require.NoError(t, err)
		seen, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		require.Equal(t, []string{spec.Place.Name + "_owner refused"}, seen)
	})
}

// TestRewrittenComment puts another tenant's mark, and nonsense, where ours was.
func TestRewrittenComment(t *testing.T) {
	t.Parallel()
	forAll(t, separate(), func(t *testing.T, x *tenants) {
		acme, globex := x.spec(t, "acme"), x.spec(t, "globex")
		want := x.ensure(t, acme)
		x.ensure(t, globex)
		of := func(spec tenant.DatabaseSpec) string { return x.containers(t)[spec.Place.Name] }
		kind, database := "DATABASE", "postgres"
		if x.isolation == tenant.IsolationSchema {
			kind, database = "SCHEMA", x.shared[x.ours]
		}
		for _, text := range []string{of(globex), "nonsense", "tenantry1:" + x.ours + ":globex:k1:AAAA"} {
			x.rootExec(t, database, "COMMENT ON "+kind+" "+quoted(acme.Place.Name)+" IS '"+text+"'")
			stolen := globex
			stolen.Place = acme.Place
			_, err := x.pool.Ensure(t.Context(), stolen, &tenanttest.Journal{})
			wantCode(t, err, tenant.CodeForeign)
			stolen.Claim = true
			_, err = x.pool.Ensure(t.Context(), stolen, &tenanttest.Journal{})
			wantCode(t, err, tenant.CodeForeign)
			require.Len(t, x.read(t, acme).Drift, 1)
			require.Equal(t, want, x.ensure(t, acme), "it is ours all the same, and repaired")
		}
		// A rewritten role is nobody's any more.
		x.rootExec(t, "postgres", "COMMENT ON ROLE "+quoted(acme.Place.Name+"_owner")+" IS '"+of(globex)+"'")
		_, err := x.pool.Ensure(t.Context(), acme, &tenanttest.Journal{})
		wantCode(t, err, tenant.CodeForeign, acme.Place.Name)
		err = x.pool.Delete(
			t.Context(),
			"acme",
			acme.Place,
			tenant.Disposal{How: tenant.Drop},
			&tenanttest.Journal{},
		)
		wantCode(t, err, tenant.CodeForeign)
	})
}

// TestPasswordRotation has the password before the last rotation work until the next one.
func TestPasswordRotation(t *testing.T) {
	t.Parallel()
	forAll(t, all(), func(t *testing.T, x *tenants) {
		spec := x.spec(t, "acme")
		versions := []tenant.Database{x.ensure(t, spec)}
		for _, version := range []int64{2, 5, 6} {
			spec.PasswordVersion = version
			now := x.ensure(t, spec)
			before := versions[len(versions)-1]
			require.Equal(t, version, now.Password.Version)
			require.NotEqual(t, before.Password.Fingerprint, now.Password.Fingerprint)
			require.NotEqual(t, before.User, now.User)
			for _, works := range []tenant.Database{before, now} {
				conn, err := x.applicationOf(t, x.ours, "acme", works)
				require.NoError(t, err)
				_, err = conn.Exec(t.Context(), "INSERT INTO notes (body) VALUES ('x')")
				require.NoError(t, err)
				hangUp(t, conn)
			}
			if len(versions) > 1 {
				_, err := x.applicationOf(t, x.ours, "acme", versions[len(versions)-2])
				require.ErrorContains(t, err, "28P01")
			}
			versions = append(versions, now)
		}
		spec.PasswordVersion = 3
		require.Equal(t, versions[3], x.ensure(t, spec), "a lower version rotates nothing")
	})
}

// TestReadOnlyOpenSession closes a database to writes that a session has open.
func TestReadOnlyOpenSession(t *testing.T) {
	t.Parallel()
	forAll(t, all(), func(t *testing.T, x *tenants) {
		spec := x.spec(t, "acme")
		x.ensure(t, spec)
		session := x.as(t, "acme")
		write := func() error {
			_, err := session.Exec(t.Context(), "INSERT INTO notes (body) VALUES ('x')")
			return err
		}
		require.NoError(t, write())
		spec.ReadOnly = true
		require.True(t, x.ensure(t, spec).ReadOnly)
		require.ErrorContains(t, write(), "42501")
		_, err := session.Exec(t.Context(), "SELECT nextval('notes_id_seq')")
		require.ErrorContains(t, err, "42501")
		var count int
		require.NoError(t, session.QueryRow(t.Context(), "SELECT count(*) FROM notes").Scan(&count))
		require.Equal(t, 1, count)
		spec.ReadOnly = false
		x.ensure(t, spec)
		require.NoError(t, write())
	})
}
