package localid

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

var (
	// ErrInvitation answers an invitation that nobody gave, that has expired, or that has been used: the three can't
	// be told apart from outside.
	ErrInvitation = errors.New("no such invitation")
	// ErrLogin answers a log-in that is refused; it does not say why, so that nobody can find out who has an account.
	ErrLogin = errors.New("log-in refused")
)

const (
	tokenLen = 32 // bytes
	// invitationParameter is the name of the token in a link.
	invitationParameter = "invitation"

	// OWASP's cheat sheet on the storage of passwords asks for this many iterations of PBKDF2-HMAC-SHA256.
	passwordIterations = 600_000
	passwordSaltLen    = 16
	passwordScheme     = "pbkdf2-sha256" //nolint:gosec // a method, no password
)

// Person is somebody who has shown who they are.
type Person struct {
	ID             string
	Email          string
	Name           string
	OrganizationID string
	ClientID       string
	Administrator  bool     // of the tenant
	Roles          []string // that the tenant's application knows; the administrator may give and take them
}

// Invite returns a fresh link with which the tenant's administrator chooses a password; it lives for
// InvitationLifetime. A person who has a password already gets the plain address at which they log in, without an
// expiry: no tenant's mail opens an account that others use, too.
func (s *Store) Invite(
	ctx context.Context, id tenant.ID, names tenant.IdentityNames,
) (tenant.Invitation, error) {
	if err := s.only(id, names); err != nil {
		return tenant.Invitation{}, err
	}
	db, err := s.existing(ctx)
	if err != nil {
		return tenant.Invitation{}, err
	}
	seen, err := observe(ctx, db, s.name(id))
	if err != nil {
		return tenant.Invitation{}, err
	}
	if seen.organization.id == "" {
		return tenant.Invitation{}, tenant.ErrAbsent
	}
	if err := s.config.Keyring.Owns(s.organizationObject(id), seen.organization.mark); err != nil {
		return tenant.Invitation{}, err
	}
	identity, err := s.identity(id, seen)
	if err != nil {
		return tenant.Invitation{}, err
	}
	if identity.AdministratorID == "" {
		return tenant.Invitation{}, tenant.ErrAbsent
	}
	if seen.administrator.hasPassword {
		return tenant.Invitation{Link: tenant.NewSecret(s.config.LoginURL(id))}, nil
	}
	return s.mint(ctx, db, id, seen)
}

func (s *Store) mint(
	ctx context.Context,
	db *sql.DB,
	id tenant.ID,
	seen observed,
) (tenant.Invitation, error) {
	doing := "inviting the administrator of " + seen.name
	link, err := url.Parse(s.config.LoginURL(id))
	if err != nil {
		return tenant.Invitation{}, tenant.Fail(tenant.CodeInvalidConfig, doing, err)
	}
	random := make([]byte, tokenLen)
	_, _ = rand.Read(random) // it never fails: see its documentation
	token := tenant.NewSecret(base64.RawURLEncoding.EncodeToString(random))
	query := link.Query()
	query.Set(invitationParameter, token.Reveal())
	link.RawQuery = query.Encode()
	now := s.config.Now()
	expires := now.Add(InvitationLifetime)
	err = inTx(ctx, db, doing, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM invitations WHERE user_id = ? AND expires_at <= ?`,
			seen.administrator.id, now.Unix())
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `
			INSERT INTO invitations (token_hash, user_id, organization_id, expires_at) VALUES (?, ?, ?, ?)`,
			token.Hash(), seen.administrator.id, seen.organization.id, expires.Unix())
		return err
	})
	if err != nil {
		return tenant.Invitation{}, err
	}
	return tenant.Invitation{Link: tenant.NewSecret(link.String()), Expires: expires}, nil
}

// InvitationToken returns the token of a link that Invite gave; ErrInvitation if there is none.
func InvitationToken(link tenant.Secret) (tenant.Secret, error) {
	parsed, err := url.Parse(link.Reveal())
	if err != nil || parsed.Query().Get(invitationParameter) == "" {
		return tenant.Secret{}, ErrInvitation
	}
	return tenant.NewSecret(parsed.Query().Get(invitationParameter)), nil
}

// Redeem gives the invited person the password and ends every invitation they have. It fails with ErrInvitation, or
// with CodeAdminRefused for a password that is too short or too long; the invitation then stays.
func (s *Store) Redeem(ctx context.Context, token, password tenant.Secret) error {
	db, err := s.existing(ctx)
	if errors.Is(err, tenant.ErrAbsent) {
		return ErrInvitation
	}
	if err != nil {
		return err
	}
	personID, err := s.invited(ctx, db, token)
	if err != nil {
		return err
	}
	if err := checkPassword(password); err != nil {
		return err
	}
	// The costly hash is made outside the transaction, which then looks again.
	stored, err := hashPassword(password)
	if err != nil {
		return err
	}
	var redeemed bool
	err = inTx(ctx, db, "redeeming an invitation", func(tx *sql.Tx) error {
		rows, err := tx.ExecContext(ctx, `UPDATE users SET password_hash = ? WHERE id = ? AND EXISTS (
			SELECT 1 FROM invitations WHERE token_hash = ? AND user_id = users.id)`, stored, personID, token.Hash())
		if err != nil {
			return err
		}
		changed, err := rows.RowsAffected()
		if err != nil {
			return err
		}
		redeemed = changed == 1
		_, err = tx.ExecContext(ctx, `DELETE FROM invitations WHERE user_id = ?`, personID)
		return err
	})
	if err == nil && !redeemed { // somebody used it while the hash was being made
		return ErrInvitation
	}
	return err
}

// invited returns the id of the person whom the token invites.
func (s *Store) invited(ctx context.Context, q querier, token tenant.Secret) (string, error) {
	var personID string
	err := q.QueryRowContext(ctx, `SELECT user_id FROM invitations WHERE token_hash = ? AND expires_at > ?`,
		token.Hash(), s.config.Now().Unix()).Scan(&personID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", ErrInvitation
	}
	return personID, sqlitefile.Classify("looking for an invitation", err)
}

// Login returns the person if the password is theirs, they are a member of the tenant and the tenant is enabled;
// otherwise ErrLogin. It takes as long for somebody who has no account.
func (s *Store) Login(
	ctx context.Context,
	id tenant.ID,
	email string,
	password tenant.Secret,
) (Person, error) {
	db, err := s.existing(ctx)
	if errors.Is(err, tenant.ErrAbsent) {
		return Person{}, ErrLogin
	}
	if err != nil {
		return Person{}, err
	}
	seen, err := observe(ctx, db, s.name(id))
	if err != nil {
		return Person{}, err
	}
	var person Person
	var stored string
	err = db.QueryRowContext(ctx, `SELECT u.id, u.email, u.name, u.password_hash FROM users u
		JOIN memberships m ON m.user_id = u.id WHERE u.email_key = ? AND m.organization_id = ?`,
		emailKey(email), seen.organization.id).Scan(&person.ID, &person.Email, &person.Name, &stored)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Person{}, sqlitefile.Classify("logging in to "+seen.name, err)
	}
	matches, err := matchesPassword(stored, password)
	if err != nil {
		return Person{}, err
	}
	if !matches || !seen.enabled() {
		return Person{}, ErrLogin
	}
	person.OrganizationID, person.Roles = seen.organization.id, seen.application.roles
	person.Administrator = person.ID == seen.organization.administratorID
	if seen.application.id != "" {
		person.ClientID = seen.name
	}
	return person, nil
}

// hashPassword returns scheme$iterations$salt$key, both in base64url.
func hashPassword(password tenant.Secret) (string, error) {
	salt := make([]byte, passwordSaltLen)
	_, _ = rand.Read(salt) // it never fails: see its documentation
	key, err := stretch(password, salt, passwordIterations)
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	return strings.Join(
		[]string{passwordScheme, strconv.Itoa(passwordIterations), encode(salt), encode(key)},
		"$",
	), nil
}

func stretch(password tenant.Secret, salt []byte, iterations int) ([]byte, error) {
	key, err := pbkdf2.Key(sha256.New, password.Reveal(), salt, iterations, sha256.Size)
	if err != nil {
		return nil, tenant.Fail(tenant.CodeInternal, "hashing a password", err)
	}
	return key, nil
}

// matchesPassword does the same work for an account without a password as for any other.
func matchesPassword(stored string, password tenant.Secret) (bool, error) {
	if stored == "" {
		_, err := stretch(password, make([]byte, passwordSaltLen), passwordIterations)
		return false, err
	}
	const doing = "reading the hash of a password"
	parts := strings.Split(stored, "$")
	if len(parts) != 4 || parts[0] != passwordScheme {
		return false, tenant.Fail(
			tenant.CodeStorage,
			doing,
			fmt.Errorf("it is not of the scheme %s", passwordScheme),
		)
	}
	iterations, err := strconv.Atoi(parts[1])
	salt, saltErr := base64.RawURLEncoding.DecodeString(parts[2])
	if err := errors.Join(err, saltErr); err != nil {
		return false, tenant.Fail(tenant.CodeStorage, doing, err)
	}
	key, err := stretch(password, salt, iterations)
	if err != nil {
		return false, err
	}
	return sameHash(base64.RawURLEncoding.EncodeToString(key), parts[3]), nil
}
