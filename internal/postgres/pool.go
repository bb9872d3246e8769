package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/migrations"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// kindPool marks the roles of a pool of rows.
const kindPool tenant.Kind = "pool"

const poolPassword = "pool-owner"

// sharedRole returns a role that the pool's tenants share: owner of the tables, app and read (whose privileges the
// applications have), seed (for ourselves, logged in as a tenant).
func (b *Backend) sharedRole(kind string) string {
	return b.installationName("pool", b.config.Pool) + "_" + kind
}

func poolObject(role string) tenant.Object { return tenant.Object{Kind: kindPool, Name: role} }

// poolTables is our part of the shared database: who the tenants are, and tenantry_tenant(), which says whose session
// it is. session_user is what the session logged in as, whatever roles were set since.
const poolTables = bookkeeping + `;
CREATE TABLE IF NOT EXISTS tenantry_tenants (tenant_id text PRIMARY KEY, mark text NOT NULL);
CREATE TABLE IF NOT EXISTS tenantry_logins (login name PRIMARY KEY,
	tenant_id text NOT NULL REFERENCES tenantry_tenants ON DELETE CASCADE);
CREATE INDEX IF NOT EXISTS tenantry_logins_tenant ON tenantry_logins (tenant_id);
CREATE OR REPLACE FUNCTION tenantry_tenant() RETURNS text LANGUAGE sql STABLE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp AS $tenantry$ SELECT tenant_id FROM public.tenantry_logins WHERE login = session_user $tenantry$;
ALTER TABLE tenantry_seed ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE tenantry_seed_rows ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
DO $tenantry$ BEGIN
	IF NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = 'tenantry_seed'::regclass) THEN
		CREATE POLICY tenant ON tenantry_seed USING (tenant_id = tenantry_tenant());
		CREATE POLICY tenant ON tenantry_seed_rows USING (tenant_id = tenantry_tenant());
	END IF;
END $tenantry$`

// MigratePool makes the pool's roles and our tables, applies the pending migrations logged in as the pool's owner, and
// grants the applications their privileges.
func (b *Backend) MigratePool(
	ctx context.Context,
	files tenant.Migrations,
) (applied []tenant.Migration, err error) {
	if b.config.Isolation != tenant.IsolationRow {
		return nil, tenant.Fail(
			tenant.CodeInvalidConfig,
			"migrating the pool "+b.config.Pool,
			fmt.Errorf(
				"under isolation %q each tenant's apply migrates the tenant's own data",
				b.config.Isolation,
			),
		)
	}
	err = b.work(ctx, func(ctx context.Context, s *session) error {
		if err := s.lock(ctx, s.sharedRole("owner")); err != nil {
			return err
		}
		if err := s.poolRoles(ctx); err != nil {
			return err
		}
		return s.inPool(ctx, func(p *pooled) error {
			applied, err = p.migrate(ctx, files)
			return err
		})
	})
	return applied, err
}

// poolRoles makes the pool's roles, marked in the transaction that creates them, and lets the owner make tables.
func (s *session) poolRoles(ctx context.Context) error {
	doing, owner := "creating the roles of the pool "+s.config.Pool, s.sharedRole("owner")
	text, there, err := s.roleComment(ctx, owner)
	if err != nil {
		return err
	}
	if there {
		err = s.config.Keyring.Owns(poolObject(owner), parseComment(text, &struct{}{}))
	} else {
		err = s.createPoolRoles(ctx, doing)
	}
	if err != nil {
		return err
	}
	var ready bool
	err = s.conn.QueryRow(ctx, `SELECT has_schema_privilege($1, 'public', 'CREATE')
		AND has_database_privilege($1, current_database(), 'CONNECT')
		AND has_database_privilege($1, current_database(), 'CREATE')`, owner).Scan(&ready)
	if err != nil || ready {
		return classify(doing, err)
	}
	shared, err := s.sharedDatabase()
	if err != nil {
		return err
	}
	lock := "grants on " + shared
	if err := s.lock(ctx, lock); err != nil {
		return err
	}
	if err := s.exec(ctx, doing, "GRANT CONNECT, CREATE ON DATABASE "+ident(shared)+" TO "+ident(owner),
		"GRANT USAGE, CREATE ON SCHEMA public TO "+ident(owner)); err != nil {
		return err
	}
	return s.unlock(ctx, lock)
}

func (s *session) createPoolRoles(ctx context.Context, doing string) error {
	owner := s.sharedRole("owner")
	of := record{
		Pool:        s.config.Pool,
		Incarnation: newIncarnation(),
		KeyID:       s.config.Keyring.CurrentKeyID(),
		Version:     1,
	}
	password, err := s.passwordOf(location{}, of, poolPassword)
	if err != nil {
		return err
	}
	statements := []string{
		"CREATE ROLE " + ident(owner) + " LOGIN PASSWORD " + literal(password),
		"COMMENT ON ROLE " + ident(
			owner,
		) + " IS " + literal(
			comment(s.config.Keyring.Mark(poolObject(owner)), of),
		),
		"GRANT " + ident(owner) + " TO CURRENT_USER",
	}
	for _, kind := range []string{"app", "read", "seed"} {
		role := s.sharedRole(kind)
		statements = append(statements, "CREATE ROLE "+ident(role)+" NOLOGIN",
			"COMMENT ON ROLE "+ident(role)+" IS "+literal(s.config.Keyring.Mark(poolObject(role))),
			"GRANT "+ident(role)+" TO CURRENT_USER")
	}
	statements = append(statements, "GRANT "+ident(s.sharedRole("app"))+" TO "+ident(s.sharedRole("seed")))
	if err := s.exec(ctx, doing, statements...); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "pool.roles")
	return nil
}

// pooled is a connection to the shared database, logged in as the pool's owner.
type pooled struct {
	*session

	db *sql.DB
}

// inPool runs work as the pool's owner; CodePoolBehind if there is no such role yet.
func (s *session) inPool(ctx context.Context, work func(*pooled) error) error {
	doing, owner := "logging in as the owner of the pool "+s.config.Pool, s.sharedRole("owner")
	text, there, err := s.roleComment(ctx, owner)
	if err != nil {
		return err
	}
	if !there {
		return tenant.Fail(tenant.CodePoolBehind, doing, errors.New("the pool was never migrated"))
	}
	var of record
	if err := s.config.Keyring.Owns(poolObject(owner), parseComment(text, &of)); err != nil {
		return err
	}
	password, err := s.secret(location{}, of, poolPassword)
	if err != nil {
		return err
	}
	shared, err := s.sharedDatabase()
	if err != nil {
		return err
	}
	db, err := s.open(
		ctx,
		login{database: shared, role: owner, password: password, schema: "public", timeouts: true},
	)
	if err != nil {
		return classify(doing, err)
	}
	defer func() { _ = db.Close() }() // nothing is unsaved
	return work(&pooled{s, db})
}

func (p *pooled) applied(ctx context.Context) ([]tenant.Migration, error) {
	applied, err := migrations.Applied(ctx, p.db, migrations.PostgreSQL())
	return applied, classify("reading the applied migrations of the pool "+p.config.Pool, err)
}

func (p *pooled) migrate(ctx context.Context, files tenant.Migrations) ([]tenant.Migration, error) {
	doing := "preparing the shared database of the pool " + p.config.Pool
	if _, err := p.db.ExecContext(ctx, poolTables); err != nil {
		return nil, classify(doing, err)
	}
	tenant.Failpoint(ctx, "pool.prepared")
	applied, err := migrate(ctx, p.db, "the shared database of the pool "+p.config.Pool, files)
	if _, granted := p.db.ExecContext(ctx, p.grants()); err == nil {
		err = classify("granting rights in the pool "+p.config.Pool, granted)
	}
	return applied, err
}

// grants gives the three groups their privileges on the product's tables, and the seeding one those on our tables.
func (p *pooled) grants() string {
	at := location{owner: p.sharedRole("owner"), app: p.sharedRole("app"), schema: "public"}
	reading := at
	reading.app = p.sharedRole("read")
	return grantBlock(at, false) + ";\n" + grantBlock(reading, true) + ";\n" +
		"GRANT SELECT, INSERT, UPDATE, DELETE ON tenantry_seed, tenantry_seed_rows TO " + ident(p.sharedRole("seed"))
}

// checkPool returns what the pool has applied. It fails with CodePoolBehind if that is not all of the files, and with
// CodeInvalidConfig, naming each table, if a table lets one tenant see another's rows.
func (s *session) checkPool(
	ctx context.Context,
	files tenant.Migrations,
) (applied []tenant.Migration, err error) {
	err = s.inPool(ctx, func(p *pooled) error {
		if applied, err = p.applied(ctx); err != nil {
			return err
		}
		pending, err := files.Pending(applied)
		if err != nil {
			return err
		}
		if len(pending) > 0 {
			return behind(s.config.Pool, pending)
		}
		open, err := p.unprotected(ctx)
		if err == nil && len(open) > 0 {
			return openTables(s.config.Pool, open)
		}
		return err
	})
	return applied, err
}

func behind(pool string, pending []tenant.Migration) error {
	names := make([]string, 0, len(pending))
	for _, file := range pending {
		names = append(names, file.Name)
	}
	return tenant.Fail(tenant.CodePoolBehind, "looking at the shared database of the pool "+pool,
		fmt.Errorf("it has not applied %s", strings.Join(names, ", ")))
}

func openTables(pool string, open []string) error {
	failure := tenant.Fail(tenant.CodeInvalidConfig, "looking at the shared database of the pool "+pool,
		fmt.Errorf("tenants are not kept apart in it: %s", strings.Join(open, "; ")))
	failure.Remedy = "Write a migration of the pool that gives each table a column tenant_id text NOT NULL DEFAULT tenantry_tenant(), " +
		"ENABLE and FORCE ROW LEVEL SECURITY, and a policy USING (tenant_id = tenantry_tenant())."
	return failure
}

// unprotected says of each of the product's tables what it lacks.
func (p *pooled) unprotected(ctx context.Context) ([]string, error) {
	return query(
		ctx,
		p.db,
		"looking at the tables of the pool "+p.config.Pool,
		func(rows *sql.Rows) (text string, err error) { return text, rows.Scan(&text) },
		unprotectedQuery,
		ownTables(),
	)
}

const unprotectedQuery = `SELECT 'table ' || c.relname || ' ' || w.lack FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace,
LATERAL (
	SELECT 'has no column tenant_id' AS lack WHERE NOT EXISTS (SELECT FROM pg_attribute a
		WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped)
	UNION ALL SELECT 'has no row-level security' WHERE NOT c.relrowsecurity
	UNION ALL SELECT 'does not force row-level security on its owner' WHERE c.relrowsecurity AND NOT c.relforcerowsecurity
	UNION ALL SELECT 'has no policy' WHERE NOT EXISTS (SELECT FROM pg_policy o WHERE o.polrelid = c.oid)
	UNION ALL SELECT 'has a policy ' || o.polname || ' that does not go by tenantry_tenant()' FROM pg_policy o
		WHERE o.polrelid = c.oid AND o.polpermissive AND NOT EXISTS (SELECT FROM pg_depend d
			WHERE d.classid = 'pg_policy'::regclass AND d.objid = o.oid AND d.refclassid = 'pg_proc'::regclass
			AND d.refobjid = to_regprocedure('public.tenantry_tenant()'))
) w
WHERE n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema' AND c.relkind IN ('r', 'p', 'f')
AND NOT (n.nspname = 'public' AND c.relname = ANY ($1))
AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
ORDER BY 1`
