package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// createDatabase makes the roles, then the clone, closed to everybody until its privileges are right.
func (s *session) createDatabase(
	ctx context.Context, f *found, want record, from *template, spec tenant.DatabaseSpec,
	release func(context.Context) error,
) error {
	if err := s.makeRoles(ctx, f, want, join(f.at.owner)); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "database.roles")
	if err := release(ctx); err != nil {
		return err
	}
	from, err := s.clone(ctx, f, from, spec)
	if err != nil {
		return err
	}
	tenant.Failpoint(ctx, "database.cloned")
	if err := s.openClone(ctx, f); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "database.opened")
	if err := s.adoptClone(ctx, f); err != nil {
		return err
	}
	if from.migrated {
		f.cloned = append([]tenant.Migration{}, spec.Migrations.Files...)
	}
	return nil
}

// clone copies the template. One that was removed meanwhile is built again.
func (s *session) clone(
	ctx context.Context, f *found, from *template, spec tenant.DatabaseSpec,
) (*template, error) {
	doing := "creating the database " + f.at.database
	strategy := "wal_log"
	if f.FileCopy {
		strategy = "file_copy"
	}
	for attempt := 0; ; attempt++ {
		err := s.exec(
			ctx,
			doing,
			fmt.Sprintf("CREATE DATABASE %s OWNER %s TEMPLATE %s STRATEGY %s ALLOW_CONNECTIONS false",
				ident(f.at.database), ident(f.at.owner), ident(from.name), strategy),
		)
		switch state(err) {
		case stateNoDatabase:
			if attempt == 3 {
				return nil, err
			}
			if from, err = s.template(ctx, spec); err != nil {
				return nil, err
			}
			continue
		case stateDuplicateDatabase, stateUniqueViolation:
			dropped := s.dropRoles(ctx, f)
			return nil, errors.Join(
				&tenant.Failure{
					Code:  tenant.CodeForeign,
					Doing: doing,
					Err:   errors.Join(err, tenant.ErrForeign),
				},
				dropped,
			)
		}
		return from, err
	}
}

// openClone marks the new database, takes it from everybody else, makes sure of that, and opens it.
func (s *session) openClone(ctx context.Context, f *found) error {
	name, doing := ident(f.at.database), "opening the database "+f.at.database
	err := s.exec(ctx, doing,
		"COMMENT ON DATABASE "+name+" IS "+literal(s.config.Keyring.Mark(f.at.marked())),
		"REVOKE ALL ON DATABASE "+name+" FROM PUBLIC",
		"GRANT CONNECT ON DATABASE "+name+" TO "+ident(f.at.app),
	)
	if err != nil {
		return err
	}
	tenant.Failpoint(ctx, "database.closed")
	var public int
	err = s.conn.QueryRow(ctx, `SELECT count(*) FROM pg_database d,
		aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a WHERE d.datname = $1 AND a.grantee = 0`,
		f.at.database).Scan(&public)
	if err != nil {
		return classify(doing, err)
	}
	if public > 0 { // a REVOKE without the right to it is only a warning
		return tenant.Fail(tenant.CodeInvalidConfig, doing,
			fmt.Errorf("everybody still has %d privileges on it after they were revoked", public))
	}
	return s.exec(ctx, doing, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS true")
}

// adoptClone gives what the template's owner owns in the clone to the tenant's owner, and the application its
// privileges. Nobody but the migrations' authors has had a hand in the clone yet, so the administrator may enter it.
func (s *session) adoptClone(ctx context.Context, f *found) error {
	err := s.inDatabase(ctx, f.at.database, "taking over the clone "+f.at.database,
		"REASSIGN OWNED BY "+ident(s.templateOwner())+" TO "+ident(f.at.owner),
		grantBlock(f.at, f.record.ReadOnly),
		leave(f.at.owner),
	)
	if err != nil {
		return err
	}
	tenant.Failpoint(ctx, "database.taken_over")
	return nil
}

// createSchema makes the roles and the schema with its mark and our own tables in one transaction.
func (s *session) createSchema(
	ctx context.Context, f *found, want record, release func(context.Context) error,
) error {
	at := f.at
	more := []string{
		join(at.owner),
		"CREATE SCHEMA " + ident(at.schema) + " AUTHORIZATION " + ident(at.owner),
		"COMMENT ON SCHEMA " + ident(at.schema) + " IS " + literal(s.config.Keyring.Mark(at.marked())),
		"GRANT USAGE ON SCHEMA " + ident(at.schema) + " TO " + ident(at.app),
	}
	// Nothing of the tenant's is in the schema yet, so the administrator may act as the owner.
	more = append(
		more,
		"SET LOCAL ROLE "+ident(at.owner),
		"SET LOCAL search_path = "+ident(at.schema),
		bookkeeping,
		"RESET ROLE",
		"RESET search_path",
		grantBlock(at, want.ReadOnly),
		leave(at.owner),
	)
	if err := s.makeRoles(ctx, f, want, more...); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "database.schema")
	if err := release(ctx); err != nil {
		return err
	}
	return s.grantConnect(ctx, f)
}

// grantConnect lets the tenant's roles into the shared database if not everybody may connect to it.
func (s *session) grantConnect(ctx context.Context, f *found) error {
	var needed bool
	err := s.conn.QueryRow(ctx, `SELECT NOT (has_database_privilege($1, current_database(), 'CONNECT')
		AND has_database_privilege($2, current_database(), 'CONNECT'))`, f.at.owner, f.at.app).Scan(&needed)
	if err != nil || !needed {
		return classify("looking who may connect to "+f.at.database, err)
	}
	// Two grants on one database at once end in "tuple concurrently updated".
	lock := "grants on " + f.at.database
	if err := s.lock(ctx, lock); err != nil {
		return err
	}
	err = s.exec(ctx, "letting the roles of "+f.at.String()+" into "+f.at.database,
		"GRANT CONNECT ON DATABASE "+ident(f.at.database)+" TO "+ident(f.at.owner)+", "+ident(f.at.app))
	if err != nil {
		return err
	}
	return s.unlock(ctx, lock)
}

// dropRoles removes the roles of a tenant that has nothing; those that are not there are left out.
func (s *session) dropRoles(ctx context.Context, f *found) error {
	var statements []string
	for _, name := range []string{f.at.logins[0], f.at.logins[1], f.at.app, f.at.owner} {
		statements = append(statements, "DROP ROLE IF EXISTS "+ident(name))
	}
	return s.exec(ctx, "dropping the roles of "+f.at.String(), statements...)
}
