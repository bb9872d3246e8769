package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenantry/terraform-provider-tenant/internal/migrations"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// PlanDatabase looks as Ensure would before its first write.
func (b *Backend) PlanDatabase(ctx context.Context, spec tenant.DatabaseSpec) (notes []string, err error) {
	at, err := b.locate(spec.Tenant, spec.Place)
	if err != nil {
		return nil, err
	}
	if err := b.checkExtensions(spec.Extensions); err != nil {
		return nil, err
	}
	err = b.work(ctx, func(ctx context.Context, s *session) error {
		f, err := s.look(ctx, at)
		switch {
		case err != nil && f != nil && f.claimed && spec.Claim:
			notes, err = s.planClaim(ctx, f, spec)
			return err
		case err != nil:
			return err
		}
		notes, err = s.plan(ctx, f, spec)
		return err
	})
	return notes, err
}

func (s *session) plan(ctx context.Context, f *found, spec tenant.DatabaseSpec) ([]string, error) {
	if f.at.place.Isolation == tenant.IsolationRow {
		if _, err := s.checkPool(ctx, spec.Migrations); err != nil {
			return nil, err
		}
	}
	if f.exists {
		return nil, nil
	}
	if spec.Claim {
		return nil, nothingToClaim(f.at)
	}
	if f.role && f.record.Pool != "" && f.record.Pool != s.config.Pool {
		return nil, elsewhere(f)
	}
	if err := s.checkRoom(ctx, f, spec.MaxTenants); err != nil {
		return nil, err
	}
	if f.at.place.Isolation != tenant.IsolationDatabase {
		return nil, nil
	}
	reason, err := personal(spec.Migrations)
	if err != nil || reason == "" {
		return nil, err
	}
	return []string{
		fmt.Sprintf(
			"The migrations can't be cloned, because what they write may differ from tenant to tenant "+
				"(%s): they will be run in the new database.",
			reason,
		),
	}, nil
}

// checkRoom looks for a place without taking it.
func (s *session) checkRoom(ctx context.Context, f *found, limit int64) error {
	if f.role || limit == 0 {
		return nil
	}
	taken, err := s.countTenants(ctx)
	if err == nil && taken >= limit {
		err = s.full(f.at, taken, limit)
	}
	return err
}

func nothingToClaim(at location) error {
	return tenant.Fail(
		tenant.CodeNotFound,
		"claiming "+at.String(),
		errors.New("there is no such "+string(at.place.Isolation)),
	)
}

// PlanDisposal looks for what the tenant's roles hold elsewhere.
func (b *Backend) PlanDisposal(
	ctx context.Context,
	id tenant.ID,
	place tenant.Place,
	how tenant.Disposal,
) error {
	at, err := b.locate(id, place)
	if err != nil {
		return err
	}
	if err := b.checkDisposal(at, how); err != nil || how.How == tenant.Retain {
		return err
	}
	return b.work(ctx, func(ctx context.Context, s *session) error {
		f, err := s.look(ctx, at)
		if err != nil || !f.role {
			return err
		}
		return s.checkHeld(ctx, f)
	})
}

// planClaim says what a claim would change.
func (s *session) planClaim(ctx context.Context, f *found, spec tenant.DatabaseSpec) ([]string, error) {
	if err := s.checkClaim(f, spec); err != nil {
		return nil, err
	}
	_, owner, _ := f.object()
	notes := []string{
		fmt.Sprintf(
			"The %s %s carries nobody's mark; the apply puts ours on it.",
			f.at.place.Isolation,
			f.at.place.Name,
		),
		fmt.Sprintf(
			"It and all that is in it goes from %s to the new role %s; the application gets the new role %s.",
			owner,
			f.at.owner,
			f.at.login(s.wanted(record{}, spec)),
		),
	}
	if f.Database != nil && f.at.place.Isolation == tenant.IsolationDatabase && len(f.Database.Public) > 0 {
		notes = append(
			notes,
			fmt.Sprintf("Everybody's privileges on it (%v) are revoked.", f.Database.Public),
		)
	}
	applied, err := s.appliedBefore(ctx, f)
	if err != nil {
		return nil, err
	}
	if len(applied) == 0 && spec.Baseline > 0 {
		notes = append(
			notes,
			fmt.Sprintf("It has no record of migrations; the files up to version %d are recorded "+
				"as applied without being run.", spec.Baseline),
		)
		for _, file := range spec.Migrations.Files {
			if file.Version <= spec.Baseline {
				applied = append(applied, file)
			}
		}
	}
	pending, err := spec.Migrations.Pending(applied)
	for _, file := range pending {
		notes = append(notes, "Migration "+file.Name+" will be run.")
	}
	return notes, err
}

// appliedBefore reads the record of migrations in somebody's database. As the administrator it reads plain tables only: a
// view, or a policy, could run its author's code.
func (s *session) appliedBefore(ctx context.Context, f *found) ([]tenant.Migration, error) {
	doing := "reading the applied migrations of " + f.at.String()
	db, err := s.open(ctx, login{database: f.at.database, schema: f.at.schema})
	if err != nil {
		return nil, classify(doing, err)
	}
	defer func() { _ = db.Close() }() // nothing was written
	var plain bool
	err = db.QueryRowContext(ctx, `SELECT NOT EXISTS (SELECT FROM pg_class WHERE oid IN
		(to_regclass('goose_db_version'), to_regclass('tenantry_migrations')) AND (relkind <> 'r' OR relrowsecurity))`).Scan(&plain)
	if err != nil {
		return nil, classify(doing, err)
	}
	if !plain {
		return nil, tenant.Fail(
			tenant.CodeForeign,
			doing,
			errors.New("its record of migrations is no plain table"),
		)
	}
	applied, err := migrations.Applied(ctx, db, migrations.PostgreSQL())
	return applied, classify(doing, err)
}
