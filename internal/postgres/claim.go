package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tenantry/terraform-provider-tenant/internal/migrations"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func (s *session) checkClaim(f *found, spec tenant.DatabaseSpec) error {
	if err := migrations.CheckBaseline(spec.Migrations, spec.Baseline); err != nil {
		return err
	}
	if f.mine() {
		return nil
	}
	_, owner, _ := f.object()
	failure := tenant.Fail(tenant.CodeInvalidConfig, "claiming "+f.at.String(),
		fmt.Errorf("it belongs to %s, and the administrator %s is no member of that role", owner, f.Admin))
	failure.Remedy = "Have " + owner + " or a superuser GRANT " + owner + " TO " + f.Admin + ", or change the owner, then apply again."
	return failure
}

// claim makes the roles and gives them, in one transaction, a database or schema that carries nobody's mark.
func (s *session) claim(
	ctx context.Context, f *found, spec tenant.DatabaseSpec, journal tenant.Journal,
) (tenant.Database, error) {
	if err := s.checkClaim(f, spec); err != nil {
		return tenant.Database{}, err
	}
	statements := statementsOf(s.objectRepairs(f))
	if err := s.makeRoles(ctx, f, s.wanted(f.record, spec), asOwner(f.at, statements...)...); err != nil {
		return tenant.Database{}, err
	}
	tenant.Failpoint(ctx, "database.claimed")
	if f.at.place.Isolation == tenant.IsolationSchema {
		if err := s.grantConnect(ctx, f); err != nil {
			return tenant.Database{}, err
		}
	}
	if err := journal.Adopted(ctx, f.at.object(), f.at.externalID()); err != nil {
		return tenant.Database{}, err
	}
	f.changed = true
	return s.converge(ctx, f, spec)
}

// takeOver gives the tenant's owner what somebody else owns in the database or schema, as far as the administrator may.
func (s *session) takeOver(ctx context.Context, f *found) error {
	doing := "taking over what others own in " + f.at.String()
	if err := s.exec(ctx, doing, join(f.at.owner)); err != nil {
		return err
	}
	conn, err := s.dial(ctx, f.at.database)
	if err != nil {
		return err
	}
	defer hangUp(ctx, conn)
	rows, err := conn.Query(ctx, strangers, f.at.schema, f.at.owner,
		f.at.place.Isolation == tenant.IsolationDatabase, f.Admin)
	if err != nil {
		return classify(doing, err)
	}
	objects, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (o owned, err error) {
		return o, row.Scan(&o.name, &o.owner, &o.mine)
	})
	if err != nil {
		return classify(doing, err)
	}
	objects = slices.DeleteFunc(objects, func(o owned) bool { return !o.mine })
	for _, object := range objects {
		if _, err := conn.Exec(ctx, "ALTER "+object.name+" OWNER TO "+ident(f.at.owner)); err != nil {
			return classify(doing+": "+object.name, err)
		}
	}
	tenant.Failpoint(ctx, "database.owned")
	return s.exec(ctx, doing, leave(f.at.owner))
}
