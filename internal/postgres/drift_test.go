package postgres_test

import (
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

// drift is a change behind our back. Its statements run as the superuser in the tenant's database; {NAME} is the name of the
// tenant's database or schema, {HOME} the schema, {BASE} what its roles are named by.
type drift struct {
	statements []string
	says       string
	lossy      bool // Ensure leaves it, and says why
	more       int  // differences beside it
	unseen     bool // what is inside can't be seen until it is repaired, or not at all, if that would lose something
}

func drifts(isolation tenant.Isolation) map[string]drift {
	out := map[string]drift{
		"a missing group": {
			[]string{"DROP OWNED BY {BASE}_app", "DROP ROLE {BASE}_app"},
			"role {BASE}_app is missing",
			false,
			-1,
			false,
		},
		"a missing log-in": {
			[]string{"DROP ROLE {BASE}_app_a"},
			"role {BASE}_app_a is missing",
			false,
			0,
			false,
		},
		"a changed password": {
			[]string{"ALTER ROLE {BASE}_app_a PASSWORD 'other'"},
			"the password of role {BASE}_app_a was changed",
			false,
			0,
			false,
		},
		"a changed owner's": {
			[]string{"ALTER ROLE {BASE}_owner PASSWORD 'other'"},
			"the password of role {BASE}_owner was changed",
			false,
			0,
			true,
		},
		"an expired password": {
			[]string{"ALTER ROLE {BASE}_app_a VALID UNTIL 'yesterday'"},
			"role {BASE}_app_a has a password that expires",
			false,
			1,
			false,
		},
		"a role that can't log in": {
			[]string{"ALTER ROLE {BASE}_app_a NOLOGIN"},
			"role {BASE}_app_a can't log in",
			false,
			0,
			false,
		},
		"an owner that can't": {
			[]string{"ALTER ROLE {BASE}_owner NOLOGIN"},
			"role {BASE}_owner can't log in",
			false,
			0,
			true,
		},
		"a role that creates": {
			[]string{"ALTER ROLE {BASE}_app_a CREATEROLE"},
			"role {BASE}_app_a may create roles or databases",
			false,
			0,
			false,
		},
		"a superuser": {
			[]string{"ALTER ROLE {BASE}_app SUPERUSER"},
			"role {BASE}_app is a superuser",
			true,
			0,
			false,
		},
		"a limit of connections": {
			[]string{"ALTER ROLE {BASE}_app_a CONNECTION LIMIT 3"},
			"role {BASE}_app_a has a connection limit of 3",
			false,
			0,
			false,
		},
		"a lost membership": {
			[]string{"REVOKE {BASE}_app FROM {BASE}_app_a GRANTED BY tenant_admin"},
			"role {BASE}_app_a is no member of {BASE}_app",
			false,
			0,
			false,
		},
		"a membership too many": {
			[]string{"GRANT pg_read_all_data TO {BASE}_app_a"},
			"role {BASE}_app_a is a member of pg_read_all_data",
			true,
			0,
			false,
		},
		"a lost privilege": {
			[]string{"REVOKE UPDATE ON {HOME}.notes FROM {BASE}_app"},
			"role {BASE}_app has [DELETE, INSERT, SELECT] on relation notes",
			false,
			0,
			false,
		},
		"a privilege too many": {
			[]string{"GRANT TRUNCATE ON {HOME}.notes TO {BASE}_app"},
			"TRUNCATE",
			false,
			0,
			false,
		},
		"our tables": {
			[]string{"GRANT SELECT ON {HOME}.tenantry_seed TO {BASE}_app"},
			"role {BASE}_app has [SELECT] on relation tenantry_seed",
			false,
			0,
			false,
		},
		"lost default privileges": {
			[]string{
				"ALTER DEFAULT PRIVILEGES FOR ROLE {BASE}_owner REVOKE INSERT ON TABLES FROM {BASE}_app",
			},
			"on later relations",
			false,
			0,
			false,
		},
		"a lost schema": {
			[]string{"REVOKE USAGE ON SCHEMA {HOME} FROM {BASE}_app"},
			"on schema",
			false,
			0,
			false,
		},
		"another's privilege": {
			[]string{"GRANT SELECT ON {HOME}.notes TO tenant_admin"},
			"relation notes was changed",
			true,
			0,
			false,
		},
		"a table's owner": {
			[]string{"ALTER TABLE {HOME}.lines OWNER TO tenant_admin"},
			"owner of table {HOME}.lines is tenant_admin",
			false,
			0,
			false,
		},
		"a superuser's table": {
			[]string{"ALTER TABLE {HOME}.lines OWNER TO postgres"},
			"owner of table {HOME}.lines is postgres",
			true,
			0,
			false,
		},
		"an added column": {
			[]string{"ALTER TABLE {HOME}.notes ADD COLUMN x INTEGER"},
			"column notes.x was added",
			true,
			0,
			false,
		},
		"a dropped column": {
			[]string{"ALTER TABLE {HOME}.notes DROP COLUMN body"},
			"column notes.body is gone",
			true,
			0,
			false,
		},
		"a changed type": {
			[]string{"ALTER TABLE {HOME}.notes ALTER COLUMN body TYPE varchar(9)"},
			"column notes.body was changed",
			true,
			0,
			false,
		},
		"a dropped constraint": {
			[]string{"ALTER TABLE {HOME}.lines DROP CONSTRAINT lines_note_fkey"},
			"constraint lines.lines_note_fkey is gone",
			true,
			0,
			false,
		},
		"an added index": {
			[]string{"CREATE INDEX extra ON {HOME}.notes (body)"},
			"index notes.extra was added",
			true,
			0,
			false,
		},
		"an added trigger": {
			[]string{
				"CREATE TRIGGER extra BEFORE INSERT ON {HOME}.notes FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
			},
			"trigger notes.extra was added",
			true,
			0,
			false,
		},
		"a policy": {
			[]string{"CREATE POLICY extra ON {HOME}.notes USING (true)"},
			"policy notes.extra was added",
			true,
			0,
			false,
		},
		"row security": {
			[]string{"ALTER TABLE {HOME}.notes ENABLE ROW LEVEL SECURITY"},
			"relation notes was changed",
			true,
			0,
			false,
		},
		"an added view": {
			[]string{
				"CREATE VIEW {HOME}.extra AS SELECT 1 AS one",
				"ALTER VIEW {HOME}.extra OWNER TO {BASE}_owner",
			},
			"view extra was added",
			true,
			-1,
			false,
		},
		"a routine": {
			[]string{
				"CREATE FUNCTION {HOME}.extra() RETURNS int LANGUAGE sql AS 'SELECT 1'",
				"ALTER FUNCTION {HOME}.extra() OWNER TO {BASE}_owner",
			},
			"routine extra() was added",
			true,
			0,
			false,
		},
		"a type": {
			[]string{"CREATE TYPE {HOME}.extra AS ENUM ('a')"},
			"type extra was added",
			true,
			0,
			false,
		},
	}
	if isolation == tenant.IsolationSchema {
		out["the schema's owner"] = drift{
			[]string{"ALTER SCHEMA {HOME} OWNER TO tenant_admin"},
			"owner of schema {NAME} is tenant_admin",
			false,
			-1,
			true,
		}
		out["a search_path"] = drift{
			[]string{"ALTER ROLE {BASE}_app_a SET search_path = public"},
			"role {BASE}_app_a has other settings",
			false,
			0,
			false,
		}
		return out
	}
	maps.Copy(out, map[string]drift{
		"everybody connects": {
			[]string{"GRANT CONNECT ON DATABASE {NAME} TO PUBLIC"},
			"everybody has [CONNECT] on database {NAME}",
			false,
			0,
			false,
		},
		"nobody connects": {
			[]string{"REVOKE CONNECT ON DATABASE {NAME} FROM {BASE}_app"},
			"role {BASE}_app has [] on database {NAME}",
			false,
			0,
			false,
		},
		"temporary tables": {
			[]string{"GRANT TEMP ON DATABASE {NAME} TO {BASE}_app"},
			"role {BASE}_app has [CONNECT TEMPORARY] on database {NAME}",
			false,
			0,
			false,
		},
		"the database's owner": {
			[]string{"ALTER DATABASE {NAME} OWNER TO tenant_admin"},
			"owner of database {NAME} is tenant_admin",
			false,
			-1,
			true,
		},
		"a superuser's database": {
			[]string{"ALTER DATABASE {NAME} OWNER TO postgres"},
			"owner of database {NAME} is postgres",
			true,
			-1,
			true,
		},
		"a limit of the database": {
			[]string{"ALTER DATABASE {NAME} CONNECTION LIMIT 7"},
			"database {NAME} has a connection limit of 7",
			false,
			0,
			false,
		},
		"a closed database": {
			[]string{"ALTER DATABASE {NAME} ALLOW_CONNECTIONS false"},
			"database {NAME} allows no connections",
			false,
			0,
			true,
		},
		"a schema too many": {
			[]string{"CREATE SCHEMA extra AUTHORIZATION {BASE}_owner"},
			"schema extra was added",
			true,
			-1,
			false,
		},
		"a database without marks": {
			[]string{"COMMENT ON DATABASE {NAME} IS NULL"},
			"comment of database {NAME} is not our mark",
			false,
			0,
			false,
		},
	})
	return out
}

func TestDrift(t *testing.T) {
	t.Parallel()
	forAll(t, separate(), func(t *testing.T, x *tenants) {
		n := 0
		for name, d := range drifts(x.isolation) {
			n++
			// Before PostgreSQL 16 whoever may create roles may end any membership.
			d.lossy = d.lossy && (name != "a membership too many" || x.name != "15")
			id := tenant.ID("t" + strconv.Itoa(n))
			t.Run(
				name,
				func(t *testing.T) { x.drift(t, id, d) },
			)
		}
	})
}

func (x *tenants) drift(t *testing.T, id tenant.ID, d drift) {
	t.Helper()
	spec := x.spec(t, id)
	want := x.ensure(t, spec)
	require.Empty(t, want.Drift)
	home, database := "public", spec.Place.Name
	if x.isolation == tenant.IsolationSchema {
		home, database = quoted(spec.Place.Name), x.shared[x.ours]
	}
	for _, statement := range d.statements {
		if strings.HasPrefix(statement, "ALTER DATABASE") {
			database = "postgres"
		}
		x.rootExec(
			t,
			database,
			strings.NewReplacer("{NAME}", quoted(spec.Place.Name), "{HOME}", home, "{BASE}", spec.Place.Name).
				Replace(statement),
		)
	}
	says := strings.NewReplacer("{NAME}", spec.Place.Name, "{HOME}", strings.Trim(home, `"`), "{BASE}", spec.Place.Name).
		Replace(d.says)

	seen := x.read(t, spec)
	requireDrift(t, seen.Drift, says, d.lossy)
	if d.more >= 0 {
		require.Len(t, seen.Drift, 1+d.more, "%v", seen.Drift)
	}
	if !d.unseen {
		require.Equal(t, want.Applied, seen.Applied)
	}
	require.Equal(t, seen, x.read(t, spec), "looking changes nothing")

	after, err := x.pool.Ensure(t.Context(), spec, &tenanttest.Journal{})
	if d.lossy && d.unseen {
		wantCode(t, err, tenant.CodeDatabaseDrift, says)
		return
	}
	require.NoError(t, err)
	require.Equal(t, after, x.read(t, spec))
	if d.lossy {
		requireDrift(t, after.Drift, says, true)
		return
	}
	require.Equal(t, want, after, "it is repaired")
	conn := x.as(t, id)
	_, err = conn.Exec(t.Context(), "INSERT INTO notes (body) VALUES ('works again')")
	require.NoError(t, err)
}

func requireDrift(t *testing.T, drift []tenant.Drift, says string, lossy bool) {
	t.Helper()
	for _, one := range drift {
		if strings.Contains(one.What, says) {
			require.Equal(t, lossy, one.Loss != "", "%+v", one)
			return
		}
	}
	t.Fatalf("%q is not among %+v", says, drift)
}

// TestDriftOutlivesMigration changes a schema by hand and then migrates: the change stays named.
func TestDriftOutlivesMigration(t *testing.T) {
	t.Parallel()
	forAll(t, separate(), func(t *testing.T, x *tenants) {
		spec := x.spec(t, "acme")
		x.ensure(t, spec)
		home, database := "public", spec.Place.Name
		if x.isolation == tenant.IsolationSchema {
			home, database = quoted(spec.Place.Name), x.shared[x.ours]
		}
		x.rootExec(t, database, "ALTER TABLE "+home+".notes ADD COLUMN x INTEGER")
		files := x.product()
		files["00003_more.sql"] = "-- +goose Up\nALTER TABLE notes ADD COLUMN y INTEGER;\n"
		spec.Migrations = tenanttest.Migrations(t, files)
		after := x.ensure(t, spec)
		require.Len(t, after.Drift, 1, "%v", after.Drift)
		require.Contains(t, after.Drift[0].What, "column notes.x was added")
		x.rootExec(t, database, "ALTER TABLE "+home+".notes DROP COLUMN x")
		require.Empty(t, x.ensure(t, spec).Drift)
	})
}
