package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Ensure makes or adopts the tenant's database, schema or row, under the tenant's lock. A new database is a clone of a
// template that has the migrations already, so that the ten-thousandth tenant does not run them again.
func (b *Backend) Ensure(
	ctx context.Context, spec tenant.DatabaseSpec, journal tenant.Journal,
) (out tenant.Database, err error) {
	at, err := b.locate(spec.Tenant, spec.Place)
	if err != nil {
		return tenant.Database{}, err
	}
	if err := b.checkExtensions(spec.Extensions); err != nil {
		return tenant.Database{}, err
	}
	err = b.work(ctx, func(ctx context.Context, s *session) error {
		if err := s.lock(ctx, at.base); err != nil {
			return err
		}
		out, err = s.ensure(ctx, at, spec, journal)
		return err
	})
	return out, err
}

func (b *Backend) checkExtensions(wanted []string) error {
	for _, name := range wanted {
		if !slices.Contains(b.config.Extensions, name) {
			return tenant.Fail(tenant.CodeInvalidConfig, fmt.Sprintf("allowing the extension %q", name),
				fmt.Errorf("the pool %s allows %q", b.config.Pool, b.config.Extensions))
		}
	}
	return nil
}

func (s *session) ensure(
	ctx context.Context, at location, spec tenant.DatabaseSpec, journal tenant.Journal,
) (tenant.Database, error) {
	f, err := s.look(ctx, at)
	switch {
	case err != nil && f != nil && f.claimed && spec.Claim:
		return s.claim(ctx, f, spec, journal)
	case err != nil:
		return tenant.Database{}, err
	}
	if at.place.Isolation == tenant.IsolationRow {
		return s.ensureRow(ctx, f, spec, journal)
	}
	if spec.Claim && !f.exists {
		return tenant.Database{}, nothingToClaim(at)
	}
	if f.exists {
		if err := journal.Adopted(ctx, at.object(), at.externalID()); err != nil {
			return tenant.Database{}, err
		}
		tenant.Failpoint(ctx, "database.adopted")
		return s.converge(ctx, f, spec)
	}
	if err := s.create(ctx, f, spec, journal); err != nil {
		return tenant.Database{}, err
	}
	return s.converge(ctx, f, spec)
}

// create makes the roles and the database or schema. What it leaves to converge is migrating, unless the clone has it.
func (s *session) create(
	ctx context.Context,
	f *found,
	spec tenant.DatabaseSpec,
	journal tenant.Journal,
) error {
	at, want := f.at, s.wanted(f.record, spec)
	if f.role && f.record.Pool != "" && f.record.Pool != s.config.Pool {
		return elsewhere(f)
	}
	var from *template
	if at.place.Isolation == tenant.IsolationDatabase {
		var err error
		if from, err = s.template(ctx, spec); err != nil {
			return err
		}
	}
	release, err := s.takePlace(ctx, f, spec.MaxTenants)
	if err != nil {
		return err
	}
	f.fresh, f.changed = true, true
	_, err = tenant.Make(ctx, journal, at.object(), func(ctx context.Context) (string, error) {
		var err error
		if from != nil {
			err = s.createDatabase(ctx, f, want, from, spec, release)
		} else {
			err = s.createSchema(ctx, f, want, release)
		}
		return at.externalID(), err
	})
	return err
}

func elsewhere(f *found) error {
	return tenant.Fail(tenant.CodePlacementChange, "creating "+f.at.String(),
		fmt.Errorf("the tenant's role %s belongs to the pool %s", f.at.owner, f.record.Pool))
}

// makeRoles creates the roles if they are not there, together with what else stands in their transaction.
func (s *session) makeRoles(ctx context.Context, f *found, want record, more ...string) error {
	doing := "creating the roles of " + f.at.String()
	if f.role {
		f.record = s.kept(f.record, want)
		if len(more) == 0 {
			return nil
		}
		return s.exec(ctx, doing, more...)
	}
	statements, err := s.newRoles(f.at, want)
	if err != nil {
		return err
	}
	if err := s.exec(ctx, doing, append(statements, more...)...); err != nil {
		if state(err) == stateDuplicateObject || state(err) == stateDuplicateSchema {
			return &tenant.Failure{
				Code:  tenant.CodeForeign,
				Doing: doing,
				Err:   errors.Join(err, tenant.ErrForeign),
			}
		}
		return err
	}
	f.record, f.role = want, true
	return nil
}

// kept is the record of roles that an interrupted create has left: what it says of passwords is what they are.
func (s *session) kept(has, want record) record {
	if has.Incarnation == "" {
		return want
	}
	return has
}

// converge brings everything about an existing object to what spec says, and returns what is then true. What makes it
// refuse is looked at before anything is changed.
func (s *session) converge(ctx context.Context, f *found, spec tenant.DatabaseSpec) (tenant.Database, error) {
	if f.fresh && s.wanted(f.record, spec) != f.record { // roles were left that are not as spec says
		f.fresh, f.cloned = false, nil
	}
	if f.cloned != nil {
		return s.database(f, f.cloned, nil), nil
	}
	if f.changed && !f.fresh {
		again, err := s.look(ctx, f.at)
		if err != nil {
			return tenant.Database{}, err
		}
		again.fresh, f = f.fresh, again
	}
	if !f.fresh {
		if err := s.mendPassword(ctx, f, account{f.at.login(f.record), tenant.DatabasePassword}); err != nil {
			return tenant.Database{}, err
		}
	}
	in, err := s.enterOrMend(ctx, f, spec)
	if err != nil {
		return tenant.Database{}, err
	}
	defer in.close()
	return in.converge(ctx, spec)
}

// enterOrMend logs in as the owner; if that is refused, what the administrator can mend comes first.
func (s *session) enterOrMend(ctx context.Context, f *found, spec tenant.DatabaseSpec) (*inside, error) {
	if f.fresh {
		return s.enter(ctx, f)
	}
	if !f.role || f.pending() {
		return s.mendAndEnter(ctx, f, spec)
	}
	in, err := s.enter(ctx, f)
	if shutOut(err) {
		return s.mendAndEnter(ctx, f, spec)
	}
	return in, err
}

// shutOut reports whether the owner is kept from its database in a way that the administrator may be able to mend.
func shutOut(err error) bool {
	switch state(err) {
	case stateInvalidPassword, stateInvalidAuth, stateNoPrivilege, stateNotInState:
		return true
	}
	return errors.Is(err, errShutOut)
}

func (s *session) mendAndEnter(ctx context.Context, f *found, spec tenant.DatabaseSpec) (*inside, error) {
	if err := s.mend(ctx, f, s.wanted(f.record, spec)); err != nil {
		return nil, err
	}
	if f.pending() {
		if err := s.exec(ctx, "taking over the clone "+f.at.database, join(f.at.owner)); err != nil {
			return nil, err
		}
		if err := s.adoptClone(ctx, f); err != nil {
			return nil, err
		}
	}
	if err := s.mendPassword(ctx, f, account{f.at.owner, ownerPassword}); err != nil {
		return nil, err
	}
	in, err := s.enter(ctx, f)
	if !shutOut(err) {
		return in, err
	}
	lost, described := s.lost(f)
	if described != nil || len(lost) == 0 {
		return nil, err
	}
	return nil, &tenant.Failure{
		Code: tenant.CodeDatabaseDrift, Doing: "entering " + f.at.String(),
		Err: fmt.Errorf("%s, and %s (%w)", lost[0].What, lost[0].Loss, err),
	}
}

// pending reports whether the clone still belongs to the template's owner.
func (f *found) pending() bool {
	return f.at.place.Isolation == tenant.IsolationDatabase && f.Database != nil && f.Database.Pending
}

// mendPassword finds out by logging in whether the password is the derived one, and sets it if not.
func (s *session) mendPassword(ctx context.Context, f *found, of account) error {
	if _, there := f.Roles[of.role]; !there || f.record.Incarnation == "" {
		return nil
	}
	refused, err := s.refused(ctx, f, of)
	if err != nil || !refused {
		return err
	}
	statement, err := s.setPassword(f.at, of.role, f.record, of.purpose)
	if err != nil {
		return err
	}
	if err := s.exec(ctx, "setting the password of "+of.role, statement); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "database.password_set")
	return nil
}

// account is a role with a derived password.
type account struct{ role, purpose string }

func (s *session) accounts(f *found) []account {
	return []account{{f.at.owner, ownerPassword}, {f.at.login(f.record), tenant.DatabasePassword}}
}

// refused reports whether the role can't log in with its derived password.
func (s *session) refused(ctx context.Context, f *found, of account) (bool, error) {
	password, err := s.secret(f.at, f.record, of.purpose)
	if err != nil {
		return false, err
	}
	db, err := s.open(ctx, login{database: f.at.database, role: of.role, password: password})
	if err == nil {
		_ = db.Close() // nothing was done with it
		return false, nil
	}
	switch state(err) {
	case stateInvalidPassword, stateInvalidAuth:
		return true, nil
	case stateNoPrivilege, stateNotInState: // the password is not at fault
		return false, nil
	}
	return false, classify("logging in as "+of.role, err)
}

// database is what is true of the object.
func (s *session) database(f *found, applied []tenant.Migration, drift []tenant.Drift) tenant.Database {
	out := tenant.Database{
		Place: f.at.place, ExternalID: f.at.externalID(), Applied: applied, ReadOnly: f.record.ReadOnly,
		User: f.at.login(f.record), Password: f.record.state(), Drift: drift,
	}
	if password, err := s.secret(f.at, f.record, tenant.DatabasePassword); err == nil && !f.refused {
		out.Password.Fingerprint = password.Fingerprint()
	}
	return out
}

// takePlace counts the pool's tenants and keeps others from taking a place until release is called, which is when the new
// tenant's role can be counted.
func (s *session) takePlace(ctx context.Context, f *found, limit int64) (func(context.Context) error, error) {
	if limit == 0 || f.role {
		return func(context.Context) error { return nil }, nil
	}
	name := s.config.Keyring.Installation() + " pool " + s.config.Pool
	if err := s.lock(ctx, name); err != nil {
		return nil, err
	}
	release := func(ctx context.Context) error { return s.unlock(ctx, name) }
	if err := s.checkRoom(ctx, f, limit); err != nil {
		return nil, errors.Join(err, release(ctx))
	}
	return release, nil
}

func (s *session) full(at location, taken, limit int64) error {
	return tenant.Fail(
		tenant.CodePoolFull,
		fmt.Sprintf("taking a place for %s in the pool %s", at, s.config.Pool),
		fmt.Errorf("%d of %d are taken", taken, limit),
	)
}

// countTenants counts the owner roles of this pool, and so the places that are taken by creates under way, too.
func (s *session) countTenants(ctx context.Context) (int64, error) {
	records, err := s.owners(ctx)
	if err != nil {
		return 0, err
	}
	taken := int64(0)
	for _, owner := range records {
		if owner.record.Pool == s.config.Pool && !owner.isArchive {
			taken++
		}
	}
	return taken, nil
}
