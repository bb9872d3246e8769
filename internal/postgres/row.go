package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Under row isolation a tenant is a row of tenantry_tenants and its roles. The roles' names stand in tenantry_logins,
// by which tenantry_tenant() tells whose session it is; the policies of the product's tables go by that function.

// lookRow returns the tenant's row; nil if there is none, or no pool yet. The table is read only if it is ours: a plain
// one of the pool's owner.
func (s *session) lookRow(ctx context.Context, at location) (*rowState, error) {
	doing := "looking for the row of " + string(at.tenant)
	var there, ours bool
	err := s.conn.QueryRow(ctx, `SELECT count(*) > 0, coalesce(bool_and(c.relkind = 'r' AND NOT c.relrowsecurity
		AND pg_get_userbyid(c.relowner) = $1), true) FROM pg_class c WHERE c.oid = to_regclass('public.tenantry_tenants')`,
		s.sharedRole("owner")).
		Scan(&there, &ours)
	if err != nil || !there {
		return nil, classify(doing, err)
	}
	if !ours {
		return nil, tenant.Fail(
			tenant.CodeForeign,
			doing,
			fmt.Errorf(
				"%w: the table tenantry_tenants of %s belongs to somebody else",
				tenant.ErrForeign,
				at.database,
			),
		)
	}
	rows, err := s.conn.Query(ctx, `SELECT t.mark, l.login::text FROM public.tenantry_tenants t
		LEFT JOIN public.tenantry_logins l USING (tenant_id) WHERE t.tenant_id = $1`, string(at.tenant))
	if err != nil {
		return nil, classify(doing, err)
	}
	defer rows.Close()
	var out *rowState
	for rows.Next() {
		if out == nil {
			out = &rowState{}
		}
		var login *string
		if err := rows.Scan(&out.Mark, &login); err != nil {
			return nil, classify(doing, err)
		}
		if login != nil {
			out.Logins = append(out.Logins, *login)
		}
	}
	return out, classify(doing, rows.Err())
}

func (s *session) ensureRow(
	ctx context.Context, f *found, spec tenant.DatabaseSpec, journal tenant.Journal,
) (tenant.Database, error) {
	applied, err := s.checkPool(ctx, spec.Migrations)
	if err != nil {
		return tenant.Database{}, err
	}
	if !f.exists && spec.Claim {
		return tenant.Database{}, nothingToClaim(f.at)
	}
	if f.exists {
		err = journal.Adopted(ctx, f.at.object(), f.at.externalID())
		tenant.Failpoint(ctx, "database.adopted")
	} else {
		err = s.createRow(ctx, f, spec, journal)
	}
	if err != nil {
		return tenant.Database{}, err
	}
	return s.convergeRow(ctx, f, spec, applied)
}

func (s *session) createRow(
	ctx context.Context,
	f *found,
	spec tenant.DatabaseSpec,
	journal tenant.Journal,
) error {
	at, want := f.at, s.wanted(f.record, spec)
	if f.role && f.record.Pool != "" && f.record.Pool != s.config.Pool {
		return elsewhere(f)
	}
	release, err := s.takePlace(ctx, f, spec.MaxTenants)
	if err != nil {
		return err
	}
	f.changed, f.fresh = true, true
	_, err = tenant.Make(ctx, journal, at.object(), func(ctx context.Context) (string, error) {
		mark := s.config.Keyring.Mark(at.marked())
		more := []string{
			"INSERT INTO public.tenantry_tenants (tenant_id, mark) VALUES (" + literal(
				string(at.tenant),
			) + ", " + literal(
				mark,
			) + ")",
			addLogin(at, at.owner),
			addLogin(at, at.login(want)),
			"GRANT " + ident(s.sharedRole("seed")) + " TO " + ident(at.owner),
			"GRANT " + ident(s.group(want)) + " TO " + ident(at.app),
		}
		if err := s.makeRoles(ctx, f, want, more...); err != nil {
			return "", err
		}
		tenant.Failpoint(ctx, "database.row")
		return at.externalID(), errors.Join(release(ctx), s.grantConnect(ctx, f))
	})
	return err
}

func addLogin(at location, role string) string {
	return "INSERT INTO public.tenantry_logins (login, tenant_id) VALUES (" + literal(
		role,
	) + ", " + literal(
		string(at.tenant),
	) +
		") ON CONFLICT DO NOTHING"
}

// group returns the role whose privileges the application has.
func (b *Backend) group(want record) string {
	if want.ReadOnly {
		return b.sharedRole("read")
	}
	return b.sharedRole("app")
}

func (s *session) convergeRow(
	ctx context.Context, f *found, spec tenant.DatabaseSpec, applied []tenant.Migration,
) (tenant.Database, error) {
	if f.changed {
		again, err := s.look(ctx, f.at)
		if err != nil {
			return tenant.Database{}, err
		}
		again.fresh, f = f.fresh, again
	}
	if !f.fresh {
		for _, of := range s.accounts(f) {
			if err := s.mendPassword(ctx, f, of); err != nil {
				return tenant.Database{}, err
			}
		}
	}
	if err := s.mend(ctx, f, s.wanted(f.record, spec)); err != nil {
		return tenant.Database{}, err
	}
	lost, err := s.lost(f)
	return s.database(f, applied, sortDrift(lost)), err
}

// rowRepairs compares what is the tenant's in the shared database with what createRow makes.
func (s *session) rowRepairs(f *found, want record) []repair {
	if f.Row == nil {
		return nil
	}
	var out []repair
	at := f.at
	for _, login := range []string{at.owner, at.login(want)} {
		if !slices.Contains(f.Row.Logins, login) {
			out = append(
				out,
				repair{
					what:       "role " + login + " is nobody's in tenantry_logins",
					statements: []string{addLogin(at, login)},
				},
			)
		}
	}
	out = append(out, memberRepairs(f, at.app, s.group(want))...)
	return append(out, memberRepairs(f, at.owner, s.sharedRole("seed"))...)
}

// memberRepairs make the role a member of the group and of no other.
func memberRepairs(f *found, role, group string) []repair {
	if _, there := f.Roles[role]; !there {
		return []repair{
			{what: missing(role), statements: []string{"GRANT " + ident(group) + " TO " + ident(role)}},
		}
	}
	var out []repair
	for _, other := range f.Roles[role].Of {
		if other != group {
			out = append(out, revoke(role, f.Roles[role], other))
		}
	}
	if !f.memberOf(role, group) {
		out = append(out, repair{
			what:       "role " + role + " is no member of " + group,
			statements: []string{"GRANT " + ident(group) + " TO " + ident(role)},
		})
	}
	return out
}

func (s *session) readRow(ctx context.Context, f *found) (tenant.Database, error) {
	drift, err := s.outerDrift(ctx, f)
	if err != nil {
		return tenant.Database{}, err
	}
	var applied []tenant.Migration
	err = s.inPool(ctx, func(p *pooled) (err error) {
		if applied, err = p.applied(ctx); err != nil {
			return err
		}
		open, err := p.unprotected(ctx)
		for _, one := range open {
			drift = append(
				drift,
				tenant.Drift{What: one, Loss: "the way the table is; a migration of the pool has to mend it"},
			)
		}
		return err
	})
	return s.database(f, applied, sortDrift(drift)), err
}
