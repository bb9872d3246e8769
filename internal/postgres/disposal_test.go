package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

func (x *tenants) delete(tb testing.TB, spec tenant.DatabaseSpec, how tenant.Disposal) error {
	tb.Helper()
	return x.pool.Delete(tb.Context(), spec.Tenant, spec.Place, how, &tenanttest.Journal{})
}

// TestArchives follows an archive from the deletion to the purge.
func TestArchives(t *testing.T) {
	t.Parallel()
	forAll(t, separate(), func(t *testing.T, x *tenants) {
		acme, globex := x.spec(t, "acme"), x.spec(t, "globex")
		x.ensure(t, acme)
		x.ensure(t, globex)
		none, err := x.pool.ListArchives(t.Context())
		require.NoError(t, err)
		require.Empty(t, none)

		require.NoError(t, x.delete(t, acme, tenant.Disposal{How: tenant.Archive, Keep: 48 * time.Hour}))
		x.ensure(t, acme)
		require.NoError(t, x.delete(t, acme, tenant.Disposal{How: tenant.Archive}))
		archives, err := x.pool.ListArchives(t.Context())
		require.NoError(t, err)
		require.Len(t, archives, 2)
		require.Equal(t, tenant.ID("acme"), archives[0].Tenant)
		require.Equal(t, now(), archives[0].ArchivedAt)
		require.Equal(t, now().Add(48*time.Hour), archives[0].KeepUntil)
		require.Zero(t, archives[1].KeepUntil)
		require.Empty(
			t,
			x.texts(
				t,
				"postgres",
				"SELECT rolname FROM pg_roles WHERE starts_with(rolname, $1) AND rolcanlogin",
				archives[0].Name,
			),
			"nobody logs in to an archive",
		)

		listed, err := x.pool.ListDatabases(t.Context())
		require.NoError(t, err)
		require.Len(t, listed, 1, "an archive is no database of the pool's")
		spec := x.spec(t, "initech")
		spec.MaxTenants = 2
		x.ensure(t, spec)

		theirs := w2(t, x)
		wantCode(t, theirs.Purge(t.Context(), archives[0]), tenant.CodeForeign)
		stolen := archives[0]
		stolen.Tenant = "globex"
		wantCode(t, x.pool.Purge(t.Context(), stolen), tenant.CodeForeign)
		alive := tenant.ArchivedDatabase{Tenant: "globex", Name: globex.Place.Name}
		wantCode(t, x.pool.Purge(t.Context(), alive), tenant.CodeInvalidConfig)
		for range 2 {
			require.NoError(t, x.pool.Purge(t.Context(), archives[0]))
		}
		left, err := x.pool.ListArchives(t.Context())
		require.NoError(t, err)
		require.Equal(t, archives[1:], left)
		require.Empty(t, x.leftovers(t))
	})
}

func w2(t *testing.T, x *tenants) tenant.DatabaseArchives {
	t.Helper()
	return x.backend(t, x.theirs)
}

// TestBusy deletes what somebody has a session in.
func TestBusy(t *testing.T) {
	t.Parallel()
	forAll(t, all(), func(t *testing.T, x *tenants) {
		hows := []tenant.OnDestroy{tenant.Drop, tenant.Archive}
		if x.isolation == tenant.IsolationRow {
			hows = hows[:1]
		}
		for _, how := range hows {
			spec := x.spec(t, "acme")
			x.ensure(t, spec)
			session, err := x.application(t, "acme", spec.Place)
			require.NoError(t, err)
			_, err = session.Exec(t.Context(), "INSERT INTO notes (body) VALUES ('x')")
			require.NoError(t, err)
			wantCode(t, x.delete(t, spec, tenant.Disposal{How: how}), tenant.CodeBusy)
			require.NoError(t, session.Ping(t.Context()), "nobody was thrown out")
			require.Empty(t, x.ensure(t, spec).Drift)
			require.NoError(t, x.delete(t, spec, tenant.Disposal{How: how, Force: true}))
			require.Error(t, session.Ping(t.Context()))
			_, err = x.pool.Read(t.Context(), "acme", spec.Place)
			require.ErrorIs(t, err, tenant.ErrAbsent)
			_ = session.Close(context.Background())
		}
	})
}

// TestHeldElsewhere has the tenant's roles own something outside of what is deleted: it is named, and nothing is deleted.
func TestHeldElsewhere(t *testing.T) {
	t.Parallel()
	forAll(t, all(), func(t *testing.T, x *tenants) {
		spec := x.spec(t, "acme")
		x.ensure(t, spec)
		owner := x.ours + "_acme_owner"
		other := x.ours + "_elsewhere"
		x.rootExec(t, "postgres", "CREATE DATABASE "+quoted(other))
		cases := map[string][2]string{
			"an owned table in another database": {
				other,
				"CREATE TABLE theirs (id INTEGER); ALTER TABLE theirs OWNER TO " + owner,
			},
			"a privilege in another database": {
				other,
				"CREATE TABLE more (id INTEGER); GRANT SELECT ON more TO " + owner,
			},
			"another database": {
				"postgres",
				"ALTER DATABASE " + other + " OWNER TO " + owner,
			},
		}
		if x.isolation != tenant.IsolationDatabase {
			cases["another schema"] = [2]string{
				x.shared[x.ours],
				"CREATE SCHEMA more_of_it AUTHORIZATION " + owner,
			}
		}
		undo := map[string][2]string{
			"an owned table in another database": {other, "DROP TABLE theirs"},
			"a privilege in another database":    {other, "DROP TABLE more"},
			"another database": {
				"postgres",
				"ALTER DATABASE " + other + " OWNER TO postgres",
			},
			"another schema": {x.shared[x.ours], "DROP SCHEMA more_of_it"},
		}
		for name, c := range cases {
			x.rootExec(t, c[0], c[1])
			named := other
			if name == "another schema" {
				named = "more_of_it"
			}
			for _, err := range []error{
				x.delete(t, spec, tenant.Disposal{How: tenant.Drop}),
				x.pool.PlanDisposal(t.Context(), "acme", spec.Place, tenant.Disposal{How: tenant.Drop}),
			} {
				wantCode(t, err, tenant.CodeDatabaseDrift, named)
			}
			_, err := x.as(t, "acme").Exec(t.Context(), "INSERT INTO notes (body) VALUES ('still here')")
			require.NoError(t, err, name)
			x.rootExec(t, undo[name][0], undo[name][1])
		}
		require.NoError(
			t,
			x.pool.PlanDisposal(t.Context(), "acme", spec.Place, tenant.Disposal{How: tenant.Drop}),
		)
		require.NoError(t, x.delete(t, spec, tenant.Disposal{How: tenant.Drop, Force: true}))
	})
}

// TestGone looks for a server that is not there any more.
func TestGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "15", tenant.IsolationDatabase)
	config := w.config(t, w.ours)
	config.URL = tenant.NewSecret(
		"postgres://tenant_admin:a-secret-word@127.0.0.1:1/postgres?sslmode=disable",
	)
	pool := w.open(t, config)
	name, err := pool.DatabaseName("acme", tenant.IsolationDatabase)
	require.NoError(t, err)
	place := tenant.Place{Pool: "the-pool", Isolation: tenant.IsolationDatabase, Name: name}
	err = pool.Delete(t.Context(), "acme", place, tenant.Disposal{How: tenant.Drop}, &tenanttest.Journal{})
	wantCode(t, err, tenant.CodeUnavailable)
	require.Contains(t, tenant.FailureOf(err).Remedy, "terraform state rm")
	require.NotContains(t, err.Error(), "a-secret-word")

	config.URL = tenant.NewSecret("postgres://tenant_admin:a-secret-word@[::1/x")
	_, err = w.open(t, config).Read(t.Context(), "acme", place)
	wantCode(t, err, tenant.CodeInvalidConfig)
	require.NotContains(t, err.Error(), "a-secret-word")

	config.URL = tenant.NewSecret(at(t, w.url, "postgres", nil) + "&application_name=x")
	config.Keyring = tenanttest.KeyringOf(t, w.ours)
	_, err = w.open(t, config).Read(t.Context(), "acme", place)
	require.ErrorIs(t, err, tenant.ErrAbsent)
}
