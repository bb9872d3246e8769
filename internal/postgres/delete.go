package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Delete disposes of the database, schema or row under the tenant's lock.
func (b *Backend) Delete(
	ctx context.Context, id tenant.ID, place tenant.Place, how tenant.Disposal, journal tenant.Journal,
) error {
	if how.How == tenant.Retain {
		return nil
	}
	at, err := b.locate(id, place)
	if err != nil {
		return err
	}
	if err := b.checkDisposal(at, how); err != nil {
		return err
	}
	return b.work(ctx, func(ctx context.Context, s *session) error {
		if err := s.lock(ctx, at.base); err != nil {
			return err
		}
		f, err := s.look(ctx, at)
		if err != nil {
			return err
		}
		if err := s.dispose(ctx, f, how); err != nil {
			return err
		}
		again, err := s.look(ctx, at)
		if err != nil {
			return err
		}
		if again.exists || again.role {
			return tenant.Fail(tenant.CodeConflict, "deleting "+at.String(),
				errors.New("something of that name has appeared again"))
		}
		tenant.Failpoint(ctx, "database.gone")
		return journal.Removed(ctx, at.object())
	})
}

func (b *Backend) checkDisposal(at location, how tenant.Disposal) error {
	doing := fmt.Sprintf("deleting %s as %q", at, how.How)
	switch {
	case how.How == tenant.Archive && at.place.Isolation == tenant.IsolationRow:
		return tenant.Fail(
			tenant.CodeInvalidConfig,
			doing,
			errors.New(
				"the tenant's rows lie in tables that all tenants share and can't be put aside; drop or retain them",
			),
		)
	case how.How == tenant.Drop, how.How == tenant.Archive, how.How == tenant.Retain:
		return nil
	}
	return tenant.Fail(tenant.CodeInvalidConfig, doing, errors.New("it can be dropped, archived or retained"))
}

func (s *session) dispose(ctx context.Context, f *found, how tenant.Disposal) error {
	if !f.exists && !f.role {
		return nil
	}
	if f.at.place.Isolation == tenant.IsolationRow {
		return s.dropRow(ctx, f, how)
	}
	if err := s.checkHeld(ctx, f); err != nil {
		return err
	}
	switch {
	case !f.exists:
		return s.dropRoles(ctx, f)
	case how.How == tenant.Archive:
		return s.archive(ctx, f, how)
	case f.at.place.Isolation == tenant.IsolationSchema:
		return s.dropSchema(ctx, f, how)
	}
	return s.dropDatabase(ctx, f, how)
}

func (s *session) dropDatabase(ctx context.Context, f *found, how tenant.Disposal) error {
	doing, statement := "dropping the database "+f.at.database, "DROP DATABASE "+ident(f.at.database)
	if how.Force {
		statement += " WITH (FORCE)"
	}
	if err := s.exec(ctx, doing, join(f.present()...)); err != nil {
		return err
	}
	if err := s.exec(ctx, doing, statement); err != nil {
		return errors.Join(err, s.exec(ctx, doing, leave(f.present()...)))
	}
	tenant.Failpoint(ctx, "database.dropped")
	if err := s.dropRoles(ctx, f); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "database.roles_dropped")
	return nil
}

// dropSchema removes schema, privileges and roles in one transaction.
func (s *session) dropSchema(ctx context.Context, f *found, how tenant.Disposal) error {
	if err := s.awaitIdle(ctx, f, how.Force); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "database.idle")
	statements := []string{join(f.present()...), "DROP SCHEMA " + ident(f.at.schema) + " CASCADE"}
	for _, role := range f.present() {
		statements = append(
			statements,
			"DROP OWNED BY "+ident(role),
		) // privileges only: it was checked that nothing else is left
	}
	for _, role := range f.present() {
		statements = append(statements, "DROP ROLE "+ident(role))
	}
	if err := s.exec(ctx, "dropping the schema "+f.at.schema, statements...); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "database.dropped")
	return nil
}

// present returns the tenant's roles that there are, the owner last.
func (f *found) present() []string {
	var out []string
	for _, name := range []string{f.at.logins[0], f.at.logins[1], f.at.app, f.at.owner} {
		if _, there := f.Roles[name]; there {
			out = append(out, name)
		}
	}
	return out
}

// heldQuery names what the roles $1 own or hold elsewhere than in the database $2, and in it outside of the schema $3
// ("" for the whole database).
const heldQuery = `SELECT DISTINCT CASE WHEN s.dbid = 0 THEN pg_describe_object(s.classid, s.objid, 0)
	WHEN s.dbid = d.oid THEN pg_describe_object(s.classid, s.objid, s.objsubid)
	ELSE 'something in the database ' || (SELECT datname FROM pg_database o WHERE o.oid = s.dbid) END
	FROM pg_shdepend s JOIN pg_roles r ON r.oid = s.refobjid LEFT JOIN pg_database d ON d.datname = $2
	WHERE s.refclassid = 'pg_authid'::regclass AND r.rolname = ANY ($1)
	AND NOT (s.dbid = 0 AND s.classid = 'pg_database'::regclass AND s.objid = coalesce(d.oid, 0))
	AND NOT (s.dbid = 0 AND s.classid = 'pg_auth_members'::regclass)
	AND NOT (s.dbid = coalesce(d.oid, 0) AND $3 = '')
	AND NOT (s.dbid = coalesce(d.oid, 0) AND (s.deptype <> 'o' OR s.classid = 'pg_default_acl'::regclass
		OR s.classid = 'pg_namespace'::regclass AND s.objid = coalesce((SELECT oid FROM pg_namespace WHERE nspname = $3), 0)
		OR coalesce((pg_identify_object(s.classid, s.objid, s.objsubid)).schema = quote_ident($3), false)))
	ORDER BY 1 LIMIT 20`

// checkHeld refuses to delete a tenant half: its roles must not own or hold anything elsewhere.
func (s *session) checkHeld(ctx context.Context, f *found) error {
	schema := ""
	switch f.at.place.Isolation {
	case tenant.IsolationSchema:
		schema = f.at.schema
	case tenant.IsolationRow:
		schema = "-" // no schema is called so: all that they own is named
	}
	doing := "looking for what the roles of " + f.at.String() + " hold elsewhere"
	rows, err := s.conn.Query(ctx, heldQuery, f.at.roles(), f.at.database, schema)
	if err != nil {
		return classify(doing, err)
	}
	defer rows.Close()
	var held []string
	for rows.Next() {
		var what string
		if err := rows.Scan(&what); err != nil {
			return classify(doing, err)
		}
		held = append(held, what)
	}
	if err := rows.Err(); err != nil || len(held) == 0 {
		return classify(doing, err)
	}
	failure := tenant.Fail(tenant.CodeDatabaseDrift, "deleting "+f.at.String(),
		fmt.Errorf("its roles own, or hold privileges on, %s", strings.Join(held, "; ")))
	failure.Remedy = "Drop these objects, give them to another role (REASSIGN OWNED) or revoke the privileges, then apply again."
	return failure
}

const (
	idleWait  = 5 * time.Second // as PostgreSQL itself waits before it says that a database is in use
	idlePause = 50 * time.Millisecond
)

// awaitIdle waits until nobody has a session open as one of the tenant's roles, nor in the tenant's own database; with
// force it ends such sessions.
func (s *session) awaitIdle(ctx context.Context, f *found, force bool) error {
	doing := "waiting for the sessions in " + f.at.String()
	database := ""
	if f.at.place.Isolation == tenant.IsolationDatabase {
		database = f.at.database
	}
	text := `SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND (usename = ANY ($1) OR datname = $2)`
	if force {
		if err := s.exec(ctx, doing, join(f.present()...)); err != nil {
			return err
		}
		text = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE pid <> pg_backend_pid() AND (usename = ANY ($1) OR datname = $2)`
	}
	patience := time.NewTimer(idleWait)
	defer patience.Stop()
	ticker := time.NewTicker(idlePause)
	defer ticker.Stop()
	for {
		var open int
		if err := s.conn.QueryRow(ctx, text, f.present(), database).Scan(&open); err != nil {
			return classify(doing, err)
		}
		if open == 0 {
			return nil
		}
		select {
		case <-ticker.C:
		case <-patience.C:
			return tenant.Fail(tenant.CodeBusy, doing, fmt.Errorf("%d sessions are open", open))
		case <-ctx.Done():
			return classify(doing, ctx.Err())
		}
	}
}

func isAbsent(err error) bool { return errors.Is(err, tenant.ErrAbsent) }

// joined keeps the failure that needs a person in front.
func joined(failed []error) error {
	var out error
	for _, err := range failed {
		if out == nil ||
			tenant.FailureOf(out).Class == tenant.Retryable &&
				tenant.FailureOf(err).Class == tenant.Terminal {
			out = errors.Join(err, out)
			continue
		}
		out = errors.Join(out, err)
	}
	return out
}

// encodeArray writes names as an array's text form; they need no quotes.
func encodeArray(names []string) string { return "{" + strings.Join(names, ",") + "}" }
