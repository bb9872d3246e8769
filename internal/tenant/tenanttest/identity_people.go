package tenanttest

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// identitySharedPerson has one person administer two tenants: the account is the first one's, and outlives each.
func identitySharedPerson(t *testing.T, f IdentityFixture) {
	t.Helper()
	acme, globex := identitySpec("acme"), identitySpec("globex")
	globex.Administrator = tenant.Administrator{Email: "Ada@acme.Example.com", Name: "Ada, of Globex"}
	first := ensureIdentity(t, f.Identities, acme)
	second := ensureIdentity(t, f.Identities, globex)
	require.Equal(t, first.AdministratorID, second.AdministratorID)
	require.Equal(t, globex.Administrator, second.Administrator, "told as asked for: no difference for ever")
	untouched, err := f.Identities.Read(t.Context(), "acme", tenant.IdentityNames{})
	require.NoError(t, err)
	require.Equal(t, first, untouched, "the person's own data was not touched")

	// The first tenant goes: the account stays for the second.
	require.NoError(t, f.Identities.Delete(t.Context(), "acme", tenant.IdentityNames{}, tenant.NoJournal{}))
	require.Equal(t, second, ensureIdentity(t, f.Identities, globex))
	// The first one comes back and is nobody's rival.
	require.Equal(t, first.AdministratorID, ensureIdentity(t, f.Identities, acme).AdministratorID)
	// The second one gets another administrator: the first still has theirs.
	globex.Administrator = tenant.Administrator{Email: "grace@globex.example.com", Name: "Grace Hopper"}
	ensureIdentity(t, f.Identities, globex)
	require.Equal(t, first.AdministratorID, ensureIdentity(t, f.Identities, acme).AdministratorID)
	// A lost membership of the first does not make the account a left-over of the second.
	globex.Administrator = acme.Administrator
	ensureIdentity(t, f.Identities, globex)
	f.Break(t, "acme", BrokenMembership, acme.Administrator.Email)
	require.NoError(t, f.Identities.Delete(t.Context(), "globex", tenant.IdentityNames{}, tenant.NoJournal{}))
	require.Equal(t, first.AdministratorID, ensureIdentity(t, f.Identities, acme).AdministratorID)

	require.NoError(t, f.Identities.Delete(t.Context(), "acme", tenant.IdentityNames{}, tenant.NoJournal{}))
	f.requireNothingLeft(t, acme)
}

// identityMemberElsewhere has the product make the administrator a member of another organization, too.
func identityMemberElsewhere(t *testing.T, f IdentityFixture) {
	t.Helper()
	acme, globex := identitySpec("acme"), identitySpec("globex")
	ensureIdentity(t, f.Identities, acme)
	ensureIdentity(t, f.Identities, globex)
	f.Join(t, "globex", acme.Administrator.Email)
	require.NoError(t, f.Identities.Delete(t.Context(), "acme", tenant.IdentityNames{}, tenant.NoJournal{}))
	require.NotEmpty(t, f.Snapshot(t, tenant.KindUser, acme.Administrator.Email))
	organization, clientID := f.Names("acme")
	require.Empty(t, f.Snapshot(t, tenant.KindOrganization, organization))
	require.Empty(t, f.Snapshot(t, tenant.KindApplication, clientID))
}

func identityTwoCreators(t *testing.T, f IdentityFixture) {
	t.Helper()
	spec := identitySpec("acme")
	got := atOnce(t, 6, func(ctx context.Context, n int) (tenant.Identity, error) {
		return []tenant.Identities{f.Identities, f.Another}[n%2].Ensure(ctx, spec, tenant.NoJournal{})
	})
	for _, one := range got {
		require.Equal(t, got[0], one, "exactly one organization, application and person")
	}
	require.NoError(t, f.Identities.Delete(t.Context(), "acme", tenant.IdentityNames{}, tenant.NoJournal{}))
	f.requireNothingLeft(t, spec)
}

// identityForeignInStep lets somebody put a foreign object in the way after it was seen absent.
func identityForeignInStep(t *testing.T, f IdentityFixture) {
	t.Helper()
	for i, kind := range []tenant.Kind{tenant.KindOrganization, tenant.KindApplication, tenant.KindUser} {
		spec := identitySpec(tenant.ID("step-" + strconv.Itoa(i)))
		organization, clientID := f.Names(spec.Tenant)
		name := []string{organization, clientID, spec.Administrator.Email}[i]
		var planted string
		ctx := tenant.WithFailpoint(t.Context(), func(point string) {
			if point == string(kind)+".intended" {
				f.Plant(t, kind, name)
				planted = f.Snapshot(t, kind, name)
			}
		})
		_, err := f.Identities.Ensure(ctx, spec, tenant.NoJournal{})
		requireCode(t, tenant.CodeForeign, err)
		require.NotEmpty(t, planted)
		require.Equal(t, planted, f.Snapshot(t, kind, name))
	}
}

// identityTwoCreatorsInStep lets the second creator do everything just before the first one makes an object.
func identityTwoCreatorsInStep(t *testing.T, f IdentityFixture) {
	t.Helper()
	for i, kind := range []tenant.Kind{tenant.KindOrganization, tenant.KindApplication, tenant.KindUser} {
		spec := identitySpec(tenant.ID("step-" + strconv.Itoa(i)))
		var other tenant.Identity
		var otherErr error
		overtaken := false
		ctx := tenant.WithFailpoint(t.Context(), func(name string) {
			if name == string(kind)+".intended" && !overtaken {
				overtaken = true
				other, otherErr = f.Another.Ensure(t.Context(), spec, tenant.NoJournal{})
			}
		})
		journal := &Journal{}
		got, err := f.Identities.Ensure(ctx, spec, journal)
		require.NoError(t, err)
		require.NoError(t, otherErr)
		require.True(t, overtaken)
		require.Equal(t, other, got)
		journal.RequireSound(t)
		ids := map[tenant.Kind]string{
			tenant.KindOrganization: got.OrganizationID, tenant.KindApplication: got.ApplicationID,
			tenant.KindUser: got.AdministratorID,
		}
		for object, id := range journal.Made() {
			require.Equal(t, ids[object.Kind], id, "the journal has the id of the one that is there")
		}
		require.NoError(
			t,
			f.Identities.Delete(t.Context(), spec.Tenant, tenant.IdentityNames{}, tenant.NoJournal{}),
		)
		f.requireNothingLeft(t, spec)
	}
}

func identityTwoTenantsAtOnce(t *testing.T, f IdentityFixture) {
	t.Helper()
	got := atOnce(t, 6, func(ctx context.Context, n int) (tenant.Identity, error) {
		spec := identitySpec(tenant.ID("tenant-" + strconv.Itoa(n)))
		spec.Administrator.Email = "ada@example.com"
		return []tenant.Identities{f.Identities, f.Another}[n%2].Ensure(ctx, spec, tenant.NoJournal{})
	})
	for n, one := range got {
		require.Equal(t, got[0].AdministratorID, one.AdministratorID)
		id := tenant.ID("tenant-" + strconv.Itoa(n))
		require.NoError(t, f.Identities.Delete(t.Context(), id, tenant.IdentityNames{}, tenant.NoJournal{}))
	}
	require.Empty(t, f.Snapshot(t, tenant.KindUser, "ada@example.com"))
}

// atOnce runs work n times at once and returns the results.
func atOnce[T any](t *testing.T, n int, work func(ctx context.Context, n int) (T, error)) []T {
	t.Helper()
	out, errs := make([]T, n), make([]error, n)
	var running sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		running.Go(func() {
			<-start
			out[i], errs[i] = work(t.Context(), i)
		})
	}
	close(start)
	running.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	return out
}

// identityInvitations mints two: both let the person in, and neither is stored. A backend whose links carry nothing
// secret gives the same one twice.
func identityInvitations(t *testing.T, f IdentityFixture) {
	t.Helper()
	inviter, ok := f.Identities.(tenant.Inviter)
	if !ok {
		return // an optional power
	}
	spec := identitySpec("acme")
	ensureIdentity(t, f.Identities, spec)
	first, err := inviter.Invite(t.Context(), "acme", tenant.IdentityNames{})
	require.NoError(t, err)
	second, err := inviter.Invite(t.Context(), "acme", tenant.IdentityNames{})
	require.NoError(t, err)
	for _, invitation := range []tenant.Invitation{first, second} {
		link := invitation.Link.Reveal()
		require.True(t, strings.HasPrefix(link, "https://"), "a link that a mail can carry")
		require.NoError(t, f.Follow(t, link))
		if !invitation.Expires.IsZero() {
			require.NotContains(t, string(f.Dump(t)), link[strings.LastIndexAny(link, "=/")+1:])
		}
	}
	f.Break(t, "acme", BrokenAdministrator, spec.Administrator.Email)
	_, err = inviter.Invite(t.Context(), "acme", tenant.IdentityNames{})
	require.ErrorIs(t, err, tenant.ErrAbsent)
}

// identityNoSecretStored looks for secrets in all that is stored. Where the system itself keeps an application's secret, it
// stands with the application and nowhere else, and an earlier one nowhere at all.
func identityNoSecretStored(t *testing.T, f IdentityFixture) {
	t.Helper()
	spec := identitySpec("acme")
	ensureIdentity(t, f.Identities, spec)
	first := f.Secret(t, "acme").Reveal()
	spec.SecretVersion = 2
	ensureIdentity(t, f.Identities, spec)
	second := f.Secret(t, "acme").Reveal()
	dump := string(f.Dump(t))
	require.Contains(t, dump, spec.Administrator.Name, "the dump shows what is stored")
	require.NotContains(t, dump, first)
	if f.ClearSecrets == "" {
		require.NotContains(t, dump, second)
		return
	}
	organization, _ := f.Names("acme")
	require.NotContains(t, f.Snapshot(t, tenant.KindOrganization, organization), second)
	require.NotContains(t, f.Snapshot(t, tenant.KindUser, spec.Administrator.Email), second)
	require.Equal(t, 1, strings.Count(dump, second), "once: %s", f.ClearSecrets)
}

// identityKilledCreating ends the first Ensure between any two writes.
func identityKilledCreating(t *testing.T, f IdentityFixture) {
	t.Helper()
	CrashEverywhere(t, func(_ *testing.T, round int) (func(context.Context) error, func(*testing.T)) {
		spec := identitySpec(tenant.ID("round-" + strconv.Itoa(round)))
		journal := &Journal{}
		work := func(ctx context.Context) error {
			_, err := f.Identities.Ensure(ctx, spec, journal)
			return err
		}
		return work, func(t *testing.T) {
			t.Helper()
			journal.RequireSound(t)
			require.Len(t, journal.Made(), 3, "what a kill left in flight counts as created")
			before := f.snapshots(t, spec)
			ensureIdentity(t, f.Identities, spec)
			require.Equal(t, before, f.snapshots(t, spec))
			require.NoError(t, f.Identities.Delete(t.Context(), spec.Tenant, tenant.IdentityNames{}, journal))
			f.requireNothingLeft(t, spec)
			require.Empty(t, journal.Made())
		}
	})
}

// identityKilledChanging ends an Ensure that changes everything, the administrator included.
func identityKilledChanging(t *testing.T, f IdentityFixture) {
	t.Helper()
	CrashEverywhere(t, func(t *testing.T, round int) (func(context.Context) error, func(*testing.T)) {
		t.Helper()
		spec := identitySpec(tenant.ID("round-" + strconv.Itoa(round)))
		former := spec.Administrator.Email
		ensureIdentity(t, f.Identities, spec)
		no := false
		spec.DisplayName, spec.Roles, spec.SecretVersion, spec.Enabled = "Other Ltd", []string{
			"other",
		}, 2, &no
		spec.Administrator = tenant.Administrator{
			Email: "grace@" + string(spec.Tenant) + ".example",
			Name:  "Grace",
		}
		journal := &Journal{}
		work := func(ctx context.Context) error {
			_, err := f.Identities.Ensure(ctx, spec, journal)
			return err
		}
		return work, func(t *testing.T) {
			t.Helper()
			journal.RequireSound(t)
			got := ensureIdentity(t, f.Identities, spec)
			require.Equal(t, spec.DisplayName, got.DisplayName)
			require.Equal(t, spec.Roles, got.Roles)
			require.Equal(t, spec.Administrator, got.Administrator)
			require.Equal(t, int64(2), got.Secret.Version)
			require.False(t, got.Enabled)
			require.Empty(t, f.Snapshot(t, tenant.KindUser, former))
			require.NoError(
				t,
				f.Identities.Delete(t.Context(), spec.Tenant, tenant.IdentityNames{}, tenant.NoJournal{}),
			)
			f.requireNothingLeft(t, spec)
		}
	})
}

func identityKilledDeleting(t *testing.T, f IdentityFixture) {
	t.Helper()
	CrashEverywhere(t, func(t *testing.T, round int) (func(context.Context) error, func(*testing.T)) {
		t.Helper()
		spec := identitySpec(tenant.ID("round-" + strconv.Itoa(round)))
		journal := &Journal{}
		_, err := f.Identities.Ensure(t.Context(), spec, journal)
		require.NoError(t, err)
		work := func(ctx context.Context) error {
			return f.Identities.Delete(ctx, spec.Tenant, tenant.IdentityNames{}, journal)
		}
		return work, func(t *testing.T) {
			t.Helper()
			f.requireNothingLeft(t, spec)
			require.Empty(t, journal.Made(), "each removal is told, also after a kill")
		}
	})
}
