package tenanttest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// ClaimsWorld is an empty register of claims for one test.
type ClaimsWorld struct {
	// Open returns a handle of its own on the register, as another process has it.
	Open func(ring *tenant.Keyring) tenant.Claims
	// Forge enters an open claim of Installation's tenant without a mark, as somebody else would.
	Forge func(t testing.TB, id tenant.ID, hostname string)
	// Rows returns all rows of the register that were ever made, in any form that shows each change of a row.
	Rows func(t testing.TB) []string
}

const claimedHostname = "billing.acme.example"

// claimedAt is when the suite's claims are made, in the precision that a register keeps.
func claimedAt() time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, int(123*time.Millisecond), time.UTC)
}

// Claims runs the suite for tenant.Claims on worlds that fresh makes.
func Claims(t *testing.T, fresh func(t testing.TB) ClaimsWorld) {
	t.Helper()
	cases := map[string]func(t *testing.T, w ClaimsWorld){
		"request, read, give up":       claimsLife,
		"nothing there":                claimsAbsent,
		"squatters":                    claimsSquatters,
		"first proof wins":             claimsFirstProof,
		"across installations":         claimsInstallations,
		"given up needs fresh proof":   claimsGivenUp,
		"expired then verified":        claimsExpired,
		"verified stays":               claimsVerifiedStays,
		"race of two proofs":           claimsRace,
		"race of two requests":         claimsTwoRequests,
		"twenty at once":               claimsTwenty,
		"refuse forged":                claimsForged,
		"long and hostile hostnames":   claimsHostile,
		"open claims":                  claimsOpen,
		"only verified or expired":     claimsStates,
		"an unknown key is no foreign": claimsUnknownKey,
	}
	for name, run := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, fresh(t))
		})
	}
	t.Run("crash", func(t *testing.T) {
		t.Parallel()
		claimsCrash(t, fresh)
	})
}

func (w ClaimsWorld) ours(tb testing.TB) tenant.Claims {
	tb.Helper()
	return w.Open(Keyring(tb))
}

func (w ClaimsWorld) request(tb testing.TB, id tenant.ID) tenant.Claim {
	tb.Helper()
	claim, err := w.ours(tb).Request(tb.Context(), id, claimedHostname, claimedAt(), tenant.NoJournal{})
	require.NoError(tb, err)
	return claim
}

func (w ClaimsWorld) settle(tb testing.TB, id tenant.ID, state tenant.ClaimState) tenant.Claim {
	tb.Helper()
	claim, err := w.ours(tb).Settle(tb.Context(), id, claimedHostname, state, claimedAt().Add(time.Hour))
	require.NoError(tb, err)
	return claim
}

func (w ClaimsWorld) giveUp(tb testing.TB, id tenant.ID) {
	tb.Helper()
	require.NoError(tb, w.ours(tb).GiveUp(tb.Context(), id, claimedHostname, tenant.NoJournal{}))
}

// requireSame runs work and requires that it changed no row.
func (w ClaimsWorld) requireSame(tb testing.TB, work func()) {
	tb.Helper()
	before := w.Rows(tb)
	work()
	require.Equal(tb, before, w.Rows(tb))
}

func requireTaken(tb testing.TB, err error) {
	tb.Helper()
	require.True(tb, tenant.HasCode(err, tenant.CodeHostnameTaken), "%v", err)
	require.ErrorContains(tb, err, claimedHostname)
}

func claimsLife(t *testing.T, w ClaimsWorld) {
	claims, journal := w.ours(t), &Journal{}
	object := tenant.Object{Tenant: "acme", Kind: tenant.KindClaim, Name: claimedHostname}
	claim, err := claims.Request(t.Context(), "acme", claimedHostname, claimedAt(), journal)
	require.NoError(t, err)
	require.Equal(t, tenant.ClaimPending, claim.State)
	require.Equal(t, tenant.ID("acme"), claim.Tenant)
	require.Equal(t, claimedHostname, claim.Hostname)
	require.Positive(t, claim.Number)
	require.NotEmpty(t, claim.Target)
	require.True(t, claimedAt().Equal(claim.RequestedAt))
	require.True(t, claim.VerifiedAt.IsZero())
	require.Empty(t, claim.Rivals)
	require.Contains(t, journal.Made(), object)

	w.requireSame(t, func() {
		again := &Journal{}
		same, err := w.ours(t).
			Request(t.Context(), "acme", claimedHostname, claimedAt().Add(time.Hour), again)
		require.NoError(t, err)
		require.Equal(t, claim, same, "asking again is no new claim, and doesn't restart its window")
		require.Equal(t, []string{"adopted " + object.String()}, again.Events)
		seen, err := w.ours(t).ReadClaim(t.Context(), "acme", claimedHostname)
		require.NoError(t, err)
		require.Equal(t, claim, seen)
	})
	require.NoError(t, claims.GiveUp(t.Context(), "acme", claimedHostname, journal))
	require.Empty(t, journal.Made())
	require.Len(t, w.Rows(t), 1, "a row is never deleted")
	_, err = claims.ReadClaim(t.Context(), "acme", claimedHostname)
	require.ErrorIs(t, err, tenant.ErrAbsent)
	w.requireSame(t, func() {
		require.NoError(t, claims.GiveUp(t.Context(), "acme", claimedHostname, journal))
	})
	journal.RequireSound(t)
}

func claimsAbsent(t *testing.T, w ClaimsWorld) {
	claims := w.ours(t)
	claim, err := claims.ReadClaim(t.Context(), "acme", claimedHostname)
	require.ErrorIs(t, err, tenant.ErrAbsent)
	require.Empty(t, claim.Rivals)
	_, err = claims.Settle(t.Context(), "acme", claimedHostname, tenant.ClaimVerified, claimedAt())
	require.ErrorIs(t, err, tenant.ErrAbsent)
	require.NoError(t, claims.GiveUp(t.Context(), "acme", claimedHostname, tenant.NoJournal{}))
	open, err := claims.OpenClaims(t.Context(), "acme")
	require.NoError(t, err)
	require.Empty(t, open)
}

// claimsSquatters: whoever claims first and proves nothing stops nobody.
func claimsSquatters(t *testing.T, w ClaimsWorld) {
	squatter := w.request(t, "squatter")
	owner := w.request(t, "owner")
	require.NotEqual(t, squatter.Number, owner.Number)
	require.NotEqual(t, squatter.Target, owner.Target)
	require.Equal(t, []tenant.Rival{{Tenant: "squatter", State: tenant.ClaimPending}}, owner.Rivals)
	stranger, err := w.ours(t).ReadClaim(t.Context(), "stranger", claimedHostname)
	require.ErrorIs(t, err, tenant.ErrAbsent)
	require.Len(t, stranger.Rivals, 2, "the rivals are told to one who has no claim")
	w.giveUp(t, "squatter")
	seen, err := w.ours(t).ReadClaim(t.Context(), "owner", claimedHostname)
	require.NoError(t, err)
	require.Empty(t, seen.Rivals)
}

func claimsFirstProof(t *testing.T, w ClaimsWorld) {
	w.request(t, "first")
	w.request(t, "second")
	verified := w.settle(t, "second", tenant.ClaimVerified)
	require.Equal(t, tenant.ClaimVerified, verified.State)
	require.True(t, claimedAt().Add(time.Hour).Equal(verified.VerifiedAt))
	w.requireSame(t, func() {
		_, err := w.ours(t).Settle(t.Context(), "first", claimedHostname, tenant.ClaimVerified, claimedAt())
		requireTaken(t, err)
		_, err = w.ours(t).Request(t.Context(), "first", claimedHostname, claimedAt(), tenant.NoJournal{})
		requireTaken(t, err)
		journal := &Journal{}
		_, err = w.ours(t).Request(t.Context(), "third", claimedHostname, claimedAt(), journal)
		requireTaken(t, err)
		require.Empty(t, journal.Events)
	})
	w.giveUp(t, "second")
	require.Equal(t, tenant.ClaimVerified, w.settle(t, "first", tenant.ClaimVerified).State)
}

// claimsInstallations: one register serves several installations; a tenant of the same id elsewhere is somebody else.
func claimsInstallations(t *testing.T, w ClaimsWorld) {
	neighbour := w.Open(KeyringOf(t, "test-us"))
	theirs, err := neighbour.Request(t.Context(), "acme", claimedHostname, claimedAt(), tenant.NoJournal{})
	require.NoError(t, err)
	ours := w.request(t, "acme")
	require.NotEqual(t, theirs.Number, ours.Number)
	require.Len(t, ours.Rivals, 1)
	require.NotEqual(t, tenant.ID("acme"), ours.Rivals[0].Tenant)
	_, err = neighbour.Settle(t.Context(), "acme", claimedHostname, tenant.ClaimVerified, claimedAt())
	require.NoError(t, err)
	_, err = w.ours(t).Settle(t.Context(), "acme", claimedHostname, tenant.ClaimVerified, claimedAt())
	requireTaken(t, err)
	w.giveUp(t, "acme")
	seen, err := neighbour.ReadClaim(t.Context(), "acme", claimedHostname)
	require.NoError(t, err)
	require.Equal(t, tenant.ClaimVerified, seen.State)
	require.Empty(t, seen.Rivals)
}

// claimsGivenUp: the record that proved the first claim is still published, and proves nothing for the next.
func claimsGivenUp(t *testing.T, w ClaimsWorld) {
	numbers, targets := map[int64]bool{}, map[string]bool{}
	for range 3 {
		for _, id := range []tenant.ID{"acme", "beta"} {
			claim := w.request(t, id)
			require.Equal(t, tenant.ClaimPending, claim.State)
			require.True(t, claim.VerifiedAt.IsZero())
			numbers[claim.Number], targets[claim.Target] = true, true
			w.settle(t, id, tenant.ClaimVerified)
			w.giveUp(t, id)
		}
	}
	require.Len(t, numbers, 6)
	require.Len(t, targets, 6)
	require.Len(t, w.Rows(t), 6)
}

func claimsExpired(t *testing.T, w ClaimsWorld) {
	w.request(t, "acme")
	require.Equal(t, tenant.ClaimExpired, w.settle(t, "acme", tenant.ClaimExpired).State)
	w.requireSame(t, func() {
		w.settle(t, "acme", tenant.ClaimExpired)
		require.Equal(t, tenant.ClaimExpired, w.request(t, "acme").State, "asking again revives nothing")
	})
	require.Len(t, w.request(t, "beta").Rivals, 1, "an expired rival is still told")
	require.Equal(t, tenant.ClaimVerified, w.settle(t, "acme", tenant.ClaimVerified).State)
}

func claimsVerifiedStays(t *testing.T, w ClaimsWorld) {
	w.request(t, "acme")
	verified := w.settle(t, "acme", tenant.ClaimVerified)
	w.requireSame(t, func() {
		require.Equal(t, verified, w.settle(t, "acme", tenant.ClaimExpired))
		again, err := w.ours(t).
			Settle(t.Context(), "acme", claimedHostname, tenant.ClaimVerified, claimedAt().Add(9*time.Hour))
		require.NoError(t, err)
		require.Equal(t, verified, again)
		require.Equal(t, verified, w.request(t, "acme"))
	})
}

func claimsRace(t *testing.T, w ClaimsWorld) {
	ids := []tenant.ID{"t0", "t1", "t2", "t3"}
	for _, id := range ids {
		w.request(t, id)
	}
	errs := allAtOnce(len(ids), func(n int) error {
		_, err := w.ours(t).
			Settle(context.Background(), ids[n], claimedHostname, tenant.ClaimVerified, claimedAt())
		return err
	})
	winners := 0
	for n, err := range errs {
		claim, readErr := w.ours(t).ReadClaim(t.Context(), ids[n], claimedHostname)
		require.NoError(t, readErr)
		require.Equal(t, err == nil, claim.State == tenant.ClaimVerified)
		if err == nil {
			winners++
			continue
		}
		requireTaken(t, err)
	}
	require.Equal(t, 1, winners)
}

func claimsTwoRequests(t *testing.T, w ClaimsWorld) {
	got := make([]tenant.Claim, 2)
	errs := allAtOnce(2, func(n int) (err error) {
		got[n], err = w.ours(t).
			Request(context.Background(), "acme", claimedHostname, claimedAt(), &Journal{})
		return err
	})
	require.Equal(t, []error{nil, nil}, errs)
	require.Equal(t, got[0], got[1])
	require.Len(t, w.Rows(t), 1)
}

func claimsTwenty(t *testing.T, w ClaimsWorld) {
	shared, got := w.ours(t), make([]tenant.Claim, 20)
	errs := allAtOnce(20, func(n int) (err error) {
		claims := shared
		if n%2 == 0 {
			claims = w.ours(t)
		}
		got[n], err = claims.Request(context.Background(), tenant.ID(fmt.Sprintf("t%d", n)),
			fmt.Sprintf("h%d.example", n), claimedAt(), tenant.NoJournal{})
		return err
	})
	numbers := map[int64]bool{}
	for n, err := range errs {
		require.NoError(t, err)
		numbers[got[n].Number] = true
	}
	require.Len(t, numbers, 20)
}

// claimsForged: a row that says it is the tenant's and has no mark is neither read as its claim nor changed.
func claimsForged(t *testing.T, w ClaimsWorld) {
	w.Forge(t, "acme", claimedHostname)
	claims := w.ours(t)
	w.requireSame(t, func() {
		_, err := claims.Request(t.Context(), "acme", claimedHostname, claimedAt(), tenant.NoJournal{})
		requireForeign(t, err, claimedHostname)
		_, err = claims.ReadClaim(t.Context(), "acme", claimedHostname)
		requireForeign(t, err, claimedHostname)
		_, err = claims.Settle(t.Context(), "acme", claimedHostname, tenant.ClaimVerified, claimedAt())
		requireForeign(t, err, claimedHostname)
		requireForeign(
			t,
			claims.GiveUp(t.Context(), "acme", claimedHostname, tenant.NoJournal{}),
			claimedHostname,
		)
	})
}

// claimsHostile: a hostname is data; and each target is a name that DNS can hold.
func claimsHostile(t *testing.T, w ClaimsWorld) {
	id, _ := LongIDs()
	long := ""
	for len(long) < 235-4 {
		long += string(id[:min(63, 235-4-len(long))]) + "."
	}
	for _, hostname := range []string{long + "com", "x'; DROP TABLE claims; --.example", "ü.example", "%.example", "_._"} {
		claim, err := w.ours(t).Request(t.Context(), id, hostname, claimedAt(), tenant.NoJournal{})
		require.NoError(t, err)
		require.LessOrEqual(t, len(claim.Target), 253)
		require.Regexp(t, `^[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+$`, claim.Target)
		seen, err := w.ours(t).ReadClaim(t.Context(), id, hostname)
		require.NoError(t, err)
		require.Equal(t, claim, seen)
	}
}

func claimsOpen(t *testing.T, w ClaimsWorld) {
	claims := w.ours(t)
	for _, hostname := range []string{"c.example", "a.example", "b.example"} {
		_, err := claims.Request(t.Context(), "acme", hostname, claimedAt(), tenant.NoJournal{})
		require.NoError(t, err)
	}
	_, err := claims.Request(t.Context(), "beta", "a.example", claimedAt(), tenant.NoJournal{})
	require.NoError(t, err)
	_, err = w.Open(KeyringOf(t, "test-us")).
		Request(t.Context(), "acme", "d.example", claimedAt(), tenant.NoJournal{})
	require.NoError(t, err)
	require.NoError(t, claims.GiveUp(t.Context(), "acme", "b.example", tenant.NoJournal{}))
	open, err := claims.OpenClaims(t.Context(), "acme")
	require.NoError(t, err)
	require.Len(t, open, 2)
	require.Equal(t, "a.example", open[0].Hostname)
	require.Equal(t, "c.example", open[1].Hostname)
	for _, claim := range open {
		seen, err := claims.ReadClaim(t.Context(), "acme", claim.Hostname)
		require.NoError(t, err)
		require.Equal(t, seen, claim)
	}
}

func claimsStates(t *testing.T, w ClaimsWorld) {
	w.request(t, "acme")
	w.requireSame(t, func() {
		for _, state := range []tenant.ClaimState{tenant.ClaimPending, tenant.ClaimGivenUp, ""} {
			_, err := w.ours(t).Settle(t.Context(), "acme", claimedHostname, state, claimedAt())
			require.Error(t, err)
		}
	})
}

func claimsUnknownKey(t *testing.T, w ClaimsWorld) {
	claim := w.request(t, "acme")
	seen, err := w.Open(RotatedKeyring(t)).ReadClaim(t.Context(), "acme", claimedHostname)
	require.NoError(t, err)
	require.Equal(t, claim, seen, "a new key changes neither number nor target")
	_, err = w.Open(forgetfulKeyring(t)).ReadClaim(t.Context(), "acme", claimedHostname)
	require.True(t, tenant.HasCode(err, tenant.CodeUnknownKey), "%v", err)
}

func claimsCrash(t *testing.T, fresh func(t testing.TB) ClaimsWorld) {
	t.Helper()
	CrashEverywhere(t, func(t *testing.T, _ int) (func(context.Context) error, func(*testing.T)) {
		t.Helper()
		w, journal := fresh(t), &Journal{}
		work := func(ctx context.Context) error {
			claims := w.ours(t)
			if _, err := claims.Request(ctx, "acme", claimedHostname, claimedAt(), journal); err != nil {
				return err
			}
			if _, err := claims.Settle(
				ctx,
				"acme",
				claimedHostname,
				tenant.ClaimVerified,
				claimedAt(),
			); err != nil {
				return err
			}
			return claims.GiveUp(ctx, "gone", claimedHostname, journal)
		}
		return work, func(t *testing.T) {
			t.Helper()
			claim, err := w.ours(t).ReadClaim(t.Context(), "acme", claimedHostname)
			require.NoError(t, err)
			require.Equal(t, tenant.ClaimVerified, claim.State)
			require.Len(t, w.Rows(t), 1)
			journal.RequireSound(t)
			require.Len(t, journal.Made(), 1)
		}
	})
}
