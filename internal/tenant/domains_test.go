package tenant_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/edge"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
	"github.com/tenantry/terraform-provider-tenant/internal/zonefile"
)

const custom = "books.acme.example"

// domainWorld is a zone file, an edge and the customers' DNS in one folder, with a clock that the test moves.
type domainWorld struct {
	tenant.Domains

	store  *edge.Store
	proofs string
	now    time.Time
}

func newDomainWorld(tb testing.TB) *domainWorld {
	tb.Helper()
	dir, ring := tb.TempDir(), tenanttest.Keyring(tb)
	w := &domainWorld{
		now:    time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		proofs: filepath.Join(dir, "proofs.zone"),
	}
	clock := func() time.Time { return w.now }
	w.store = edge.New(
		edge.Config{Path: filepath.Join(dir, "edge.db"), Zone: "app.example", Keyring: ring, Now: clock},
	)
	tb.Cleanup(func() { require.NoError(tb, w.store.Close()) })
	w.Domains = tenant.Domains{
		Records: zonefile.New(zonefile.Config{
			Path: filepath.Join(dir, "app.example.zone"), Zone: "app.example", Keyring: ring, Now: clock,
		}),
		Claims:   w.store,
		Bindings: w.store,
		Proofs:   zonefile.NewProofs(w.proofs),
		Target:   "edge.app.example",
		Now:      clock,
	}
	return w
}

func (w *domainWorld) ensure(tb testing.TB, spec tenant.DomainSpec) tenant.Domain {
	tb.Helper()
	seen, err := w.Ensure(tb.Context(), spec, tenant.NoJournal{})
	require.NoError(tb, err)
	again, err := w.Ensure(tb.Context(), spec, tenant.NoJournal{})
	require.NoError(tb, err)
	require.Equal(tb, seen, again, "a second time changes nothing")
	require.Empty(tb, seen.Missing)
	require.Empty(tb, seen.Altered)
	return seen
}

func (w *domainWorld) prove(tb testing.TB, claim tenant.Claim) {
	tb.Helper()
	line := fmt.Sprintf("_tenant-challenge.%s. 60 IN CNAME %s.\n", claim.Hostname, claim.Target)
	require.NoError(tb, os.WriteFile(w.proofs, []byte(line), 0o600))
}

func TestDomainWithoutACustomHostname(t *testing.T) {
	t.Parallel()
	w := newDomainWorld(t)
	seen := w.ensure(t, tenant.DomainSpec{Tenant: "acme", Upstream: "app:80"})
	require.Equal(t, []string{"acme.app.example"}, seen.Usable())
	require.Empty(t, w.Required(seen.Claim))
}

func TestDomainIsVerifiedByItsProof(t *testing.T) {
	t.Parallel()
	w := newDomainWorld(t)
	spec := tenant.DomainSpec{Tenant: "acme", CustomHostname: custom}
	pending := w.ensure(t, spec)
	require.Equal(t, tenant.ClaimPending, pending.Claim.State)
	require.Equal(t, []string{"acme.app.example"}, pending.Usable())
	require.Equal(t, "_tenant-challenge."+custom, w.Required(pending.Claim)[0].Name)

	spec.Verification = tenant.ClaimVerified
	_, err := w.Ensure(t.Context(), spec, tenant.NoJournal{})
	require.True(t, tenant.HasCode(err, tenant.CodeProofMissing), "what can't be seen is not verified")

	w.prove(t, pending.Claim)
	verified := w.ensure(t, spec)
	require.Equal(t, []string{"acme.app.example", custom}, verified.Usable())
	require.NoError(t, os.Remove(w.proofs))
	require.Equal(
		t,
		tenant.ClaimVerified,
		w.ensure(t, spec).Claim.State,
		"the customer may take the record away",
	)
}

func TestDomainExpiresAndMayStillBeProved(t *testing.T) {
	t.Parallel()
	w := newDomainWorld(t)
	spec := tenant.DomainSpec{Tenant: "acme", CustomHostname: custom, Window: time.Hour}
	claim := w.ensure(t, spec).Claim
	w.now = w.now.Add(time.Hour)
	require.Equal(t, tenant.ClaimExpired, w.ensure(t, spec).Claim.State)
	w.prove(t, claim)
	require.Equal(t, tenant.ClaimVerified, w.ensure(t, spec).Claim.State)
}

func TestDomainGivenUpNeedsFreshProof(t *testing.T) {
	t.Parallel()
	w := newDomainWorld(t)
	first := w.ensure(t, tenant.DomainSpec{Tenant: "acme", CustomHostname: custom})
	w.prove(t, first.Claim)
	require.Len(t, w.ensure(t, tenant.DomainSpec{Tenant: "acme", CustomHostname: custom}).Usable(), 2)
	w.ensure(t, tenant.DomainSpec{Tenant: "acme"})
	_, err := w.Records.Read(t.Context(), "acme", first.Claim.Target, "TXT")
	require.ErrorIs(t, err, tenant.ErrAbsent, "our side of the old proof is gone")
	again := w.ensure(t, tenant.DomainSpec{Tenant: "acme", CustomHostname: custom})
	require.Equal(t, tenant.ClaimPending, again.Claim.State, "the old record proves nothing any more")
	require.NotEqual(t, first.Claim.Target, again.Claim.Target)
}

func TestDomainOfARivalIsTaken(t *testing.T) {
	t.Parallel()
	w := newDomainWorld(t)
	w.ensure(t, tenant.DomainSpec{Tenant: "acme", CustomHostname: custom})
	rival := w.ensure(t, tenant.DomainSpec{Tenant: "rival", CustomHostname: custom})
	require.Equal(t, []tenant.Rival{{Tenant: "acme", State: tenant.ClaimPending}}, rival.Claim.Rivals)
	w.prove(t, rival.Claim)
	w.ensure(t, tenant.DomainSpec{Tenant: "rival", CustomHostname: custom})
	_, err := w.Ensure(
		t.Context(),
		tenant.DomainSpec{Tenant: "acme", CustomHostname: custom},
		tenant.NoJournal{},
	)
	require.True(t, tenant.HasCode(err, tenant.CodeHostnameTaken), err)
	require.NoError(t, w.Delete(t.Context(), "acme", tenant.NoJournal{}), "who lost can still leave")
	_, err = w.Bindings.ReadBinding(t.Context(), "rival", custom)
	require.NoError(t, err, "and takes nothing along")
}

func TestDomainRepairsWhatIsMissingOrAltered(t *testing.T) {
	t.Parallel()
	w := newDomainWorld(t)
	spec := tenant.DomainSpec{Tenant: "acme", CustomHostname: custom, Upstream: "app:80"}
	w.prove(t, w.ensure(t, spec).Claim)
	claim := w.ensure(t, spec).Claim
	ctx, none := t.Context(), tenant.NoJournal{}
	require.NoError(t, w.Bindings.DeleteBinding(ctx, "acme", custom, none))
	require.NoError(t, w.Records.Delete(ctx, "acme", claim.Target, "TXT", none))
	_, err := w.Bindings.EnsureBinding(
		ctx,
		tenant.Binding{Hostname: "acme.app.example", Tenant: "acme", Upstream: "evil:1"},
		none,
	)
	require.NoError(t, err)
	seen, err := w.Read(ctx, "acme", custom)
	require.NoError(t, err)
	require.Equal(t, []string{"record " + claim.Target + "/TXT", "binding " + custom}, seen.Missing)
	require.Equal(t, "evil:1", seen.Upstream)
	w.ensure(t, spec)

	_, err = w.Bindings.EnsureBinding(
		ctx,
		tenant.Binding{Hostname: custom, Tenant: "acme", Upstream: "evil:1"},
		none,
	)
	require.NoError(t, err)
	altered := tenant.Record{
		Name:   claim.Target,
		Type:   "TXT",
		Values: []string{"else"},
		TTL:    tenant.DefaultTTL,
	}
	require.NoError(t, w.Records.Ensure(ctx, "acme", altered, none))
	seen, err = w.Read(ctx, "acme", custom)
	require.NoError(t, err)
	require.Equal(t, []string{"record " + claim.Target + "/TXT", "binding " + custom}, seen.Altered)
	w.ensure(t, spec)
}

func TestDomainLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newDomainWorld(t)
	spec := tenant.DomainSpec{Tenant: "acme", CustomHostname: custom}
	w.prove(t, w.ensure(t, spec).Claim)
	w.ensure(t, spec)
	require.NoError(t, w.Delete(t.Context(), "acme", tenant.NoJournal{}))
	w.requireGone(t, "acme")
	require.NoError(t, w.Delete(t.Context(), "acme", tenant.NoJournal{}), "absent is done")
}

func (w *domainWorld) requireGone(tb testing.TB, id tenant.ID) {
	tb.Helper()
	_, err := w.Read(tb.Context(), id, "")
	require.ErrorIs(tb, err, tenant.ErrAbsent)
	open, err := w.Claims.OpenClaims(tb.Context(), id)
	require.NoError(tb, err)
	require.Empty(tb, open)
	bound, err := w.store.ListBindings(tb.Context())
	require.NoError(tb, err)
	require.Empty(tb, bound)
	lister, ok := w.Records.(tenant.RecordLister)
	require.True(tb, ok)
	records, err := lister.ListRecords(tb.Context())
	require.NoError(tb, err)
	require.Empty(tb, records)
}

// TestDomainCutAnywhere ends onboarding, verification and removal between any two writes.
func TestDomainCutAnywhere(t *testing.T) {
	t.Parallel()
	spec := tenant.DomainSpec{Tenant: "acme", CustomHostname: custom}
	t.Run("onboarding", func(t *testing.T) {
		t.Parallel()
		tenanttest.CrashEverywhere(
			t,
			func(t *testing.T, _ int) (func(context.Context) error, func(*testing.T)) {
				t.Helper()
				w, journal := newDomainWorld(t), &tenanttest.Journal{}
				work := func(ctx context.Context) error { _, err := w.Ensure(ctx, spec, journal); return err }
				return work, func(t *testing.T) {
					t.Helper()
					journal.RequireSound(t)
					require.Equal(t, tenant.ClaimPending, w.ensure(t, spec).Claim.State)
				}
			},
		)
	})
	t.Run("verification", func(t *testing.T) {
		t.Parallel()
		tenanttest.CrashEverywhere(
			t,
			func(t *testing.T, _ int) (func(context.Context) error, func(*testing.T)) {
				t.Helper()
				w := newDomainWorld(t)
				w.prove(t, w.ensure(t, spec).Claim)
				work := func(ctx context.Context) error { _, err := w.Ensure(ctx, spec, tenant.NoJournal{}); return err }
				return work, func(t *testing.T) {
					t.Helper()
					require.Len(t, w.ensure(t, spec).Usable(), 2)
				}
			},
		)
	})
	t.Run("removal", func(t *testing.T) {
		t.Parallel()
		tenanttest.CrashEverywhere(
			t,
			func(t *testing.T, _ int) (func(context.Context) error, func(*testing.T)) {
				t.Helper()
				w := newDomainWorld(t)
				w.prove(t, w.ensure(t, spec).Claim)
				w.ensure(t, spec)
				work := func(ctx context.Context) error { return w.Delete(ctx, "acme", tenant.NoJournal{}) }
				return work, func(t *testing.T) {
					t.Helper()
					w.requireGone(t, "acme")
				}
			},
		)
	})
}
