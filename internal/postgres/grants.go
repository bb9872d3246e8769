package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// grant gives the application its privileges where they are not right.
func (in *inside) grant(ctx context.Context) error {
	wrong, err := in.ungranted(ctx)
	if err != nil || len(wrong) == 0 {
		return err
	}
	doing := "granting the application its rights in " + in.f.at.String()
	if _, err := in.db.ExecContext(ctx, grantBlock(in.f.at, in.f.record.ReadOnly)); err != nil {
		return classify(doing, err)
	}
	tenant.Failpoint(ctx, "database.granted")
	return nil
}

type privilege struct{ on, has, wanted string }

func (in *inside) ungranted(ctx context.Context) ([]privilege, error) {
	return query(
		ctx,
		in.db,
		"reading the privileges in "+in.f.at.String(),
		func(rows *sql.Rows) (p privilege, err error) {
			return p, rows.Scan(&p.on, &p.has, &p.wanted)
		},
		privileges,
		in.f.at.schema,
		in.f.at.owner,
		ownTables(),
		in.f.at.app,
		in.f.record.ReadOnly,
	)
}

// grantBlock gives the application exactly its privileges on what the owner owns, and on what the owner will own.
func grantBlock(at location, readOnly bool) string {
	relation, sequence := "SELECT, INSERT, UPDATE, DELETE", "USAGE, SELECT, UPDATE"
	if readOnly {
		relation, sequence = "SELECT", "SELECT"
	}
	return fmt.Sprintf(
		grantTemplate,
		literal(at.owner),
		literal(at.app),
		literal(at.schema),
		literal(relation),
		literal(sequence),
		literal(encodeArray(ownTables())),
		ident(at.owner),
		relation,
		ident(at.app),
		sequence,
	)
}

const grantTemplate = `DO $tenantry$
DECLARE
	me CONSTANT name := %[1]s; app CONSTANT name := %[2]s; home CONSTANT name := %[3]s; o record;
BEGIN
	FOR o IN SELECT n.nspname FROM pg_namespace n WHERE n.nspname NOT LIKE 'pg\_%%' AND
		(n.nspowner = (SELECT oid FROM pg_roles WHERE rolname = me) OR n.nspname = home AND home = 'public')
		AND pg_has_role(n.nspowner, 'USAGE') AND ARRAY(SELECT a.privilege_type FROM aclexplode(n.nspacl) a
			JOIN pg_roles g ON g.oid = a.grantee WHERE g.rolname = app) <> ARRAY['USAGE'] LOOP
		EXECUTE format('REVOKE ALL ON SCHEMA %%1$I FROM %%2$I; GRANT USAGE ON SCHEMA %%1$I TO %%2$I', o.nspname, app);
	END LOOP;
	FOR o IN SELECT r.*, CASE WHEN r.own THEN '{}' WHEN r.relkind = 'S' THEN string_to_array(%[5]s, ', ')
			ELSE string_to_array(%[4]s, ', ') END AS wanted
		FROM (SELECT n.nspname, c.relname, c.relkind, n.nspname = home AND (c.relname = ANY (%[6]s::name[]) OR
			c.relname = 'goose_db_version_id_seq') AS own, ARRAY(SELECT a.privilege_type FROM aclexplode(c.relacl) a
			JOIN pg_roles g ON g.oid = a.grantee WHERE g.rolname = app) AS has
			FROM pg_roles m
			JOIN pg_shdepend i ON i.refclassid = 'pg_authid'::regclass AND i.refobjid = m.oid AND i.deptype = 'o'
				AND i.classid = 'pg_class'::regclass
				AND i.dbid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
			JOIN pg_class c ON c.oid = i.objid JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE m.rolname = me AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND n.nspname NOT LIKE 'pg\_%%') r LOOP
		IF NOT o.has <@ o.wanted THEN
			EXECUTE format('REVOKE ALL ON TABLE %%I.%%I FROM %%I', o.nspname, o.relname, app);
			o.has := '{}';
		END IF;
		IF NOT o.wanted <@ o.has THEN
			EXECUTE format('GRANT %%s ON TABLE %%I.%%I TO %%I', array_to_string(o.wanted, ', '), o.nspname, o.relname, app);
		END IF;
	END LOOP;
END $tenantry$;
ALTER DEFAULT PRIVILEGES FOR ROLE %[7]s REVOKE ALL ON TABLES FROM %[9]s;
ALTER DEFAULT PRIVILEGES FOR ROLE %[7]s REVOKE ALL ON SEQUENCES FROM %[9]s;
ALTER DEFAULT PRIVILEGES FOR ROLE %[7]s GRANT %[8]s ON TABLES TO %[9]s;
ALTER DEFAULT PRIVILEGES FOR ROLE %[7]s GRANT %[10]s ON SEQUENCES TO %[9]s`
