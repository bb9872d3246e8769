package localid

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// storedSecret is what the store knows of an application's secret: which one it is, and its hash.
type storedSecret struct {
	hash, keyID   string
	version       int64
	incarnation   string
	previousHash  string
	previousUntil int64 // seconds since 1970
}

func (s storedSecret) state() tenant.SecretState {
	state := tenant.SecretState{KeyID: s.keyID, Version: s.version, Incarnation: s.incarnation}
	if len(s.hash) >= fingerprintLen {
		state.Fingerprint = s.hash[:fingerprintLen]
	}
	return state
}

// wantedSecret returns what the store should hold: the secret it has, unless there is none yet or its version is
// raised; then it is derived with the current key.
func (s *Store) wantedSecret(
	spec tenant.IdentitySpec, stored storedSecret, incarnation string,
) (storedSecret, error) {
	wanted := storedSecret{
		keyID: s.config.Keyring.CurrentKeyID(), version: secretVersion(spec), incarnation: incarnation,
	}
	if stored.version == wanted.version && stored.incarnation == incarnation {
		wanted.keyID = stored.keyID
	}
	secret, err := s.derive(spec.Tenant, wanted)
	if err != nil {
		return storedSecret{}, err
	}
	wanted.hash = secret.Hash()
	return wanted, nil
}

func secretVersion(spec tenant.IdentitySpec) int64 { return max(1, spec.SecretVersion) }

// rotate returns what the store should hold now that it holds stored, and whether that is a change. The replaced
// secret stays valid for SecretOverlap; one that somebody else put there ends at once.
func (s *Store) rotate(
	spec tenant.IdentitySpec,
	stored storedSecret,
	incarnation string,
) (storedSecret, bool, error) {
	wanted, err := s.wantedSecret(spec, stored, incarnation)
	if err != nil {
		return storedSecret{}, false, err
	}
	wanted.previousHash, wanted.previousUntil = stored.previousHash, stored.previousUntil
	if wanted == stored {
		return stored, false, nil
	}
	derived, err := s.derive(spec.Tenant, stored)
	if err != nil {
		return storedSecret{}, false, err
	}
	if stored.hash == derived.Hash() && stored.hash != wanted.hash {
		wanted.previousHash = stored.hash
		wanted.previousUntil = s.config.Now().Add(SecretOverlap).Unix()
	}
	return wanted, true, nil
}

func (s *Store) derive(id tenant.ID, stored storedSecret) (tenant.Secret, error) {
	return s.config.Keyring.Derive(tenant.SecretRef{
		Tenant: id, Purpose: tenant.ApplicationSecret,
		Version: stored.version, Incarnation: stored.incarnation, KeyID: stored.keyID,
	})
}

// ApplicationSecret returns the secret that the tenant's application authenticates with. It fails with CodeConflict if
// the store accepts another one, which the next Ensure repairs; ErrAbsent if there is no application.
func (s *Store) ApplicationSecret(ctx context.Context, id tenant.ID) (tenant.Secret, error) {
	db, err := s.existing(ctx)
	if err != nil {
		return tenant.Secret{}, err
	}
	seen, err := observe(ctx, db, s.name(id))
	if err != nil {
		return tenant.Secret{}, err
	}
	if seen.application.id == "" {
		return tenant.Secret{}, tenant.ErrAbsent
	}
	if err := s.config.Keyring.Owns(s.applicationObject(id), seen.application.mark); err != nil {
		return tenant.Secret{}, err
	}
	secret, err := s.derive(id, seen.application.secret)
	if err != nil {
		return tenant.Secret{}, err
	}
	if secret.Hash() != seen.application.secret.hash {
		return tenant.Secret{}, tenant.Fail(
			tenant.CodeConflict,
			"deriving the secret of application "+seen.name,
			errors.New("somebody has given the application another secret; an apply puts ours back"),
		)
	}
	return secret, nil
}

// AuthenticateApplication returns nil if the application is enabled and secret is its current or, within the overlap of
// a rotation, its previous one; otherwise ErrLogin.
func (s *Store) AuthenticateApplication(ctx context.Context, clientID string, secret tenant.Secret) error {
	db, err := s.existing(ctx)
	if errors.Is(err, tenant.ErrAbsent) {
		return ErrLogin
	}
	if err != nil {
		return err
	}
	doing := fmt.Sprintf("authenticating application %q", clientID)
	rows, err := db.QueryContext(ctx, `SELECT secret_hash, previous_hash, previous_until > ? FROM applications
		WHERE client_id = ? AND enabled = 1`, s.config.Now().Unix(), clientID)
	if err != nil {
		return sqlitefile.Classify(doing, err)
	}
	defer func() { _ = rows.Close() }() // its errors are in rows.Err
	accepted := false
	for rows.Next() {
		var current, previous string
		var overlap bool
		if err := rows.Scan(&current, &previous, &overlap); err != nil {
			return sqlitefile.Classify(doing, err)
		}
		accepted = sameHash(secret.Hash(), current) || overlap && sameHash(secret.Hash(), previous)
	}
	if err := rows.Err(); err != nil {
		return sqlitefile.Classify(doing, err)
	}
	if !accepted {
		return ErrLogin
	}
	return nil
}

func sameHash(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
