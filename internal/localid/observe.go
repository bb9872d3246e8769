package localid

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Parts of an identity that may be gone.
const (
	partApplication   = "application"
	partAdministrator = "administrator"
	partMembership    = "membership"
)

// fingerprintLen is the length of tenant.Secret.Fingerprint, which is the beginning of tenant.Secret.Hash.
const fingerprintLen = 16

type organization struct {
	id, displayName   string
	enabled           bool
	incarnation       string
	administratorID   string
	administratorCall tenant.Administrator // what the tenant calls its administrator
	mark              string
}

type application struct {
	id           string
	redirectURIs []string
	roles        []string
	enabled      bool
	secret       storedSecret
	mark         string
}

type user struct {
	id, email, name string
	hasPassword     bool
	mark            string
}

// observed is all that the store holds of one tenant; what does not exist has an empty id.
type observed struct {
	name          string
	organization  organization
	application   application
	administrator user
	member        bool // the administrator of the organization
}

// querier is a *sql.DB or a *sql.Tx.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// observing reads organization and application of each wanted name together: the two have one name.
const observing = `
SELECT w.name,
       COALESCE(o.id, ''), COALESCE(o.display_name, ''), COALESCE(o.enabled, 0), COALESCE(o.incarnation, ''),
       COALESCE(o.administrator_id, ''), COALESCE(o.administrator_email, ''), COALESCE(o.administrator_name, ''),
       COALESCE(o.mark, ''),
       COALESCE(a.id, ''), COALESCE(a.redirect_uris, '[]'), COALESCE(a.enabled, 0), COALESCE(a.secret_hash, ''),
       COALESCE(a.secret_key_id, ''), COALESCE(a.secret_version, 0), COALESCE(a.incarnation, ''),
       COALESCE(a.previous_hash, ''), COALESCE(a.previous_until, 0), COALESCE(a.mark, ''),
       (SELECT json_group_array(r.name) FROM (SELECT name FROM roles WHERE application_id = a.id ORDER BY name) r),
       COALESCE(u.id, ''), COALESCE(u.email, ''), COALESCE(u.name, ''), COALESCE(u.password_hash, '') <> '',
       COALESCE(u.mark, ''),
       EXISTS (SELECT 1 FROM memberships m WHERE m.organization_id = o.id AND m.user_id = u.id)
FROM %s w
LEFT JOIN organizations o ON o.name = w.name
LEFT JOIN applications a ON a.client_id = w.name
LEFT JOIN users u ON u.id = o.administrator_id`

// observe reads what the store holds under a tenant's name.
func observe(ctx context.Context, q querier, name string) (observed, error) {
	doing := "reading the identity " + name
	seen, err := scanObserved(q.QueryRowContext(ctx, fmt.Sprintf(observing, "(SELECT ? AS name)"), name).Scan)
	return seen, sqlitefile.Classify(doing, err)
}

// observeAll reads every organization of the store, with what belongs to it.
func observeAll(ctx context.Context, q querier) (_ []observed, err error) {
	const doing = "reading all identities"
	rows, err := q.QueryContext(ctx, fmt.Sprintf(observing, "(SELECT name FROM organizations)"))
	if err != nil {
		return nil, sqlitefile.Classify(doing, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var all []observed
	for rows.Next() {
		seen, err := scanObserved(rows.Scan)
		if err != nil {
			return nil, sqlitefile.Classify(doing, err)
		}
		all = append(all, seen)
	}
	return all, sqlitefile.Classify(doing, rows.Err())
}

func scanObserved(scan func(...any) error) (observed, error) {
	var seen observed
	var uris, roles string
	o, a, u := &seen.organization, &seen.application, &seen.administrator
	err := scan(&seen.name,
		&o.id, &o.displayName, &o.enabled, &o.incarnation,
		&o.administratorID, &o.administratorCall.Email, &o.administratorCall.Name, &o.mark,
		&a.id, &uris, &a.enabled, &a.secret.hash,
		&a.secret.keyID, &a.secret.version, &a.secret.incarnation,
		&a.secret.previousHash, &a.secret.previousUntil, &a.mark, &roles,
		&u.id, &u.email, &u.name, &u.hasPassword, &u.mark, &seen.member)
	if err != nil {
		return observed{}, err
	}
	return seen, errors.Join(readList(uris, &a.redirectURIs), readList(roles, &a.roles))
}

func readList(text string, into *[]string) error {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return tenant.Fail(tenant.CodeStorage, "reading a list of the identity store", err)
	}
	return nil
}

// findUser returns the person with that e-mail address; one with an empty id if there is none.
func findUser(ctx context.Context, q querier, key string) (user, error) {
	var found user
	err := q.QueryRowContext(ctx,
		`SELECT id, email, name, password_hash <> '', mark FROM users WHERE email_key = ?`, key).
		Scan(&found.id, &found.email, &found.name, &found.hasPassword, &found.mark)
	if errors.Is(err, sql.ErrNoRows) {
		return user{}, nil
	}
	return found, sqlitefile.Classify("looking for the user "+key, err)
}

// ownerOf returns the tenant of this installation whose mark the person carries, or a failure with CodeForeign or
// CodeUnknownKey.
func (s *Store) ownerOf(person user, asking tenant.ID) (tenant.ID, error) {
	id, ok := s.config.Keyring.MarkedTenant(person.mark)
	if !ok {
		id = asking
	}
	return id, s.config.Keyring.Owns(userObject(id, emailKey(person.email)), person.mark)
}

// identity tells what was observed. The organization must be ours already.
func (s *Store) identity(id tenant.ID, seen observed) (tenant.Identity, error) {
	out := tenant.Identity{
		Organization:   seen.name,
		OrganizationID: seen.organization.id,
		DisplayName:    seen.organization.displayName,
		Administrator:  seen.organization.administratorCall,
		Enabled:        seen.enabled(),
	}
	err := gone(seen.application.id, func() error {
		return s.config.Keyring.Owns(s.applicationObject(id), seen.application.mark)
	})
	switch {
	case errors.Is(err, tenant.ErrAbsent):
		out.Missing = append(out.Missing, partApplication)
	case err != nil:
		return tenant.Identity{}, err
	default:
		out.ApplicationID, out.ClientID = seen.application.id, seen.name
		out.RedirectURIs, out.Roles = seen.application.redirectURIs, seen.application.roles
		out.Secret = seen.application.secret.state()
	}
	return out, s.tellAdministrator(id, seen, &out)
}

// tellAdministrator fills in the administrator. A person who belongs to another tenant is told as this tenant calls
// them: their own data is the other tenant's.
func (s *Store) tellAdministrator(id tenant.ID, seen observed, out *tenant.Identity) error {
	var owner tenant.ID
	err := gone(seen.administrator.id, func() (err error) {
		owner, err = s.ownerOf(seen.administrator, id)
		return err
	})
	if errors.Is(err, tenant.ErrAbsent) {
		out.Missing = append(out.Missing, partAdministrator)
		return nil
	}
	if err != nil {
		return err
	}
	out.AdministratorID = seen.administrator.id
	if owner == id {
		out.Administrator = tenant.Administrator{
			Email: seen.administrator.email,
			Name:  seen.administrator.name,
		}
	}
	if !seen.member {
		out.Missing = append(out.Missing, partMembership)
	}
	return nil
}

// gone answers tenant.ErrAbsent for an object that does not exist and for one that somebody has put in the place of
// ours: Ensure is what refuses that one by name.
func gone(objectID string, owns func() error) error {
	if objectID == "" {
		return tenant.ErrAbsent
	}
	err := owns()
	if errors.Is(err, tenant.ErrForeign) {
		return tenant.ErrAbsent
	}
	return err
}

// enabled is false as soon as one part is disabled: nothing that was suspended comes back by itself.
func (seen observed) enabled() bool {
	organizationUp := seen.organization.id == "" || seen.organization.enabled
	applicationUp := seen.application.id == "" || seen.application.enabled
	return organizationUp && applicationUp
}

// Read returns what is, and writes nothing.
func (s *Store) Read(
	ctx context.Context, id tenant.ID, names tenant.IdentityNames,
) (tenant.Identity, error) {
	if err := s.only(id, names); err != nil {
		return tenant.Identity{}, err
	}
	db, err := s.existing(ctx)
	if err != nil {
		return tenant.Identity{}, err
	}
	seen, err := observe(ctx, db, s.name(id))
	if err != nil {
		return tenant.Identity{}, err
	}
	if seen.organization.id == "" {
		return tenant.Identity{}, tenant.ErrAbsent
	}
	if err := s.config.Keyring.Owns(s.organizationObject(id), seen.organization.mark); err != nil {
		return tenant.Identity{}, err
	}
	return s.identity(id, seen)
}

// ListIdentities returns the identities of this installation. One that can't be told, because its key is not
// configured, is left out: reading it by itself says why.
func (s *Store) ListIdentities(ctx context.Context) (map[tenant.ID]tenant.Identity, error) {
	out := map[tenant.ID]tenant.Identity{}
	db, err := s.existing(ctx)
	if errors.Is(err, tenant.ErrAbsent) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := observeAll(ctx, db)
	if err != nil {
		return nil, err
	}
	for _, seen := range all {
		id, ok := s.config.Keyring.MarkedTenant(seen.organization.mark)
		if !ok || seen.name != s.name(id) ||
			s.config.Keyring.Owns(s.organizationObject(id), seen.organization.mark) != nil {
			continue
		}
		if identity, err := s.identity(id, seen); err == nil {
			out[id] = identity
		}
	}
	return out, nil
}
