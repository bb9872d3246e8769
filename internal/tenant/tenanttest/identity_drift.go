package tenanttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// identityDrift removes one part after the other: each is told as missing, and made again.
func identityDrift(t *testing.T, f IdentityFixture) {
	t.Helper()
	spec := identitySpec("acme")
	first := ensureIdentity(t, f.Identities, spec)
	for part, missing := range map[IdentityPart]string{
		BrokenApplication: "application", BrokenAdministrator: "administrator", BrokenMembership: "membership",
	} {
		f.Break(t, "acme", part, spec.Administrator.Email)
		seen, err := f.Identities.Read(t.Context(), "acme", tenant.IdentityNames{})
		require.NoError(t, err)
		require.Equal(t, []string{missing}, seen.Missing)
		require.Equal(t, first.OrganizationID, seen.OrganizationID)
		require.Equal(t, part == BrokenApplication, seen.ApplicationID == "")
		require.Equal(t, part == BrokenAdministrator, seen.AdministratorID == "")
		repaired := ensureIdentity(t, f.Identities, spec)
		require.Equal(
			t,
			first.Secret,
			repaired.Secret,
			"an application made again has the secret that it had",
		)
		require.Equal(t, spec.Administrator, repaired.Administrator)
		require.Equal(t, first.Roles, repaired.Roles)
	}
}

func identitySecretDrift(t *testing.T, f IdentityFixture) {
	t.Helper()
	spec := identitySpec("acme")
	first := ensureIdentity(t, f.Identities, spec)
	ours := f.Secret(t, "acme")
	f.Break(t, "acme", BrokenSecret, spec.Administrator.Email)
	seen, err := f.Identities.Read(t.Context(), "acme", tenant.IdentityNames{})
	require.NoError(t, err)
	require.NotEqual(t, first.Secret.Fingerprint, seen.Secret.Fingerprint)
	require.False(t, f.Accepts(t, first.ClientID, ours))
	require.Equal(t, first, ensureIdentity(t, f.Identities, spec))
	require.True(t, f.Accepts(t, first.ClientID, ours))
}

// identityOrganizationLost takes the organization away: the identity counts as absent, and what has survived is ours.
func identityOrganizationLost(t *testing.T, f IdentityFixture) {
	t.Helper()
	spec := identitySpec("acme")
	ensureIdentity(t, f.Identities, spec)
	f.Break(t, "acme", BrokenOrganization, spec.Administrator.Email)
	_, err := f.Identities.Read(t.Context(), "acme", tenant.IdentityNames{})
	require.ErrorIs(t, err, tenant.ErrAbsent)
	ensureIdentity(t, f.Identities, spec)

	f.Break(t, "acme", BrokenOrganization, spec.Administrator.Email)
	require.NoError(t, f.Identities.Delete(t.Context(), "acme", tenant.IdentityNames{}, tenant.NoJournal{}))
	f.requireNothingLeft(t, spec)
}

func identityEnabled(t *testing.T, f IdentityFixture) {
	t.Helper()
	spec := identitySpec("acme")
	yes, no := true, false
	for _, step := range []struct {
		ask  *bool
		want bool
	}{{nil, true}, {nil, true}, {&no, false}, {nil, false}, {&no, false}, {&yes, true}, {nil, true}, {&no, false}} {
		spec.Enabled = step.ask
		require.Equal(t, step.want, ensureIdentity(t, f.Identities, spec).Enabled)
		secret := f.Secret(t, "acme")
		_, clientID := f.Names("acme")
		require.Equal(
			t,
			step.want,
			f.Accepts(t, clientID, secret),
			"a suspended tenant's application is let in nowhere",
		)
	}
	spec.Enabled = nil
	for _, part := range []IdentityPart{BrokenApplication, BrokenAdministrator, BrokenMembership, BrokenOrganization} {
		f.Break(t, "acme", part, spec.Administrator.Email)
		require.False(
			t,
			ensureIdentity(t, f.Another, spec).Enabled,
			"the repair of the %s reactivates nothing",
			part,
		)
	}

	born := identitySpec("globex")
	born.Enabled = &no
	require.False(t, ensureIdentity(t, f.Identities, born).Enabled)
}

func identityRotatedByVersion(t *testing.T, f IdentityFixture) {
	t.Helper()
	spec := identitySpec("acme")
	first := ensureIdentity(t, f.Identities, spec)
	old := f.Secret(t, "acme")
	spec.SecretVersion = 2
	second := ensureIdentity(t, f.Identities, spec)
	require.Equal(t, int64(2), second.Secret.Version)
	require.NotEqual(t, first.Secret.Fingerprint, second.Secret.Fingerprint)
	require.Equal(t, f.Secret(t, "acme").Fingerprint(), second.Secret.Fingerprint)
	require.True(t, f.Accepts(t, first.ClientID, f.Secret(t, "acme")))
	f.requireOverlap(t, first.ClientID, old)
	require.Equal(t, second, ensureIdentity(t, f.Identities, spec))
	f.requireOverlap(t, first.ClientID, old) // applying again does not end it

	spec.SecretVersion = 1
	_, err := f.Identities.Ensure(t.Context(), spec, tenant.NoJournal{})
	requireCode(t, tenant.CodeInvalidConfig, err) // an earlier secret never comes back
}

// requireOverlap wants an earlier secret to be accepted still, unless the system can't: then it must be dead.
func (f IdentityFixture) requireOverlap(t *testing.T, clientID string, old tenant.Secret) {
	t.Helper()
	require.Equal(
		t,
		f.NoOverlap == "",
		f.Accepts(t, clientID, old),
		"a rotation has an overlap; %s",
		f.NoOverlap,
	)
}

func identityRotatedByKey(t *testing.T, f IdentityFixture) {
	t.Helper()
	spec := identitySpec("acme")
	first := ensureIdentity(t, f.Identities, spec)
	old := f.Secret(t, "acme")
	require.Equal(t, first, ensureIdentity(t, f.Rotated, spec), "a new key alone changes no secret")
	spec.SecretVersion = 2
	second := ensureIdentity(t, f.Rotated, spec)
	require.Equal(t, "k2", second.Secret.KeyID)
	require.Equal(t, int64(2), second.Secret.Version)
	require.Equal(t, first.Secret.Incarnation, second.Secret.Incarnation)
	require.NotEqual(t, first.Secret.Fingerprint, second.Secret.Fingerprint)
	f.requireOverlap(t, first.ClientID, old)
	require.Equal(t, first.OrganizationID, second.OrganizationID)
	require.Equal(t, first.AdministratorID, second.AdministratorID)

	// A keyring that does not know the key says so, and changes nothing.
	_, err := f.Rotated.Ensure(t.Context(), identitySpec("globex"), tenant.NoJournal{})
	require.NoError(t, err)
	before := f.snapshots(t, identitySpec("globex"))
	_, err = f.Identities.Read(t.Context(), "globex", tenant.IdentityNames{})
	requireCode(t, tenant.CodeUnknownKey, err)
	_, err = f.Identities.Ensure(t.Context(), identitySpec("globex"), tenant.NoJournal{})
	requireCode(t, tenant.CodeUnknownKey, err)
	requireCode(
		t,
		tenant.CodeUnknownKey,
		f.Identities.Delete(t.Context(), "globex", tenant.IdentityNames{}, tenant.NoJournal{}),
	)
	require.Equal(t, before, f.snapshots(t, identitySpec("globex")))
}

func identityUsedAgain(t *testing.T, f IdentityFixture) {
	t.Helper()
	spec := identitySpec("acme")
	first := ensureIdentity(t, f.Identities, spec)
	old := f.Secret(t, "acme")
	require.NoError(t, f.Identities.Delete(t.Context(), "acme", tenant.IdentityNames{}, tenant.NoJournal{}))
	second := ensureIdentity(t, f.Identities, spec)
	require.NotEqual(t, first.OrganizationID, second.OrganizationID)
	require.NotEqual(t, first.Secret.Fingerprint, second.Secret.Fingerprint)
	require.False(t, f.Accepts(t, second.ClientID, old), "the earlier tenant's secret opens nothing")
}

func identityDeletedTwice(t *testing.T, f IdentityFixture) {
	t.Helper()
	spec := identitySpec("acme")
	journal := &Journal{}
	_, err := f.Identities.Ensure(t.Context(), spec, journal)
	require.NoError(t, err)
	bystander := ensureIdentity(t, f.Identities, identitySpec("bystander"))
	for range 2 {
		require.NoError(t, f.Identities.Delete(t.Context(), "acme", tenant.IdentityNames{}, journal))
		f.requireNothingLeft(t, spec)
		require.Empty(t, journal.Made(), "each removal is told")
	}
	require.Equal(t, bystander, ensureIdentity(t, f.Identities, identitySpec("bystander")))
}

// identityDeletedAroundForeign puts a foreign application in the place of ours: the rest goes, and the failure names it.
func identityDeletedAroundForeign(t *testing.T, f IdentityFixture) {
	t.Helper()
	spec := identitySpec("acme")
	ensureIdentity(t, f.Identities, spec)
	organization, clientID := f.Names("acme")
	f.Break(t, "acme", BrokenApplication, spec.Administrator.Email)
	f.Plant(t, tenant.KindApplication, clientID)
	before := f.Snapshot(t, tenant.KindApplication, clientID)
	err := f.Identities.Delete(t.Context(), "acme", tenant.IdentityNames{}, tenant.NoJournal{})
	requireCode(t, tenant.CodeForeign, err)
	require.ErrorContains(t, err, clientID)
	require.Equal(t, before, f.Snapshot(t, tenant.KindApplication, clientID))
	require.Empty(t, f.Snapshot(t, tenant.KindOrganization, organization))
	require.Empty(t, f.Snapshot(t, tenant.KindUser, spec.Administrator.Email))
}

func identityDeletedDrifted(t *testing.T, f IdentityFixture) {
	t.Helper()
	spec := identitySpec("acme")
	for _, part := range []IdentityPart{BrokenApplication, BrokenAdministrator, BrokenMembership} {
		ensureIdentity(t, f.Identities, spec)
		f.Break(t, "acme", part, spec.Administrator.Email)
		require.NoError(
			t,
			f.Identities.Delete(t.Context(), "acme", tenant.IdentityNames{}, tenant.NoJournal{}),
		)
		f.requireNothingLeft(t, spec)
	}
}
