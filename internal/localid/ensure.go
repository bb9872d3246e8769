package localid

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// ensuring is one Ensure at work.
type ensuring struct {
	*Store
	db      *sql.DB
	spec    tenant.IdentitySpec
	journal tenant.Journal
	seen    observed
	person  user      // has the administrator's e-mail address
	owner   tenant.ID // of the person
}

// Ensure makes the identity as spec says. It looks for foreign objects and checks the administrator before it writes
// anything.
//
// A person who already is another tenant's administrator becomes a member of this one, too, and keeps their own data.
// When the administrator changes, the former one's membership ends, and their account goes if it is ours and nothing
// else needs it. A rotated secret keeps the previous one valid for SecretOverlap.
func (s *Store) Ensure(
	ctx context.Context, spec tenant.IdentitySpec, journal tenant.Journal,
) (tenant.Identity, error) {
	if err := errors.Join(s.offered(spec), checkSpec(spec)); err != nil {
		return tenant.Identity{}, err
	}
	db, err := s.opened(ctx)
	if err != nil {
		return tenant.Identity{}, err
	}
	spec.RedirectURIs, spec.Roles = asSet(spec.RedirectURIs), asSet(spec.Roles)
	e := &ensuring{Store: s, db: db, spec: spec, journal: journal}
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return e.look(ctx, db) },
		e.ensureOrganization, e.ensureApplication, e.ensureAdministrator, e.settle, e.retireFormer,
	} {
		if err := step(ctx); err != nil {
			return tenant.Identity{}, err
		}
	}
	return s.Read(ctx, spec.Tenant, spec.Names)
}

func asSet(list []string) []string {
	set := slices.Clone(list)
	slices.Sort(set)
	return slices.Compact(append([]string{}, set...))
}

// look observes, and refuses whatever is in the way and not ours.
func (e *ensuring) look(ctx context.Context, q querier) error {
	seen, err := observe(ctx, q, e.name(e.spec.Tenant))
	if err != nil {
		return err
	}
	person, err := findUser(ctx, q, emailKey(e.spec.Administrator.Email))
	if err != nil {
		return err
	}
	e.seen, e.person = seen, person
	if seen.organization.id != "" {
		err = e.config.Keyring.Owns(e.organizationObject(e.spec.Tenant), seen.organization.mark)
	}
	if seen.application.id != "" && err == nil {
		err = e.config.Keyring.Owns(e.applicationObject(e.spec.Tenant), seen.application.mark)
	}
	if person.id != "" && err == nil {
		e.owner, err = e.ownerOf(person, e.spec.Tenant)
	}
	if err != nil {
		return err
	}
	return e.checkVersion()
}

// checkVersion refuses to bring an earlier secret back to life.
func (e *ensuring) checkVersion() error {
	wanted, stored := secretVersion(e.spec), e.seen.application.secret.version
	if wanted >= stored {
		return nil
	}
	return tenant.Fail(tenant.CodeInvalidConfig, "checking the secret of application "+e.seen.name,
		fmt.Errorf("its version is %d and can only be raised, not set to %d", stored, wanted))
}

// ensureOrganization creates the organization with its mark. An application that has survived its organization hands
// down what the secret is derived from, and that it was suspended.
func (e *ensuring) ensureOrganization(ctx context.Context) error {
	object := e.organizationObject(e.spec.Tenant)
	if e.seen.organization.id != "" {
		return e.journal.Adopted(ctx, object, e.seen.organization.id)
	}
	incarnation := e.seen.application.secret.incarnation
	if incarnation == "" {
		incarnation = newID()
	}
	made := organization{
		id: newID(), displayName: e.spec.DisplayName, enabled: e.wantEnabled(), incarnation: incarnation,
		mark: e.config.Keyring.Mark(object),
	}
	_, err := tenant.Make(ctx, e.journal, object, func(ctx context.Context) (string, error) {
		lost, err := lostRace(e.db.ExecContext(ctx, `
			INSERT INTO organizations (id, name, display_name, enabled, incarnation, mark) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (name) DO NOTHING`,
			made.id, object.Name, made.displayName, made.enabled, made.incarnation, made.mark))
		if err != nil {
			return "", sqlitefile.Classify("creating "+object.String(), err)
		}
		if lost {
			return e.seen.organization.id, e.lookAgain(ctx, func() string { return e.seen.organization.id })
		}
		e.seen.organization = made
		return made.id, nil
	})
	return err
}

// lostRace reports whether an INSERT … ON CONFLICT DO NOTHING found that somebody else was first.
func lostRace(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	rows, err := result.RowsAffected()
	return rows == 0, err
}

// lookAgain observes what somebody else has just made: it is adopted if it is ours.
func (e *ensuring) lookAgain(ctx context.Context, found func() string) error {
	if err := e.look(ctx, e.db); err != nil {
		return err
	}
	if found() == "" {
		return tenant.Fail(tenant.CodeConflict, "making the identity "+e.seen.name,
			errors.New("somebody made a part of it and removed it again"))
	}
	return nil
}

func (e *ensuring) wantEnabled() bool {
	if e.spec.Enabled != nil {
		return *e.spec.Enabled
	}
	return e.seen.enabled()
}

func (e *ensuring) ensureApplication(ctx context.Context) error {
	object := e.applicationObject(e.spec.Tenant)
	if e.seen.application.id != "" {
		return e.journal.Adopted(ctx, object, e.seen.application.id)
	}
	secret, err := e.wantedSecret(e.spec, e.seen.application.secret, e.seen.organization.incarnation)
	if err != nil {
		return err
	}
	made := application{
		id: newID(), redirectURIs: e.spec.RedirectURIs, roles: e.spec.Roles, enabled: e.wantEnabled(),
		secret: secret, mark: e.config.Keyring.Mark(object),
	}
	_, err = tenant.Make(ctx, e.journal, object, func(ctx context.Context) (string, error) {
		var lost bool
		err := inTx(ctx, e.db, "creating "+object.String(), func(tx *sql.Tx) (err error) {
			lost, err = insertApplication(ctx, tx, object.Name, made)
			return err
		})
		if err != nil {
			return "", err
		}
		if lost {
			err := e.lookAgain(ctx, func() string { return e.seen.application.id })
			return e.seen.application.id, err
		}
		e.seen.application = made
		return made.id, nil
	})
	return err
}

func insertApplication(ctx context.Context, tx *sql.Tx, clientID string, made application) (bool, error) {
	uris, err := json.Marshal(made.redirectURIs)
	if err != nil {
		return false, err
	}
	lost, err := lostRace(tx.ExecContext(ctx, `
		INSERT INTO applications (id, client_id, redirect_uris, enabled, secret_hash, secret_key_id,
		                          secret_version, incarnation, mark)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (client_id) DO NOTHING`,
		made.id, clientID, string(uris), made.enabled, made.secret.hash, made.secret.keyID,
		made.secret.version, made.secret.incarnation, made.mark))
	if err != nil || lost {
		return lost, err
	}
	return false, replaceRoles(ctx, tx, made.id, made.roles)
}

func replaceRoles(ctx context.Context, tx *sql.Tx, applicationID string, roles []string) error {
	list, err := json.Marshal(roles)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM roles WHERE application_id = ?`, applicationID)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO roles (application_id, name) SELECT ?, value FROM json_each(?)`, applicationID, string(list))
	return err
}

// ensureAdministrator creates the person together with their membership; nobody is told.
func (e *ensuring) ensureAdministrator(ctx context.Context) error {
	key := emailKey(e.spec.Administrator.Email)
	object := userObject(e.spec.Tenant, key)
	if e.person.id != "" {
		return e.journal.Adopted(ctx, object, e.person.id)
	}
	made := user{
		id: newID(), email: e.spec.Administrator.Email, name: e.spec.Administrator.Name,
		mark: e.config.Keyring.Mark(object),
	}
	_, err := tenant.Make(ctx, e.journal, object, func(ctx context.Context) (string, error) {
		var lost bool
		err := inTx(ctx, e.db, "creating "+object.String(), func(tx *sql.Tx) (err error) {
			lost, err = lostRace(tx.ExecContext(ctx, `
				INSERT INTO users (id, email, email_key, name, owner, mark) VALUES (?, ?, ?, ?, ?, ?)
				ON CONFLICT (email_key) DO NOTHING`,
				made.id, made.email, key, made.name, e.Store.owner(e.spec.Tenant), made.mark))
			if err != nil || lost {
				return err
			}
			return e.appoint(ctx, tx, made.id)
		})
		if err != nil {
			return "", err
		}
		if lost {
			err := e.lookAgain(ctx, func() string { return e.person.id })
			return e.person.id, err
		}
		e.person, e.owner = made, e.spec.Tenant
		e.seen.administrator, e.seen.member = made, true
		e.seen.organization.administratorID = made.id
		e.seen.organization.administratorCall = e.spec.Administrator
		return made.id, nil
	})
	return err
}

// appoint makes the person the organization's administrator. A membership that the product has given them stays the
// product's.
func (e *ensuring) appoint(ctx context.Context, tx *sql.Tx, personID string) error {
	_, err := tx.ExecContext(ctx, `
		UPDATE organizations SET administrator_id = ?, administrator_email = ?, administrator_name = ? WHERE id = ?`,
		personID, e.spec.Administrator.Email, e.spec.Administrator.Name, e.seen.organization.id)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO memberships (organization_id, user_id, managed) VALUES (?, ?, 1) ON CONFLICT DO NOTHING`,
		e.seen.organization.id, personID)
	return err
}

// settle changes what differs from spec, in one transaction that looks again first; without a difference there is no
// transaction.
func (e *ensuring) settle(ctx context.Context) error {
	changes, err := e.changes()
	if err != nil || len(changes) == 0 {
		return err
	}
	err = inTx(ctx, e.db, "changing the identity "+e.seen.name, func(tx *sql.Tx) error {
		if err := e.look(ctx, tx); err != nil {
			return err
		}
		if e.seen.organization.id == "" || e.seen.application.id == "" || e.person.id == "" {
			return tenant.Fail(tenant.CodeConflict, "reading the identity "+e.seen.name,
				errors.New("somebody removes parts of it at the same time"))
		}
		changes, err := e.changes()
		if err != nil {
			return err
		}
		for _, change := range changes {
			if err := change(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	tenant.Failpoint(ctx, "identity.settled")
	return err
}

type change func(context.Context, *sql.Tx) error

func exec(query string, args ...any) change {
	return func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	}
}

// changes are the writes between what was seen and what spec says.
func (e *ensuring) changes() ([]change, error) {
	var changes []change
	up := e.wantEnabled()
	if o := e.seen.organization; o.displayName != e.spec.DisplayName || o.enabled != up {
		changes = append(changes, exec(`UPDATE organizations SET display_name = ?, enabled = ? WHERE id = ?`,
			e.spec.DisplayName, up, o.id))
	}
	application, err := e.applicationChanges(up)
	if err != nil {
		return nil, err
	}
	return append(append(changes, application...), e.administratorChanges()...), nil
}

func (e *ensuring) applicationChanges(up bool) ([]change, error) {
	var changes []change
	a := e.seen.application
	if a.enabled != up || !slices.Equal(a.redirectURIs, e.spec.RedirectURIs) {
		uris, err := json.Marshal(e.spec.RedirectURIs)
		if err != nil {
			return nil, tenant.Fail(tenant.CodeInternal, "writing the redirect URIs of "+e.seen.name, err)
		}
		changes = append(changes, exec(`UPDATE applications SET enabled = ?, redirect_uris = ? WHERE id = ?`,
			up, string(uris), a.id))
	}
	if !slices.Equal(a.roles, e.spec.Roles) {
		changes = append(changes, func(ctx context.Context, tx *sql.Tx) error {
			return replaceRoles(ctx, tx, a.id, e.spec.Roles)
		})
	}
	secret, rotated, err := e.rotate(e.spec, a.secret, e.seen.organization.incarnation)
	if err != nil {
		return nil, err
	}
	if rotated {
		changes = append(changes, exec(`
			UPDATE applications SET secret_hash = ?, secret_key_id = ?, secret_version = ?, incarnation = ?,
			previous_hash = ?, previous_until = ? WHERE id = ?`,
			secret.hash, secret.keyID, secret.version, secret.incarnation,
			secret.previousHash, secret.previousUntil, a.id))
	}
	return changes, nil
}

// administratorChanges leaves a person who belongs to another tenant as they are.
func (e *ensuring) administratorChanges() []change {
	var changes []change
	o, wanted := e.seen.organization, e.spec.Administrator
	if o.administratorID != e.person.id || o.administratorCall != wanted || !e.seen.member {
		changes = append(
			changes,
			func(ctx context.Context, tx *sql.Tx) error { return e.appoint(ctx, tx, e.person.id) },
		)
	}
	if e.owner == e.spec.Tenant && (e.person.email != wanted.Email || e.person.name != wanted.Name) {
		changes = append(changes, exec(`UPDATE users SET email = ?, name = ? WHERE id = ?`,
			wanted.Email, wanted.Name, e.person.id))
	}
	return changes
}

// retireFormer ends what an earlier administrator had from us in this tenant.
func (e *ensuring) retireFormer(ctx context.Context) error {
	former, err := people(ctx, e.db, `SELECT u.id, u.email, u.name, u.mark FROM memberships m
		JOIN users u ON u.id = m.user_id WHERE m.organization_id = ? AND m.managed = 1 AND m.user_id <> ?`,
		e.seen.organization.id, e.person.id)
	if err != nil || len(former) == 0 {
		return err
	}
	if err := e.release(ctx, e.db, e.spec.Tenant, e.seen.organization.id, former); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "identity.retired")
	return removedUsers(ctx, e.db, e.spec.Tenant, emailKeys(former), e.journal)
}
