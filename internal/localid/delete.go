package localid

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Delete removes what is the tenant's: its people first, unless something else needs their accounts, the organization
// last, because it says who the others are. What is foreign stays, and is told once the rest is gone.
func (s *Store) Delete(
	ctx context.Context, id tenant.ID, names tenant.IdentityNames, journal tenant.Journal,
) error {
	if err := s.only(id, names); err != nil {
		return err
	}
	db, err := s.existing(ctx)
	if errors.Is(err, tenant.ErrAbsent) {
		return s.removedParts(ctx, observed{}, id, journal)
	}
	if err != nil {
		return err
	}
	seen, err := observe(ctx, db, s.name(id))
	if err != nil {
		return err
	}
	foreign, err := s.disown(&seen, id)
	if err != nil {
		return err
	}
	foreignPerson, err := s.deletePeople(ctx, db, id, seen, journal)
	if err != nil {
		return err
	}
	if err := s.deleteParts(ctx, db, seen, id, journal); err != nil {
		return err
	}
	return errors.Join(foreign, foreignPerson)
}

// disown forgets what was seen of foreign objects, and returns the failure that names the first.
func (s *Store) disown(seen *observed, id tenant.ID) (foreign, err error) {
	o, a := &seen.organization, &seen.application
	if a.id != "" {
		err := s.config.Keyring.Owns(s.applicationObject(id), a.mark)
		if err != nil && !errors.Is(err, tenant.ErrForeign) {
			return nil, err
		}
		if err != nil {
			foreign, *a = err, application{}
		}
	}
	if o.id != "" {
		err := s.config.Keyring.Owns(s.organizationObject(id), o.mark)
		if err != nil && !errors.Is(err, tenant.ErrForeign) {
			return nil, err
		}
		if err != nil {
			foreign, *o, seen.administrator = err, organization{}, user{}
		}
	}
	return foreign, nil
}

// deletePeople releases everybody that this tenant has made or appointed. It returns the failure that names a foreign
// administrator.
func (s *Store) deletePeople(
	ctx context.Context, db *sql.DB, id tenant.ID, seen observed, journal tenant.Journal,
) (foreign, err error) {
	all, err := people(ctx, db, `
		SELECT u.id, u.email, u.name, u.mark FROM users u WHERE u.owner = ? OR u.id = ? OR EXISTS (
			SELECT 1 FROM memberships m WHERE m.user_id = u.id AND m.organization_id = ? AND m.managed = 1)`,
		s.owner(id), seen.organization.administratorID, seen.organization.id)
	if err != nil {
		return nil, err
	}
	if len(all) > 0 {
		if err := s.release(ctx, db, id, seen.organization.id, all); err != nil {
			return nil, err
		}
		tenant.Failpoint(ctx, "user.deleted")
	}
	keys := emailKeys(all)
	if email := seen.organization.administratorCall.Email; email != "" {
		keys = append(keys, emailKey(email))
	}
	if err := removedUsers(ctx, db, id, keys, journal); err != nil {
		return nil, err
	}
	if seen.administrator.id == "" {
		return nil, nil
	}
	_, foreign = s.ownerOf(seen.administrator, id)
	return foreign, nil
}

// people reads id, e-mail address, name and mark of the users that query selects.
func people(ctx context.Context, q querier, query string, args ...any) (_ []user, err error) {
	const doing = "reading the people of an organization"
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, sqlitefile.Classify(doing, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var all []user
	for rows.Next() {
		var one user
		if err := rows.Scan(&one.id, &one.email, &one.name, &one.mark); err != nil {
			return nil, sqlitefile.Classify(doing, err)
		}
		all = append(all, one)
	}
	return all, sqlitefile.Classify(doing, rows.Err())
}

func emailKeys(all []user) []string {
	keys := make([]string, 0, len(all))
	for _, one := range all {
		keys = append(keys, emailKey(one.email))
	}
	return keys
}

// release ends, in one transaction, the memberships that we have given the people in the organization, and removes
// those accounts that carry a mark of ours and that no organization needs any more.
func (s *Store) release(
	ctx context.Context, db *sql.DB, id tenant.ID, organizationID string, all []user,
) error {
	return inTx(ctx, db, "releasing the people of "+s.name(id), func(tx *sql.Tx) error {
		for _, person := range all {
			if err := s.releaseOne(ctx, tx, id, organizationID, person); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Store) releaseOne(
	ctx context.Context, tx *sql.Tx, id tenant.ID, organizationID string, person user,
) error {
	_, err := tx.ExecContext(ctx,
		`DELETE FROM memberships WHERE organization_id = ? AND user_id = ? AND managed = 1`,
		organizationID, person.id)
	if err != nil {
		return err
	}
	_, err = s.ownerOf(person, id)
	if errors.Is(err, tenant.ErrForeign) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		DELETE FROM users WHERE id = ? AND mark = ?
		AND NOT EXISTS (SELECT 1 FROM organizations o WHERE o.administrator_id = users.id AND o.id <> ?)
		AND NOT EXISTS (SELECT 1 FROM memberships m JOIN organizations o ON o.id = m.organization_id
		                WHERE m.user_id = users.id AND o.id <> ?)`,
		person.id, person.mark, organizationID, organizationID)
	return err
}

// removedUsers tells the journal of the accounts that are gone.
func removedUsers(
	ctx context.Context, db *sql.DB, id tenant.ID, keys []string, journal tenant.Journal,
) error {
	for _, key := range keys {
		left, err := findUser(ctx, db, key)
		if err != nil {
			return err
		}
		if left.id != "" {
			continue
		}
		if err := journal.Removed(ctx, userObject(id, key)); err != nil {
			return err
		}
		tenant.Failpoint(ctx, "user.removed")
	}
	return nil
}

func (s *Store) deleteParts(
	ctx context.Context, db *sql.DB, seen observed, id tenant.ID, journal tenant.Journal,
) error {
	if seen.application.id != "" {
		_, err := db.ExecContext(ctx, `DELETE FROM applications WHERE id = ? AND mark = ?`,
			seen.application.id, seen.application.mark)
		if err != nil {
			return sqlitefile.Classify("deleting "+s.applicationObject(id).String(), err)
		}
		tenant.Failpoint(ctx, "application.deleted")
	}
	left, err := observe(ctx, db, s.name(id))
	if err != nil {
		return err
	}
	// The application's removal is told while the organization is still there to bring a later Delete back here.
	if err := s.removedApplication(ctx, left, id, journal); err != nil {
		return err
	}
	if seen.organization.id != "" {
		_, err := db.ExecContext(ctx, `DELETE FROM organizations WHERE id = ? AND mark = ?`,
			seen.organization.id, seen.organization.mark)
		if err != nil {
			return sqlitefile.Classify("deleting "+s.organizationObject(id).String(), err)
		}
		tenant.Failpoint(ctx, "organization.deleted")
	}
	if left, err = observe(ctx, db, s.name(id)); err != nil {
		return err
	}
	return s.removedOrganization(ctx, left, id, journal)
}

func (s *Store) removedParts(ctx context.Context, left observed, id tenant.ID, journal tenant.Journal) error {
	if err := s.removedApplication(ctx, left, id, journal); err != nil {
		return err
	}
	return s.removedOrganization(ctx, left, id, journal)
}

func (s *Store) removedApplication(
	ctx context.Context, left observed, id tenant.ID, journal tenant.Journal,
) error {
	if left.application.id != "" {
		return nil
	}
	err := journal.Removed(ctx, s.applicationObject(id))
	tenant.Failpoint(ctx, "application.removed")
	return err
}

func (s *Store) removedOrganization(
	ctx context.Context, left observed, id tenant.ID, journal tenant.Journal,
) error {
	if left.organization.id != "" {
		return nil
	}
	err := journal.Removed(ctx, s.organizationObject(id))
	tenant.Failpoint(ctx, "organization.removed")
	return err
}
