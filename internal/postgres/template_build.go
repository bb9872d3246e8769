package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// build makes a template, under the lock of the installation's templates. A half-built one is begun again.
func (s *session) build(
	ctx context.Context,
	name string,
	files tenant.Migrations,
	extensions []string,
) error {
	doing := "building the template " + name
	if err := s.templateRoles(ctx); err != nil {
		return err
	}
	if err := s.dropTemplate(ctx, name); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "template.begun")
	if err := s.exec(
		ctx,
		doing,
		"CREATE DATABASE "+ident(name)+" OWNER "+ident(s.templateKeeper()),
	); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "template.created")
	if err := s.fill(ctx, name, files, extensions); err != nil {
		if dropped := s.dropTemplate(ctx, name); dropped != nil {
			return dropped
		}
		return err
	}
	tenant.Failpoint(ctx, "template.filled")
	mark := comment(s.config.Keyring.Mark(templateObject(name)), built{s.config.Now().UTC()})
	err := s.exec(ctx, doing,
		"ALTER ROLE "+ident(s.templateOwner())+" NOLOGIN PASSWORD NULL",
		"REVOKE ALL ON DATABASE "+ident(name)+" FROM PUBLIC, "+ident(s.templateOwner()),
		"COMMENT ON DATABASE "+ident(name)+" IS "+literal(mark),
		"ALTER DATABASE "+ident(name)+" WITH ALLOW_CONNECTIONS false IS_TEMPLATE true")
	if err != nil {
		return err
	}
	tenant.Failpoint(ctx, "template.published")
	return s.prune(ctx, name)
}

// templateRoles makes the two roles, marked in the transaction that creates them.
func (s *session) templateRoles(ctx context.Context) error {
	for _, role := range []string{s.templateKeeper(), s.templateOwner()} {
		mark, there, err := s.roleComment(ctx, role)
		if err != nil {
			return err
		}
		if there {
			if err := s.config.Keyring.Owns(
				templateObject(role),
				parseComment(mark, &struct{}{}),
			); err != nil {
				return err
			}
			continue
		}
		if err := s.exec(ctx, "creating the role "+role,
			"CREATE ROLE "+ident(role)+" NOLOGIN",
			"COMMENT ON ROLE "+ident(role)+" IS "+literal(s.config.Keyring.Mark(templateObject(role))),
			"GRANT "+ident(role)+" TO CURRENT_USER"); err != nil {
			return err
		}
		tenant.Failpoint(ctx, "template.role")
	}
	return nil
}

// roleComment returns a role's comment, and whether the role exists.
func (s *session) roleComment(ctx context.Context, role string) (text string, there bool, err error) {
	err = s.conn.QueryRow(ctx, `SELECT coalesce(max(shobj_description(oid, 'pg_authid')), ''), count(*) > 0
		FROM pg_roles WHERE rolname = $1`, role).Scan(&text, &there)
	return text, there, classify("looking for the role "+role, err)
}

// dropTemplate removes a template of ours; one in use, or one that is somebody else's, makes it fail.
func (s *session) dropTemplate(ctx context.Context, name string) error {
	var owner string
	doing := "removing the template " + name
	err := s.conn.QueryRow(ctx, `SELECT coalesce(max(pg_get_userbyid(datdba)), '') FROM pg_database WHERE datname = $1`,
		name).
		Scan(&owner)
	if err != nil || owner == "" {
		return classify(doing, err)
	}
	if owner != s.templateKeeper() {
		return tenant.Fail(
			tenant.CodeForeign,
			doing,
			fmt.Errorf("%w: it belongs to %s", tenant.ErrForeign, owner),
		)
	}
	if err := s.exec(ctx, doing, "COMMENT ON DATABASE "+ident(name)+" IS NULL",
		"ALTER DATABASE "+ident(name)+" WITH IS_TEMPLATE false"); err != nil {
		return err
	}
	return s.exec(ctx, doing, "DROP DATABASE "+ident(name)+" WITH (FORCE)")
}

// prune removes all but the newest templates, those excepted that somebody clones right now. One that is still needed
// is built again.
func (s *session) prune(ctx context.Context, newest string) error {
	rows, err := s.conn.Query(ctx, `SELECT datname, coalesce(shobj_description(oid, 'pg_database'), '')
		FROM pg_database WHERE datdba = to_regrole($1)`, ident(s.templateKeeper()))
	if err != nil {
		return classify("listing templates", err)
	}
	type dated struct {
		name string
		built
	}
	var all []dated
	for rows.Next() {
		var one dated
		var text string
		if err := rows.Scan(&one.name, &text); err != nil {
			return classify("listing templates", err)
		}
		if parseComment(text, &one.built); one.name != newest {
			all = append(all, one)
		}
	}
	if err := rows.Err(); err != nil {
		return classify("listing templates", err)
	}
	slices.SortFunc(all, func(a, b dated) int { return b.At.Compare(a.At) })
	for _, old := range all[min(len(all), templatesKept):] {
		if err := s.dropUnused(ctx, old.name); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) dropUnused(ctx context.Context, name string) error {
	if err := s.exec(ctx, "preparing", "SET lock_timeout = 100"); err != nil {
		return err
	}
	err := s.dropTemplate(ctx, name)
	if tenant.HasCode(err, tenant.CodeBusy) {
		err = nil
	}
	return errorOr(err, func() error { return s.exec(ctx, "ending", "RESET lock_timeout") })
}

// fill puts our own tables, the extensions and the migrations into a new template, logged in as the one who will own
// them; that role can log in only meanwhile.
func (s *session) fill(ctx context.Context, name string, files tenant.Migrations, extensions []string) error {
	doing, owner := "filling the template "+name, ident(s.templateOwner())
	password := tenant.NewSecret(newIncarnation() + newIncarnation())
	stored, err := verifier(password, ownIterations)
	if err != nil {
		return err
	}
	err = s.exec(ctx, doing, "ALTER ROLE "+owner+" LOGIN PASSWORD "+literal(stored),
		"GRANT CREATE, TEMPORARY ON DATABASE "+ident(name)+" TO "+owner)
	if err != nil {
		return err
	}
	if err := s.inDatabase(ctx, name, doing, "GRANT USAGE, CREATE ON SCHEMA public TO "+owner); err != nil {
		return err
	}
	if err := s.fillAs(ctx, login{
		database: name, role: s.templateOwner(), password: password, schema: "public", timeouts: true,
	}, files, extensions); err != nil {
		return err
	}
	return s.inDatabase(ctx, name, doing, "REVOKE ALL ON SCHEMA public FROM "+owner)
}

func (s *session) fillAs(ctx context.Context, as login, files tenant.Migrations, extensions []string) error {
	doing := "filling the template " + as.database
	db, err := s.open(ctx, as)
	if err != nil {
		return classify(doing, err)
	}
	defer func() { _ = db.Close() }() // what counts is committed
	if _, err := db.ExecContext(ctx, bookkeeping); err != nil {
		return classify(doing, err)
	}
	if err := extend(ctx, db, extensions, as.database); err != nil {
		return err
	}
	if _, err := migrate(ctx, db, "the template "+as.database, files); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, recordListing, as.schema, true, ownTables(), "", []string{})
	return classify(doing, err)
}
