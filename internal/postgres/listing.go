package postgres

// bookkeeping is our own tables in a tenant's database or schema: what was seeded, and what the schema was when Ensure
// left it. The application has no privilege on them.
const bookkeeping = `CREATE TABLE IF NOT EXISTS tenantry_seed (tenant_id text PRIMARY KEY, mark text NOT NULL);
CREATE TABLE IF NOT EXISTS tenantry_seed_rows (tenant_id text NOT NULL, position bigint NOT NULL, table_name text NOT NULL,
	key_columns text NOT NULL, key text NOT NULL, spec text NOT NULL, written text NOT NULL, dropped text,
	PRIMARY KEY (tenant_id, position));
CREATE TABLE IF NOT EXISTS tenantry_schema (object text PRIMARY KEY, sha256 text NOT NULL, server int NOT NULL)`

// ownTables are the tables that are none of the product's.
func ownTables() []string {
	return []string{
		"goose_db_version", "tenantry_migrations", "tenantry_seed", "tenantry_seed_rows", "tenantry_schema",
		"tenantry_tenants", "tenantry_logins",
	}
}

// No catalog has an index by schema, and the shared database of a pool has the objects of all its tenants: so what is in a
// schema is found by its dependency on it, and what somebody owns by the dependency on the owner.

// listing returns a row for each object of the product's schema: what it is called, and what the server says of it. $1
// is our own schema, whose name is left out so that listings of two tenants are equal; $2 says that other schemas count,
// too; $3 is our own tables, $4 the application's role. Owners and the application's privileges are compared elsewhere;
// other people's privileges count. Objects of extensions are theirs.
const listing = `WITH spaces AS (
	SELECT n.oid, CASE WHEN n.nspname = $1 THEN '' ELSE quote_ident(n.nspname) || '.' END AS prefix FROM pg_namespace n
	WHERE n.nspname = $1 OR $2 AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'
), relations AS (
	SELECT c.*, s.prefix || quote_ident(c.relname) AS name FROM spaces s
	JOIN pg_depend i ON i.refclassid = 'pg_namespace'::regclass AND i.refobjid = s.oid AND i.classid = 'pg_class'::regclass
	JOIN pg_class c ON c.oid = i.objid WHERE NOT (c.relname = ANY ($3) AND s.prefix = '') AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
	AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
		AND (d.deptype = 'e' OR d.deptype = 'a' AND c.relkind = 'S' AND d.refobjid IN
			(SELECT o.oid FROM pg_class o WHERE o.relname = ANY ($3))))
	AND NOT (c.relkind = 'S' AND c.relname = 'goose_db_version_id_seq')
), routines AS (
	SELECT p.*, s.prefix || quote_ident(p.proname) || '(' || pg_get_function_identity_arguments(p.oid) || ')' AS name
	FROM spaces s
	JOIN pg_depend i ON i.refclassid = 'pg_namespace'::regclass AND i.refobjid = s.oid AND i.classid = 'pg_proc'::regclass
	JOIN pg_proc p ON p.oid = i.objid WHERE p.proname <> 'tenantry_tenant' AND
	NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
)
SELECT 'relation ' || r.name AS object, concat_ws(' ', r.relkind, r.relpersistence, r.relrowsecurity, r.relforcerowsecurity,
	array_to_string(r.reloptions, ','), (SELECT string_agg(coalesce(g.rolname, 'public') || ':' || a.privilege_type, ','
		ORDER BY coalesce(g.rolname, 'public'), a.privilege_type) FROM aclexplode(r.relacl) a
		LEFT JOIN pg_roles g ON g.oid = a.grantee
		WHERE a.grantee <> r.relowner AND g.rolname IS DISTINCT FROM $4)) AS definition FROM relations r
UNION ALL
SELECT 'column ' || r.name || '.' || quote_ident(a.attname), concat_ws(' ', format_type(a.atttypid, a.atttypmod),
	a.attnotnull, a.attidentity, a.attgenerated, pg_get_expr(d.adbin, d.adrelid), nullif(a.attcollation, 100))
	FROM relations r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
	LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE r.relkind <> 'S'
UNION ALL
SELECT 'constraint ' || r.name || '.' || quote_ident(c.conname), pg_get_constraintdef(c.oid) || c.convalidated::text
	FROM relations r JOIN pg_constraint c ON c.conrelid = r.oid WHERE c.contype <> 'n'
UNION ALL
SELECT 'index ' || r.name || '.' || quote_ident(i.relname),
	replace(pg_get_indexdef(x.indexrelid), ' ON ' || quote_ident($1) || '.', ' ON ') || x.indisvalid::text
	FROM relations r JOIN pg_index x ON x.indrelid = r.oid JOIN pg_class i ON i.oid = x.indexrelid
UNION ALL
SELECT 'trigger ' || r.name || '.' || quote_ident(t.tgname),
	replace(pg_get_triggerdef(t.oid), quote_ident($1) || '.', '') || t.tgenabled::text
	FROM relations r JOIN pg_trigger t ON t.tgrelid = r.oid WHERE NOT t.tgisinternal
UNION ALL
SELECT 'policy ' || r.name || '.' || quote_ident(p.polname), concat_ws(' ', p.polcmd, p.polpermissive,
	pg_get_expr(p.polqual, p.polrelid), '/', pg_get_expr(p.polwithcheck, p.polrelid))
	FROM relations r JOIN pg_policy p ON p.polrelid = r.oid
UNION ALL
SELECT 'view ' || r.name, pg_get_viewdef(r.oid) FROM relations r WHERE r.relkind IN ('v', 'm')
UNION ALL
SELECT 'routine ' || p.name, CASE WHEN p.prokind IN ('f', 'p')
	THEN replace(pg_get_functiondef(p.oid), quote_ident($1) || '.', '') ELSE p.prokind::text END FROM routines p
UNION ALL
SELECT 'type ' || s.prefix || quote_ident(t.typname), concat_ws(' ', t.typtype, format_type(nullif(t.typbasetype, 0),
	t.typtypmod), t.typnotnull, t.typdefault, (SELECT string_agg(quote_literal(e.enumlabel), ',' ORDER BY e.enumsortorder)
		FROM pg_enum e WHERE e.enumtypid = t.oid), (SELECT string_agg(pg_get_constraintdef(k.oid), ' ' ORDER BY k.conname)
		FROM pg_constraint k WHERE k.contypid = t.oid AND k.contype <> 'n'))
	FROM spaces s
	JOIN pg_depend i ON i.refclassid = 'pg_namespace'::regclass AND i.refobjid = s.oid AND i.classid = 'pg_type'::regclass
	JOIN pg_type t ON t.oid = i.objid WHERE t.typtype IN ('e', 'd') AND
	NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e')
UNION ALL
SELECT 'schema ' || quote_ident(n.nspname), '' FROM pg_namespace n JOIN spaces s ON s.oid = n.oid WHERE s.prefix <> ''
UNION ALL
SELECT 'extension ' || quote_ident(extname), '' FROM pg_extension WHERE $2`

// listed is the listing with checksums in place of definitions.
const listed = `SELECT object, encode(sha256(convert_to(string_agg(definition, E'\n' ORDER BY definition), 'UTF8')), 'hex') AS sha256
	FROM (` + listing + `) AS l GROUP BY object`

// recordListing remembers the schema as it is, but for the objects in $5, of which it keeps what it remembers.
const recordListing = `WITH now AS MATERIALIZED (` + listed + `), gone AS (
	DELETE FROM tenantry_schema s WHERE s.object <> ALL ($5) AND NOT EXISTS (SELECT FROM now n WHERE n.object = s.object)
)
INSERT INTO tenantry_schema (object, sha256, server)
SELECT object, sha256, current_setting('server_version_num')::int / 10000 FROM now WHERE object <> ALL ($5)
ON CONFLICT (object) DO UPDATE SET sha256 = excluded.sha256, server = excluded.server
WHERE (tenantry_schema.sha256, tenantry_schema.server) IS DISTINCT FROM (excluded.sha256, excluded.server)`

// compareListing returns the objects that differ from what is remembered, and how. Another major version of the server
// describes things in its own way: then nothing can be compared.
const compareListing = `SELECT coalesce(n.object, s.object), CASE WHEN s.object IS NULL THEN 'was added'
	WHEN n.object IS NULL THEN 'is gone' ELSE 'was changed' END
	FROM (` + listed + `) n FULL JOIN tenantry_schema s USING (object)
	WHERE n.sha256 IS DISTINCT FROM s.sha256
	AND EXISTS (SELECT FROM tenantry_schema)
	AND NOT EXISTS (SELECT FROM tenantry_schema o WHERE o.server <> current_setting('server_version_num')::int / 10000)
	ORDER BY 1`

// privileges returns what the application's role $4 has and what it should have where that differs, for the relations,
// schemas and default privileges of the owner, $2. $1 is our schema, $3 our own tables, $5 says read-only.
const privileges = `WITH me AS (SELECT oid FROM pg_roles WHERE rolname = $2), app AS (SELECT oid FROM pg_roles WHERE rolname = $4),
wanted AS (SELECT CASE WHEN $5 THEN ARRAY['SELECT'] ELSE ARRAY['DELETE', 'INSERT', 'SELECT', 'UPDATE'] END AS r,
	CASE WHEN $5 THEN ARRAY['SELECT'] ELSE ARRAY['SELECT', 'UPDATE', 'USAGE'] END AS s),
compared AS (
	SELECT 'relation ' || CASE WHEN n.nspname = $1 THEN '' ELSE quote_ident(n.nspname) || '.' END || quote_ident(c.relname) AS name,
		CASE WHEN n.nspname = $1 AND (c.relname = ANY ($3) OR c.relkind = 'S' AND c.relname = 'goose_db_version_id_seq')
			THEN '{}' WHEN c.relkind = 'S' THEN w.s ELSE w.r END AS wanted,
		ARRAY(SELECT a.privilege_type FROM aclexplode(c.relacl) a, app WHERE a.grantee = app.oid ORDER BY 1) AS has
	FROM me CROSS JOIN wanted w
	JOIN pg_shdepend i ON i.refclassid = 'pg_authid'::regclass AND i.refobjid = me.oid AND i.classid = 'pg_class'::regclass
		AND i.deptype = 'o' AND i.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
	JOIN pg_class c ON c.oid = i.objid JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND n.nspname NOT LIKE 'pg\_%'
	UNION ALL
	SELECT 'schema ' || quote_ident(n.nspname), ARRAY['USAGE'],
		ARRAY(SELECT a.privilege_type FROM aclexplode(n.nspacl) a, app WHERE a.grantee = app.oid ORDER BY 1)
	FROM pg_namespace n, me WHERE (n.nspowner = me.oid OR n.nspname = $1 AND n.nspname = 'public') AND n.nspname NOT LIKE 'pg\_%'
	AND pg_has_role(n.nspowner, 'USAGE')
	UNION ALL
	SELECT 'later ' || k.name, CASE k.kind WHEN 'S' THEN w.s ELSE w.r END,
		ARRAY(SELECT a.privilege_type FROM pg_default_acl d, aclexplode(d.defaclacl) a, me, app WHERE d.defaclrole = me.oid
			AND d.defaclnamespace = 0 AND d.defaclobjtype = k.kind AND a.grantee = app.oid ORDER BY 1)
	FROM wanted w, (VALUES ('r'::"char", 'relations'), ('S', 'sequences')) AS k (kind, name)
)
SELECT name, array_to_string(has, ', '), array_to_string(wanted, ', ') FROM compared WHERE has <> wanted ORDER BY 1`

// strangers returns the relations, routines and schemas that somebody else than the owner, $2, owns. $1 is our schema, $3
// says that other schemas count, too; $4 is the administrator.
const strangers = `SELECT o.name, pg_get_userbyid(o.owner), pg_has_role($4::name, o.owner, 'USAGE') FROM (
	SELECT CASE c.relkind WHEN 'S' THEN 'sequence ' WHEN 'v' THEN 'view ' WHEN 'm' THEN 'materialized view '
		WHEN 'f' THEN 'foreign table ' ELSE 'table ' END || format('%I.%I', n.nspname, c.relname) AS name, c.relowner AS owner
	FROM pg_namespace n
	JOIN pg_depend i ON i.refclassid = 'pg_namespace'::regclass AND i.refobjid = n.oid AND i.classid = 'pg_class'::regclass
	JOIN pg_class c ON c.oid = i.objid
	WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND (n.nspname = $1 OR $3 AND n.nspname <> 'information_schema'
		AND n.nspname NOT LIKE 'pg\_%') AND NOT EXISTS (SELECT FROM pg_depend d
			WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('e', 'a', 'i'))
	UNION ALL
	SELECT 'schema ' || quote_ident(n.nspname), n.nspowner FROM pg_namespace n WHERE $3 AND n.nspname <> 'information_schema'
		AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'public' AND NOT EXISTS (SELECT FROM pg_depend d
			WHERE d.classid = 'pg_namespace'::regclass AND d.objid = n.oid AND d.deptype = 'e')
	UNION ALL
	SELECT 'routine ' || format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)), p.proowner
	FROM pg_namespace n
	JOIN pg_depend i ON i.refclassid = 'pg_namespace'::regclass AND i.refobjid = n.oid AND i.classid = 'pg_proc'::regclass
	JOIN pg_proc p ON p.oid = i.objid WHERE (n.nspname = $1 OR $3 AND
		n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%') AND NOT EXISTS (SELECT FROM pg_depend d
			WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
	) AS o (name, owner) WHERE o.owner <> (SELECT oid FROM pg_roles WHERE rolname = $2) ORDER BY 1`
