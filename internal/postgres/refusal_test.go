package postgres_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

// refused wants both the plan and the apply to fail.
func (x *tenants) refused(t *testing.T, spec tenant.DatabaseSpec, code tenant.Code, parts ...string) {
	t.Helper()
	_, err := x.pool.PlanDatabase(t.Context(), spec)
	wantCode(t, err, code, parts...)
	journal := &tenanttest.Journal{}
	_, err = x.pool.Ensure(t.Context(), spec, journal)
	wantCode(t, err, code, parts...)
	require.Empty(t, journal.Events)
}

func TestPlan(t *testing.T) {
	t.Parallel()
	forAll(t, all(), func(t *testing.T, x *tenants) {
		acme, globex := x.spec(t, "acme"), x.spec(t, "globex")
		acme.MaxTenants, globex.MaxTenants = 1, 1
		notes, err := x.pool.PlanDatabase(t.Context(), acme)
		require.NoError(t, err)
		require.Empty(t, notes)
		require.Empty(t, x.pick(t, false), "a plan writes nothing")
		x.ensure(t, acme)
		x.refused(t, globex, tenant.CodePoolFull, "1 of 1")
		notes, err = x.pool.PlanDatabase(t.Context(), acme)
		require.NoError(t, err, "what is there needs no place")
		require.Empty(t, notes)

		globex.MaxTenants, globex.Extensions = 0, []string{"dblink"}
		x.refused(t, globex, tenant.CodeInvalidConfig, "dblink")
		globex.Extensions, globex.Claim = nil, true
		x.refused(t, globex, tenant.CodeNotFound)
		// The same tenant in another pool of the server.
		config := x.config(t, x.ours)
		config.Pool = "another-pool"
		another := x.open(t, config)
		if x.isolation == tenant.IsolationRow {
			return // its own roles and tables come first
		}
		got, err := another.Ensure(t.Context(), acme, &tenanttest.Journal{})
		require.NoError(t, err, "what is there is adopted")
		require.Empty(t, got.Drift)
	})
}

// TestPoolOfRows migrates a pool, and refuses one that is behind or keeps its tenants together.
func TestPoolOfRows(t *testing.T) {
	t.Parallel()
	everywhere(
		t,
		[]tenant.Isolation{tenant.IsolationRow},
		func(t *testing.T, makeWorld func(*testing.T) *world) {
			w := makeWorld(t)
			x := &tenants{w, w.backend(t, w.ours), tenanttest.Migrations(t, w.product())}
			spec := x.spec(t, "acme")
			x.refused(t, spec, tenant.CodePoolBehind, "never migrated")
			x.migratePool(t)
			x.ensure(t, spec)

			files := w.product()
			files["00003_open.sql"] = "-- +goose Up\nCREATE TABLE shared_one (id INTEGER);\n" +
				"CREATE TABLE unforced (tenant_id TEXT);\nALTER TABLE unforced ENABLE ROW LEVEL SECURITY;\n" +
				"CREATE POLICY p ON unforced USING (tenant_id = tenantry_tenant());\n" +
				"CREATE TABLE lax (tenant_id TEXT);\nALTER TABLE lax ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;\n" +
				"CREATE POLICY p ON lax USING (tenant_id = current_setting('app.tenant'));\n"
			x.files = tenanttest.Migrations(t, files)
			spec = x.spec(t, "globex")
			x.refused(t, spec, tenant.CodePoolBehind, "00003_open.sql")
			applied, err := x.pool.MigratePool(t.Context(), x.files)
			require.NoError(t, err)
			require.Equal(t, x.files.Files, applied)
			x.refused(
				t,
				spec,
				tenant.CodeInvalidConfig,
				"table shared_one has no column tenant_id",
				"table shared_one has no row-level security",
				"table unforced does not force",
				"table lax has a policy p that does not go by",
			)
			require.Len(t, x.read(t, x.spec(t, "acme")).Drift, 5)

			files["00004_mended.sql"] = "-- +goose Up\nDROP TABLE shared_one;\nDROP TABLE unforced;\nDROP TABLE lax;\n"
			x.files = tenanttest.Migrations(t, files)
			x.migratePool(t)
			x.migratePool(t)
			x.ensure(t, x.spec(t, "globex"))
			require.Empty(t, x.read(t, x.spec(t, "acme")).Drift)

			edited := x.product()
			edited["00002_lines.sql"] += "-- edited\n"
			spec.Migrations = tenanttest.Migrations(t, edited)
			x.refused(t, spec, tenant.CodeMigrationEdited, "00002_lines.sql")
			_, err = x.pool.MigratePool(t.Context(), spec.Migrations)
			wantCode(t, err, tenant.CodeMigrationEdited)
			err = x.delete(t, spec, tenant.Disposal{How: tenant.Archive})
			wantCode(t, err, tenant.CodeInvalidConfig, "share")
			wantCode(
				t,
				x.pool.PlanDisposal(t.Context(), "globex", spec.Place, tenant.Disposal{How: tenant.Archive}),
				tenant.CodeInvalidConfig,
			)
		},
	)
}

// TestRowsAreDeleted leaves the other tenant's rows, and ends right after a kill anywhere.
func TestRowsAreDeleted(t *testing.T) {
	t.Parallel()
	everywhere(
		t,
		[]tenant.Isolation{tenant.IsolationRow},
		func(t *testing.T, makeWorld func(*testing.T) *world) {
			w := makeWorld(t)
			files := w.product()
			files["00003_cycle.sql"] = "-- +goose Up\n" + protected(
				"a",
				"id INTEGER PRIMARY KEY, b INTEGER",
			) + "\n" +
				protected(
					"b",
					"id INTEGER PRIMARY KEY, a INTEGER REFERENCES a (id)",
				) + "\n" +
				"ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES b (id);\n"
			x := newTenants(t, w, files)
			fill := func(id tenant.ID, n string) {
				x.ensure(t, x.spec(t, id))
				_, err := x.as(t, id).
					Exec(t.Context(), "INSERT INTO notes (id) VALUES ("+n+"); INSERT INTO lines VALUES (DEFAULT, "+n+", "+n+");"+
						"INSERT INTO a (id) VALUES ("+n+"); INSERT INTO b (id, a) VALUES ("+n+", "+n+"); UPDATE a SET b = "+n)
				require.NoError(t, err)
			}
			fill("globex", "1")
			tenanttest.CrashEverywhere(
				t,
				func(t *testing.T, round int) (func(context.Context) error, func(*testing.T)) {
					spec := x.spec(t, tenant.ID("t"+strconv.Itoa(round)))
					journal := &tenanttest.Journal{}
					ended := false
					return func(ctx context.Context) error {
							if !ended {
								if _, err := x.pool.Ensure(ctx, spec, journal); err != nil {
									return err
								}
								//nolint:contextcheck // the application's own connection is not cut
								conn, err := x.application(t, spec.Tenant, spec.Place)
								require.NoError(t, err)
								_, err = conn.Exec(
									ctx,
									"INSERT INTO notes (body) VALUES ('x') ON CONFLICT DO NOTHING",
								)
								hangUp(t, conn) //nolint:contextcheck // as above
								if err != nil {
									return err
								}
							}
							err := x.pool.Delete(
								ctx,
								spec.Tenant,
								spec.Place,
								tenant.Disposal{How: tenant.Drop},
								journal,
							)
							ended = err == nil
							return err
						}, func(t *testing.T) {
							t.Helper()
							require.Equal(t, []string{w.shared[w.ours] + "/globex"}, x.pick(t, false))
							require.Empty(
								t,
								x.named(
									t,
									"SELECT rolname FROM pg_roles WHERE starts_with(rolname, '"+w.ours+"_t') AND",
									"rolname",
								),
							)
							require.Equal(
								t,
								[]string{"1|1|1|1"},
								x.texts(
									t,
									w.shared[w.ours],
									`SELECT (SELECT count(*) FROM notes), (SELECT count(*)
						FROM lines), (SELECT count(*) FROM a), (SELECT count(*) FROM b)`,
								),
							)
						}
				},
			)
		},
	)
}

// TestMigrationsTakeLong: a statement beyond statement_timeout is the file's fault, a lock beyond lock_timeout is not.
func TestMigrationsTakeLong(t *testing.T) {
	t.Parallel()
	everywhere(t, separate(), func(t *testing.T, makeWorld func(*testing.T) *world) {
		w := makeWorld(t)
		x := newTenants(t, w, w.product())
		config := w.config(t, w.ours)
		config.StatementTimeout, config.LockTimeout = 200*time.Millisecond, 100*time.Millisecond
		x.pool = w.open(t, config)
		spec := x.spec(t, "acme")
		x.ensure(t, spec)
		files := w.product()
		files["00003_slow.sql"] = "-- +goose Up\nSELECT pg_sleep(10);\n"
		spec.Migrations = tenanttest.Migrations(t, files)
		_, err := x.pool.Ensure(t.Context(), spec, &tenanttest.Journal{})
		wantCode(t, err, tenant.CodeMigrationFailed, "00003_slow.sql")

		delete(files, "00003_slow.sql")
		files["00003_alter.sql"] = "-- +goose Up\nALTER TABLE notes ADD COLUMN more TEXT;\n"
		spec.Migrations = tenanttest.Migrations(t, files)
		session := x.as(t, "acme")
		_, err = session.Exec(t.Context(), "BEGIN; SELECT * FROM notes")
		require.NoError(t, err)
		_, err = x.pool.Ensure(t.Context(), spec, &tenanttest.Journal{})
		wantCode(t, err, tenant.CodeBusy, "00003_alter.sql")
		_, err = session.Exec(t.Context(), "ROLLBACK")
		require.NoError(t, err)
		x.ensure(t, spec)
	})
}

// TestHalfApplied cuts a file without a transaction in the middle.
func TestHalfApplied(t *testing.T) {
	t.Parallel()
	forAll(t, separate(), func(t *testing.T, x *tenants) {
		files := x.product()
		files["00003_half.sql"] = "-- +goose NO TRANSACTION\n-- +goose Up\nCREATE INDEX CONCURRENTLY notes_body ON notes (body);\nSELECT 1/0;\n"
		spec := x.spec(t, "acme")
		spec.Migrations = tenanttest.Migrations(t, files)
		_, err := x.pool.Ensure(t.Context(), spec, &tenanttest.Journal{})
		wantCode(t, err, tenant.CodeMigrationFailed, "00003_half.sql", "00002_lines.sql")
		require.Len(t, x.read(t, spec).Applied, 2)
		files["00003_half.sql"] = "-- +goose NO TRANSACTION\n-- +goose Up\nCREATE INDEX CONCURRENTLY IF NOT EXISTS notes_body ON notes (body);\n"
		spec.Migrations = tenanttest.Migrations(t, files)
		require.Empty(t, x.ensure(t, spec).Drift)
	})
}

// TestLostRecord takes away the record of migrations: they are not run again.
func TestLostRecord(t *testing.T) {
	t.Parallel()
	forAll(t, separate(), func(t *testing.T, x *tenants) {
		spec := x.spec(t, "acme")
		x.ensure(t, spec)
		home, database := "public", spec.Place.Name
		if x.isolation == tenant.IsolationSchema {
			home, database = quoted(spec.Place.Name), x.shared[x.ours]
		}
		x.rootExec(t, database, "DROP TABLE "+home+".goose_db_version")
		_, err := x.pool.Ensure(t.Context(), spec, &tenanttest.Journal{})
		wantCode(t, err, tenant.CodeDatabaseDrift, "goose_db_version")
	})
}

// TestExtensions installs a trusted one by the owner, in the template and in a database that is there.
func TestExtensions(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"15"} { // the others' packages have none
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, version, tenant.IsolationDatabase)
			x := newTenants(t, w, w.product())
			config := w.config(t, w.ours)
			config.Extensions = []string{"citext", "pageinspect", "nowhere"}
			x.pool = w.open(t, config)
			first, second := x.spec(t, "acme"), x.spec(t, "globex")
			x.ensure(t, first)
			for _, spec := range []*tenant.DatabaseSpec{&first, &second} {
				spec.Extensions = []string{"citext"}
				x.ensure(t, *spec)
				require.Equal(
					t,
					[]string{"citext"},
					x.texts(t, spec.Place.Name, "SELECT extname FROM pg_extension WHERE extname = 'citext'"),
				)
			}
			for _, name := range []string{"pageinspect", "nowhere"} {
				second.Extensions = []string{name}
				_, err := x.pool.Ensure(t.Context(), second, &tenanttest.Journal{})
				wantCode(t, err, tenant.CodeInvalidConfig, name)
			}
		})
	}
}
