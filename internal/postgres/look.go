package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// cluster is what the catalogs that all databases share say of one tenant, and of the tenant's schema or row.
type cluster struct {
	Database *databaseState       `json:"database"`
	Schema   *schemaState         `json:"schema"`
	Row      *rowState            `json:"-"`
	Roles    map[string]roleState `json:"roles"`
	Admin    string               `json:"admin"`
	Version  int                  `json:"version"`
	FileCopy bool                 `json:"file_copy"` // nothing is synced, so a checkpoint costs nothing
}

type databaseState struct {
	OID     int64    `json:"oid"`
	Owner   string   `json:"owner"`
	Mine    bool     `json:"mine"` // the administrator may act as the owner
	Comment string   `json:"comment"`
	Open    bool     `json:"open"`
	Limit   int      `json:"limit"`
	Public  []string `json:"public"` // the privileges of PUBLIC
	App     []string `json:"app"`    // those of the application
	Pending bool     `json:"pending"`
}

type schemaState struct {
	Owner   string `json:"owner"`
	Mine    bool   `json:"mine"`
	Comment string `json:"comment"`
}

type rowState struct {
	Mark   string
	Logins []string // the roles whose sessions are the tenant's
}

type roleState struct {
	Comment  string   `json:"comment"`
	Login    bool     `json:"login"`
	Special  bool     `json:"special"` // an attribute that none of ours has and only a superuser takes away
	Creates  bool     `json:"creates"` // roles or databases
	Inherit  bool     `json:"inherit"`
	Limit    int      `json:"limit"`
	Expires  bool     `json:"expires"`
	Of       []string `json:"of"`    // the roles that it is a member of
	Stuck    []string `json:"stuck"` // those of them that somebody else has granted, and alone can revoke (PostgreSQL 16)
	Settings []string `json:"settings"`
}

// lookQuery reads everything in one go: $1 the database, $2 the roles, $3 the schema, $4 the template's owner, $5 the application's role.
const lookQuery = `SELECT jsonb_build_object(
	'admin', current_user, 'version', current_setting('server_version_num')::int,
	'file_copy', current_setting('fsync') = 'off',
	'database', (SELECT jsonb_build_object('oid', d.oid::bigint, 'owner', pg_get_userbyid(d.datdba), 'mine', pg_has_role(d.datdba, 'USAGE'),
		'comment', coalesce(shobj_description(d.oid, 'pg_database'), ''), 'open', d.datallowconn, 'limit', d.datconnlimit,
		'public', (SELECT coalesce(jsonb_agg(a.privilege_type ORDER BY a.privilege_type), '[]')
			FROM aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a WHERE a.grantee = 0),
		'app', (SELECT coalesce(jsonb_agg(a.privilege_type ORDER BY a.privilege_type), '[]') FROM aclexplode(d.datacl) a
			JOIN pg_roles r ON r.oid = a.grantee WHERE r.rolname = $5),
		'pending', EXISTS (SELECT FROM pg_shdepend s JOIN pg_roles r ON r.oid = s.refobjid
			WHERE s.dbid = d.oid AND s.refclassid = 'pg_authid'::regclass AND s.deptype = 'o' AND r.rolname = $4))
		FROM pg_database d WHERE d.datname = $1),
	'schema', (SELECT jsonb_build_object('owner', pg_get_userbyid(nspowner),
		'mine', pg_has_role(nspowner, 'USAGE'), 'comment',
		coalesce(obj_description(oid, 'pg_namespace'), '')) FROM pg_namespace WHERE nspname = $3),
	'roles', (SELECT coalesce(jsonb_object_agg(r.rolname, jsonb_build_object(
		'comment', coalesce(shobj_description(r.oid, 'pg_authid'), ''), 'login', r.rolcanlogin,
		'special', r.rolsuper OR r.rolreplication OR r.rolbypassrls, 'creates', r.rolcreaterole OR r.rolcreatedb,
		'inherit', r.rolinherit, 'limit', r.rolconnlimit, 'expires', coalesce(r.rolvaliduntil <> 'infinity', false),
		'of', (SELECT coalesce(jsonb_agg(DISTINCT g.rolname), '[]') FROM pg_auth_members m
			JOIN pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid),
		'stuck', (SELECT coalesce(jsonb_agg(DISTINCT g.rolname), '[]') FROM pg_auth_members m
			JOIN pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid AND pg_get_userbyid(m.grantor) <> current_user
			AND current_setting('server_version_num')::int >= 160000),
		'settings', coalesce((SELECT to_jsonb(s.setconfig) FROM pg_db_role_setting s
			WHERE s.setrole = r.oid AND s.setdatabase = 0), '[]'))), '{}')
		FROM pg_roles r WHERE r.rolname = ANY ($2)))::text`

// look reads what there is of a tenant. It fails with CodeForeign if what stands there is not ours.
func (s *session) look(ctx context.Context, at location) (*found, error) {
	out := &found{at: at}
	schema := at.schema
	if at.place.Isolation != tenant.IsolationSchema {
		schema = ""
	}
	roles := append(
		at.roles(),
		s.templateOwner(),
		s.sharedRole("app"),
		s.sharedRole("read"),
		s.sharedRole("seed"),
	)
	var text string
	err := s.conn.QueryRow(ctx, lookQuery, at.database, roles, schema, s.templateOwner(), at.app).Scan(&text)
	if err == nil {
		err = json.Unmarshal([]byte(text), &out.cluster)
	}
	if err != nil {
		return nil, classify("looking for "+at.String(), err)
	}
	if at.place.Isolation == tenant.IsolationRow {
		if out.Row, err = s.lookRow(ctx, at); err != nil {
			return nil, err
		}
	}
	return out, out.decide(s.config.Keyring)
}

// found is what there is of a tenant and whose it is.
type found struct {
	cluster

	at      location
	record  record // beside the mark of the owner role
	exists  bool   // the database, schema or row
	claimed bool   // it exists, carries nobody's mark, and may be claimed
	role    bool   // the owner role exists and is ours

	changed bool               // since it was looked at
	fresh   bool               // made by this piece of work
	cloned  []tenant.Migration // what a clone that needs nothing more has applied
	refused bool               // the application's password is not the derived one
}

// mark returns the comment of the database or schema, or the mark of the row, and its owner.
func (f *found) object() (mark, owner string, exists bool) {
	switch f.at.place.Isolation {
	case tenant.IsolationDatabase:
		if f.Database != nil {
			return f.Database.Comment, f.Database.Owner, true
		}
	case tenant.IsolationSchema:
		if f.Schema != nil {
			return f.Schema.Comment, f.Schema.Owner, true
		}
	case tenant.IsolationRow:
		if f.Row != nil {
			return f.Row.Mark, "", true
		}
	}
	return "", "", false
}

// decide says whose the object is: ours if its own mark says so, or if our marked role owns it. A comment alone is
// rewritten easily, but its tag can't be: so a comment that says something else takes nothing from us.
func (f *found) decide(keyring *tenant.Keyring) error {
	if role, there := f.Roles[f.at.owner]; there {
		mark := parseComment(role.Comment, &f.record)
		if err := keyring.Owns(f.at.marked(), mark); err != nil {
			f.record = record{}
			return fmt.Errorf("looking for %s: its role %s: %w", f.at, f.at.owner, err)
		}
		f.role = true
	}
	own, owner, exists := f.object()
	f.exists = exists
	if !exists {
		return nil
	}
	mark := parseComment(own, &struct{}{})
	err := keyring.Owns(f.at.marked(), mark)
	if err == nil || f.role && owner == f.at.owner {
		return nil
	}
	f.claimed = !looksMarked(own)
	return fmt.Errorf("looking for %s: %w", f.at, err)
}

// looksMarked reports whether a comment is anybody's mark.
func looksMarked(text string) bool { return strings.HasPrefix(text, "tenantry") }

// mine reports whether the administrator may act as the owner of the object, or make itself able to.
func (f *found) mine() bool {
	if _, owner, _ := f.object(); owner == f.at.owner && f.role {
		return true
	}
	if f.at.place.Isolation == tenant.IsolationSchema {
		return f.Schema.Mine
	}
	return f.Database.Mine
}

func (f *found) memberOf(role, group string) bool { return slices.Contains(f.Roles[role].Of, group) }
