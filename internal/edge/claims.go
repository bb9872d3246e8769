package edge

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const claimColumns = `number, hostname, installation, tenant_id, mark, target, state, requested_ms, verified_ms`

// claimRow is a row of the register.
type claimRow struct {
	tenant.Claim

	installation, mark string
}

func claimObject(id tenant.ID, hostname string) tenant.Object {
	return tenant.Object{Tenant: id, Kind: tenant.KindClaim, Name: hostname}
}

func externalID(number int64) string { return strconv.FormatInt(number, 10) }

// Request returns the tenant's claim, made if it has none: see tenant.Claims.
func (s *Store) Request(
	ctx context.Context, id tenant.ID, hostname string, now time.Time, journal tenant.Journal,
) (tenant.Claim, error) {
	object := claimObject(id, hostname)
	doing := "claiming hostname " + hostname + " for tenant " + string(id)
	var claim tenant.Claim
	err := s.read(ctx, doing, func(tx *sql.Tx) (err error) {
		claim, err = s.admitted(ctx, tx, id, hostname)
		return err
	})
	if err == nil {
		return claim, journal.Adopted(ctx, object, externalID(claim.Number))
	}
	if !errors.Is(err, tenant.ErrAbsent) {
		return tenant.Claim{}, err
	}
	_, err = tenant.Make(ctx, journal, object, func(ctx context.Context) (string, error) {
		err := s.write(ctx, doing, func(tx *sql.Tx) (err error) {
			claim, err = s.admitted(ctx, tx, id, hostname)
			if errors.Is(err, tenant.ErrAbsent) {
				claim, err = s.enter(ctx, tx, tenant.Claim{
					Tenant:      id,
					Hostname:    hostname,
					State:       tenant.ClaimPending,
					RequestedAt: now,
					Rivals:      claim.Rivals,
				})
			}
			return err
		})
		return externalID(claim.Number), err
	})
	return claim, err
}

// admitted returns the tenant's open claim, or ErrAbsent with its rivals; CodeHostnameTaken if one of them is verified.
func (s *Store) admitted(
	ctx context.Context,
	tx *sql.Tx,
	id tenant.ID,
	hostname string,
) (tenant.Claim, error) {
	claim, err := s.find(ctx, tx, id, hostname)
	if err != nil && !errors.Is(err, tenant.ErrAbsent) {
		return claim, err
	}
	if taken := takenBy(hostname, claim); taken != nil {
		return claim, taken
	}
	return claim, err
}

// takenBy returns the failure that a rival of the claim is verified, nil if none is.
func takenBy(hostname string, claim tenant.Claim) error {
	for _, rival := range claim.Rivals {
		if rival.State == tenant.ClaimVerified {
			return tenant.Fail(tenant.CodeHostnameTaken, "looking for other claims to "+hostname,
				fmt.Errorf("it is verified for tenant %s", rival.Tenant))
		}
	}
	return nil
}

// enter writes a new claim into the register, with the next number.
func (s *Store) enter(ctx context.Context, tx *sql.Tx, claim tenant.Claim) (tenant.Claim, error) {
	row := tx.QueryRowContext(ctx, `UPDATE claim_numbers SET last = last + 1 WHERE one = 1 RETURNING last`)
	if err := row.Scan(&claim.Number); err != nil {
		return claim, err
	}
	number := externalID(claim.Number)
	tag := s.config.Keyring.Tag("claim", number, string(claim.Tenant), claim.Hostname)
	claim.Target = "c" + number + "-" + tag + ".claims." + s.config.Zone
	claim.RequestedAt = time.UnixMilli(claim.RequestedAt.UnixMilli()).UTC()
	_, err := tx.ExecContext(ctx,
		`INSERT INTO claims (`+claimColumns+`, given_up_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0)`,
		claim.Number, claim.Hostname, s.installation(), string(claim.Tenant),
		s.config.Keyring.Mark(claimObject(claim.Tenant, claim.Hostname)), claim.Target, string(claim.State),
		claim.RequestedAt.UnixMilli())
	return claim, err
}

// find returns the tenant's open claim with its rivals, or ErrAbsent and a claim that has nothing but rivals. A row that
// says it is the tenant's and isn't marked so is foreign.
func (s *Store) find(ctx context.Context, tx *sql.Tx, id tenant.ID, hostname string) (tenant.Claim, error) {
	rows, err := tx.QueryContext(ctx, `SELECT `+claimColumns+` FROM claims
		WHERE hostname = $1 AND state <> 'given_up' ORDER BY number`, hostname)
	open, err := collect(rows, err, scanClaim)
	if err != nil {
		return tenant.Claim{}, err
	}
	claim, err := tenant.Claim{}, tenant.ErrAbsent
	var rivals []tenant.Rival
	for _, row := range open {
		if row.installation != s.installation() || row.Tenant != id {
			rivals = append(rivals, row.rival(s.installation()))
			continue
		}
		claim = row.Claim
		err = s.config.Keyring.Owns(claimObject(id, hostname), row.mark)
	}
	claim.Rivals = rivals
	return claim, err
}

// rival is the row as another tenant's. One of another installation is named with it: the same tenant_id there is somebody
// else.
func (r claimRow) rival(installation string) tenant.Rival {
	id := r.Tenant
	if r.installation != installation {
		id = tenant.ID(r.installation + "/" + string(id))
	}
	return tenant.Rival{Tenant: id, State: r.State}
}

func scanClaim(rows *sql.Rows) (row claimRow, err error) {
	var requested, verified int64
	err = rows.Scan(
		&row.Number,
		&row.Hostname,
		&row.installation,
		&row.Tenant,
		&row.mark,
		&row.Target,
		&row.State,
		&requested,
		&verified,
	)
	row.RequestedAt = time.UnixMilli(requested).UTC()
	if verified != 0 {
		row.VerifiedAt = time.UnixMilli(verified).UTC()
	}
	return row, err
}

// ReadClaim returns the tenant's open claim: see tenant.Claims.
func (s *Store) ReadClaim(
	ctx context.Context,
	id tenant.ID,
	hostname string,
) (claim tenant.Claim, err error) {
	err = s.read(ctx, "reading the claim to hostname "+hostname, func(tx *sql.Tx) (err error) {
		claim, err = s.find(ctx, tx, id, hostname)
		return err
	})
	return claim, err
}

// Settle moves the tenant's claim to verified or expired: see tenant.Claims.
func (s *Store) Settle(
	ctx context.Context, id tenant.ID, hostname string, state tenant.ClaimState, now time.Time,
) (claim tenant.Claim, err error) {
	doing := fmt.Sprintf("settling the claim of tenant %s to hostname %s as %s", id, hostname, state)
	if state != tenant.ClaimVerified && state != tenant.ClaimExpired {
		return claim, tenant.Fail(
			tenant.CodeInternal,
			doing,
			errors.New("a claim is settled as verified or expired"),
		)
	}
	err = s.write(ctx, doing, func(tx *sql.Tx) (err error) {
		claim, err = s.find(ctx, tx, id, hostname)
		if err != nil || claim.State == state || claim.State == tenant.ClaimVerified {
			return err
		}
		if state == tenant.ClaimVerified {
			if err := takenBy(hostname, claim); err != nil {
				return err
			}
			claim.VerifiedAt = time.UnixMilli(now.UnixMilli()).UTC()
		}
		claim.State = state
		return move(ctx, tx, claim)
	})
	if state == tenant.ClaimVerified && tenant.HasCode(err, tenant.CodeConflict) {
		// The index of verified hostnames refused it: another transaction was first.
		err = &tenant.Failure{Code: tenant.CodeHostnameTaken, Doing: doing, Err: err}
	}
	return claim, err
}

func move(ctx context.Context, tx *sql.Tx, claim tenant.Claim) error {
	var verified int64
	if !claim.VerifiedAt.IsZero() {
		verified = claim.VerifiedAt.UnixMilli()
	}
	_, err := tx.ExecContext(ctx, `UPDATE claims SET state = $1, verified_ms = $2 WHERE number = $3`,
		string(claim.State), verified, claim.Number)
	return err
}

// GiveUp ends the tenant's claim; its row and number stay: see tenant.Claims.
func (s *Store) GiveUp(ctx context.Context, id tenant.ID, hostname string, journal tenant.Journal) error {
	doing := "giving up the claim of tenant " + string(id) + " to hostname " + hostname
	err := s.change(ctx, doing, func(tx *sql.Tx) error {
		claim, err := s.find(ctx, tx, id, hostname)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(
			ctx,
			`UPDATE claims SET state = 'given_up', given_up_ms = $1 WHERE number = $2`,
			s.config.Now().UnixMilli(),
			claim.Number,
		)
		return err
	})
	if err != nil && !errors.Is(err, tenant.ErrAbsent) {
		return err
	}
	tenant.Failpoint(ctx, "claim.given_up")
	return journal.Removed(ctx, claimObject(id, hostname))
}

// OpenClaims returns the tenant's claims that are not given up, by hostname: see tenant.Claims.
func (s *Store) OpenClaims(ctx context.Context, id tenant.ID) (claims []tenant.Claim, err error) {
	err = s.read(ctx, "reading the claims of tenant "+string(id), func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT hostname FROM claims
			WHERE installation = $1 AND tenant_id = $2 AND state <> 'given_up' ORDER BY hostname`,
			s.installation(), string(id))
		hostnames, err := collect(rows, err, func(rows *sql.Rows) (name string, err error) {
			err = rows.Scan(&name)
			return name, err
		})
		for _, hostname := range hostnames {
			claim, err := s.find(ctx, tx, id, hostname)
			if err != nil {
				return err
			}
			claims = append(claims, claim)
		}
		return err
	})
	if errors.Is(err, tenant.ErrAbsent) {
		err = nil
	}
	return claims, err
}
