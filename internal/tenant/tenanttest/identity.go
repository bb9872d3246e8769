package tenanttest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// IdentityPart is a part of an identity that a suite breaks out of band.
type IdentityPart string

// The parts. Breaking one removes it; the secret is replaced by another one.
const (
	BrokenOrganization  IdentityPart = "organization"
	BrokenApplication   IdentityPart = "application"
	BrokenAdministrator IdentityPart = "administrator"
	BrokenMembership    IdentityPart = "membership"
	BrokenSecret        IdentityPart = "secret"
)

// IdentityFixture is an identity system that starts out empty, and what a test does to it behind the back of the
// backend. Every field but the limits is required; Follow only if the backend is a tenant.Inviter.
type IdentityFixture struct {
	// The limits are what the system itself can't do, each with the reason; "" where it can.
	NoOverlap    string // it accepts one secret of an application: a rotation ends the earlier one at once
	ClearSecrets string // it shows an application's secret to those who may administer it

	Identities tenant.Identities // with Keyring
	Another    tenant.Identities // the same system with Keyring again, as another process sees it
	Neighbour  tenant.Identities // the same system with KeyringOf another installation
	Rotated    tenant.Identities // the same system with RotatedKeyring

	// Names returns the name of a tenant's organization and the client id of its application, in Installation.
	Names func(id tenant.ID) (organization, clientID string)
	// Plant makes by hand an object without a mark. The name of a user is an e-mail address.
	Plant func(t *testing.T, kind tenant.Kind, name string)
	// Snapshot returns all that the system holds of the object, with its connections to others; "" if it is absent.
	Snapshot func(t *testing.T, kind tenant.Kind, name string) string
	// Join makes, by hand, a person a member of a tenant's organization.
	Join func(t *testing.T, id tenant.ID, email string)
	// Break breaks a part of a tenant's identity by hand. The administrator is the person with that e-mail address.
	Break func(t *testing.T, id tenant.ID, part IdentityPart, email string)
	// Secret returns the secret with which the tenant's application should authenticate now.
	Secret func(t *testing.T, id tenant.ID) tenant.Secret
	// Accepts reports whether the system lets the application in with the secret.
	Accepts func(t *testing.T, clientID string, secret tenant.Secret) bool
	// Follow goes the way of an invitation's link, up to where the person could go on; it uses nothing up.
	Follow func(t *testing.T, link string) error
	// Dump returns everything that the system has stored.
	Dump func(t *testing.T) []byte
}

// RotatedKeyring returns a keyring of Installation with a new current key; that of Keyring stands behind it.
func RotatedKeyring(tb testing.TB) *tenant.Keyring {
	tb.Helper()
	ring, err := tenant.NewKeyring(Installation, []tenant.Key{
		{ID: "k2", Secret: bytes.Repeat([]byte{8}, tenant.MinKeyLen)},
		{ID: "k1", Secret: bytes.Repeat([]byte{7}, tenant.MinKeyLen)},
	})
	require.NoError(tb, err)
	return ring
}

// Identities is the conformance suite of tenant.Identities, and of tenant.Inviter and tenant.IdentityLister where the
// backend has these powers. fixture makes a fresh system each time.
func Identities(t *testing.T, fixture func(t *testing.T) IdentityFixture) {
	t.Helper()
	for name, suite := range identitySuites() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite(t, fixture(t))
		})
	}
}

func identitySuites() map[string]func(*testing.T, IdentityFixture) {
	return map[string]func(*testing.T, IdentityFixture){
		"a tenant id used again":          identityUsedAgain,
		"absent":                          identityAbsent,
		"address in another case":         identityAddressCase,
		"administrator refused":           identityAdministratorRefused,
		"adopted after a lost state":      identityAdopted,
		"another administrator":           identityAnotherAdministrator,
		"created twice":                   identityCreatedTwice,
		"deleted around a foreign object": identityDeletedAroundForeign,
		"deleted twice":                   identityDeletedTwice,
		"deleted with parts gone":         identityDeletedDrifted,
		"drift repaired":                  identityDrift,
		"enabled":                         identityEnabled,
		"foreign objects in step":         identityForeignInStep,
		"foreign objects":                 identityForeign,
		"hostile names":                   identityHostileNames,
		"invitations":                     identityInvitations,
		"killed while changing":           identityKilledChanging,
		"killed while creating":           identityKilledCreating,
		"killed while deleting":           identityKilledDeleting,
		"listed":                          identityListed,
		"long ids":                        identityLongIDs,
		"member elsewhere":                identityMemberElsewhere,
		"neighbour installation":          identityNeighbour,
		"no secret stored":                identityNoSecretStored,
		"organization lost":               identityOrganizationLost,
		"secret replaced out of band":     identitySecretDrift,
		"secret rotated by key":           identityRotatedByKey,
		"secret rotated by version":       identityRotatedByVersion,
		"shared person":                   identitySharedPerson,
		"two creators at once":            identityTwoCreators,
		"two creators in step":            identityTwoCreatorsInStep,
		"two tenants of a person at once": identityTwoTenantsAtOnce,
		"updated":                         identityUpdated,
	}
}

// identitySpec is what most of the suite makes.
func identitySpec(id tenant.ID) tenant.IdentitySpec {
	return tenant.IdentitySpec{
		Tenant:       id,
		DisplayName:  "Acme Ltd",
		RedirectURIs: []string{"https://" + string(id) + ".app.example.com/auth/callback"},
		Roles:        []string{"reader", "accountant"},
		Administrator: tenant.Administrator{
			Email: "ada@" + string(id) + ".example.com",
			Name:  "Ada Lovelace",
		},
		SecretVersion: 1,
	}
}

// ensureIdentity makes the identity, and reads it back as Ensure told it.
func ensureIdentity(t *testing.T, on tenant.Identities, spec tenant.IdentitySpec) tenant.Identity {
	t.Helper()
	journal := &Journal{}
	told, err := on.Ensure(t.Context(), spec, journal)
	require.NoError(t, err)
	journal.RequireSound(t)
	read, err := on.Read(t.Context(), spec.Tenant, spec.Names)
	require.NoError(t, err)
	require.Equal(t, told, read, "what Ensure tells is what Read reads")
	require.Empty(t, told.Missing)
	require.NotEmpty(t, told.Organization, "the name by which it is found again")
	return told
}

// snapshots returns all that the system holds of a tenant's objects in Installation.
func (f IdentityFixture) snapshots(t *testing.T, spec tenant.IdentitySpec) []string {
	t.Helper()
	organization, clientID := f.Names(spec.Tenant)
	return []string{
		f.Snapshot(t, tenant.KindOrganization, organization),
		f.Snapshot(t, tenant.KindApplication, clientID),
		f.Snapshot(t, tenant.KindUser, spec.Administrator.Email),
	}
}

func (f IdentityFixture) requireNothingLeft(t *testing.T, spec tenant.IdentitySpec) {
	t.Helper()
	require.Equal(t, []string{"", "", ""}, f.snapshots(t, spec))
	_, err := f.Identities.Read(t.Context(), spec.Tenant, tenant.IdentityNames{})
	require.ErrorIs(t, err, tenant.ErrAbsent)
}

func requireCode(t *testing.T, code tenant.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, tenant.FailureOf(err).Code, "of %v", err)
}

func identityCreatedTwice(t *testing.T, f IdentityFixture) {
	t.Helper()
	spec := identitySpec("acme")
	first := ensureIdentity(t, f.Identities, spec)
	organization, clientID := f.Names("acme")
	require.NotEmpty(t, first.OrganizationID)
	require.NotEmpty(t, first.ApplicationID)
	require.NotEmpty(t, first.AdministratorID)
	require.Equal(t, clientID, first.ClientID)
	require.Equal(t, spec.DisplayName, first.DisplayName)
	require.Equal(t, spec.RedirectURIs, first.RedirectURIs)
	require.Equal(t, []string{"accountant", "reader"}, first.Roles)
	require.Equal(t, spec.Administrator, first.Administrator)
	require.True(t, first.Enabled)
	require.Equal(t, "k1", first.Secret.KeyID)
	require.Equal(t, int64(1), first.Secret.Version)
	secret := f.Secret(t, "acme")
	require.Equal(t, secret.Fingerprint(), first.Secret.Fingerprint)
	require.True(t, f.Accepts(t, clientID, secret))
	require.False(t, f.Accepts(t, clientID, tenant.NewSecret("another")))
	require.NotEmpty(t, f.Snapshot(t, tenant.KindOrganization, organization))

	before := f.snapshots(t, spec)
	journal := &Journal{}
	again, err := f.Identities.Ensure(t.Context(), spec, journal)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, before, f.snapshots(t, spec), "repeating it changes nothing")
	require.Empty(t, journal.Made(), "the second time, nothing is created")
}

func identityAbsent(t *testing.T, f IdentityFixture) {
	t.Helper()
	_, err := f.Identities.Read(t.Context(), "acme", tenant.IdentityNames{})
	require.ErrorIs(t, err, tenant.ErrAbsent)
	require.NoError(t, f.Identities.Delete(t.Context(), "acme", tenant.IdentityNames{}, tenant.NoJournal{}))
	if inviter, ok := f.Identities.(tenant.Inviter); ok {
		_, err = inviter.Invite(t.Context(), "acme", tenant.IdentityNames{})
		require.ErrorIs(t, err, tenant.ErrAbsent)
	}
}

func identityAdopted(t *testing.T, f IdentityFixture) {
	t.Helper()
	spec := identitySpec("acme")
	journal := &Journal{}
	first, err := f.Identities.Ensure(t.Context(), spec, journal)
	require.NoError(t, err)
	organization, clientID := f.Names("acme")
	require.Equal(t, map[tenant.Object]string{
		{Tenant: "acme", Kind: tenant.KindOrganization, Name: organization}:   first.OrganizationID,
		{Tenant: "acme", Kind: tenant.KindApplication, Name: clientID}:        first.ApplicationID,
		{Tenant: "acme", Kind: tenant.KindUser, Name: "ada@acme.example.com"}: first.AdministratorID,
	}, journal.Made())

	adopting := &Journal{}
	again, err := f.Another.Ensure(t.Context(), spec, adopting)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, []string{
		"adopted organization " + organization,
		"adopted application " + clientID,
		"adopted user ada@acme.example.com",
	}, adopting.Events)
}

// identityForeign puts a foreign object of each kind in the way: it is named, and neither Ensure nor Delete touches it.
func identityForeign(t *testing.T, f IdentityFixture) {
	t.Helper()
	planted := map[tenant.Kind]tenant.ID{
		tenant.KindOrganization: "org", tenant.KindApplication: "app", tenant.KindUser: "usr",
	}
	for kind, id := range planted {
		spec := identitySpec(id)
		organization, clientID := f.Names(id)
		name := map[tenant.Kind]string{
			tenant.KindOrganization: organization, tenant.KindApplication: clientID,
			tenant.KindUser: spec.Administrator.Email,
		}[kind]
		f.Plant(t, kind, name)
		before := f.Snapshot(t, kind, name)
		require.NotEmpty(t, before)

		_, err := f.Identities.Ensure(t.Context(), spec, tenant.NoJournal{})
		requireCode(t, tenant.CodeForeign, err)
		require.ErrorIs(t, err, tenant.ErrForeign)
		require.ErrorContains(t, err, name)
		require.Equal(t, before, f.Snapshot(t, kind, name))

		_, err = f.Identities.Read(t.Context(), id, tenant.IdentityNames{})
		if kind == tenant.KindOrganization {
			requireCode(t, tenant.CodeForeign, err)
		}
		err = f.Identities.Delete(t.Context(), id, tenant.IdentityNames{}, tenant.NoJournal{})
		if kind == tenant.KindUser { // it was never the tenant's administrator
			require.NoError(t, err)
		} else {
			requireCode(t, tenant.CodeForeign, err)
		}
		require.Equal(t, before, f.Snapshot(t, kind, name))
	}
}

// identityNeighbour has two installations with the same tenant in one system.
func identityNeighbour(t *testing.T, f IdentityFixture) {
	t.Helper()
	ours, theirs := identitySpec("acme"), identitySpec("acme")
	theirs.Administrator.Email = "grace@acme.example.com"
	mine := ensureIdentity(t, f.Identities, ours)
	other := ensureIdentity(t, f.Neighbour, theirs)
	require.NotEqual(t, mine.OrganizationID, other.OrganizationID)
	require.NotEqual(t, mine.ClientID, other.ClientID)
	require.NotEqual(t, mine.Secret.Fingerprint, other.Secret.Fingerprint)
	require.Equal(t, mine, ensureIdentity(t, f.Identities, ours))

	before := f.snapshots(t, ours)
	_, err := f.Neighbour.Ensure(t.Context(), ours, tenant.NoJournal{})
	requireCode(t, tenant.CodeForeign, err) // ada is the other installation's person
	require.NoError(t, f.Neighbour.Delete(t.Context(), "acme", tenant.IdentityNames{}, tenant.NoJournal{}))
	require.Equal(t, before, f.snapshots(t, ours))
	_, err = f.Neighbour.Read(t.Context(), "acme", tenant.IdentityNames{})
	require.ErrorIs(t, err, tenant.ErrAbsent)
}

func identityUpdated(t *testing.T, f IdentityFixture) {
	t.Helper()
	spec := identitySpec("acme")
	first := ensureIdentity(t, f.Identities, spec)
	for _, change := range []func(){
		func() { spec.DisplayName = "Acme & Söhne" },
		func() { spec.RedirectURIs = append(spec.RedirectURIs, "https://books.acme.example/auth/callback") },
		func() { spec.RedirectURIs = spec.RedirectURIs[1:] },
		func() { spec.Roles = []string{"reader", "auditor", "reader"} },
		func() { spec.Roles = nil },
		func() { spec.Administrator.Name = "Ada King" },
	} {
		change()
		got := ensureIdentity(t, f.Identities, spec)
		require.Equal(t, spec.DisplayName, got.DisplayName)
		require.ElementsMatch(t, spec.RedirectURIs, got.RedirectURIs)
		require.Subset(t, spec.Roles, got.Roles)
		require.Subset(t, got.Roles, spec.Roles)
		require.Equal(t, spec.Administrator, got.Administrator)
		require.Equal(t, first.OrganizationID, got.OrganizationID)
		require.Equal(t, first.ApplicationID, got.ApplicationID)
		require.Equal(t, first.AdministratorID, got.AdministratorID)
		require.Equal(t, first.Secret, got.Secret, "nothing but a rotation changes the secret")
	}
}

func identityAnotherAdministrator(t *testing.T, f IdentityFixture) {
	t.Helper()
	spec := identitySpec("acme")
	first := ensureIdentity(t, f.Identities, spec)
	former := spec.Administrator.Email
	spec.Administrator = tenant.Administrator{Email: "grace@acme.example.com", Name: "Grace Hopper"}
	second := ensureIdentity(t, f.Identities, spec)
	require.NotEqual(t, first.AdministratorID, second.AdministratorID)
	require.Equal(t, spec.Administrator, second.Administrator)
	require.Empty(
		t,
		f.Snapshot(t, tenant.KindUser, former),
		"the former one was ours and is needed nowhere",
	)
	require.NoError(t, f.Identities.Delete(t.Context(), "acme", tenant.IdentityNames{}, tenant.NoJournal{}))
	f.requireNothingLeft(t, spec)
}

func identityAddressCase(t *testing.T, f IdentityFixture) {
	t.Helper()
	spec := identitySpec("acme")
	first := ensureIdentity(t, f.Identities, spec)
	spec.Administrator.Email = "ADA@Acme.Example.Com"
	again := ensureIdentity(t, f.Identities, spec)
	require.Equal(
		t,
		first.AdministratorID,
		again.AdministratorID,
		"one person, however the address is written",
	)
	require.Equal(
		t,
		spec.Administrator,
		again.Administrator,
		"told as it was asked for: no difference for ever",
	)
}

func identityLongIDs(t *testing.T, f IdentityFixture) {
	t.Helper()
	one, two := LongIDs()
	specs := []tenant.IdentitySpec{identitySpec(one), identitySpec(two)}
	for i := range specs { // an address of that length is no valid one
		specs[i].Administrator.Email = strings.Repeat("x", i+1) + "@example.com"
	}
	first, second := ensureIdentity(t, f.Identities, specs[0]), ensureIdentity(t, f.Identities, specs[1])
	require.NotEqual(t, first.OrganizationID, second.OrganizationID)
	require.NotEqual(t, first.ClientID, second.ClientID)
	require.NoError(t, f.Identities.Delete(t.Context(), one, tenant.IdentityNames{}, tenant.NoJournal{}))
	require.Equal(t, second, ensureIdentity(t, f.Identities, specs[1]))
}

func identityHostileNames(t *testing.T, f IdentityFixture) {
	t.Helper()
	bystander := ensureIdentity(t, f.Identities, identitySpec("bystander"))
	for i, name := range []string{
		`Robert'); DROP TABLE users; --`, `100%`, `_`, `"quoted" \ and <b>bold</b>`, `株式会社 例 🍣`, `${7*7} {{.}} %s`,
		"e\u0301 \u202eright to left", strings.Repeat("長", 80),
	} {
		spec := identitySpec(tenant.ID("hostile-" + string(rune('a'+i))))
		spec.DisplayName, spec.Administrator.Name = name, name
		spec.Administrator.Email = "o'hara+%_" + string(rune('a'+i)) + "@example.com"
		got := ensureIdentity(t, f.Identities, spec)
		require.Equal(t, name, got.DisplayName)
		require.Equal(t, spec.Administrator, got.Administrator)
		require.NoError(
			t,
			f.Identities.Delete(t.Context(), spec.Tenant, tenant.IdentityNames{}, tenant.NoJournal{}),
		)
		f.requireNothingLeft(t, spec)
	}
	require.Equal(t, bystander, ensureIdentity(t, f.Identities, identitySpec("bystander")))
}

func identityAdministratorRefused(t *testing.T, f IdentityFixture) {
	t.Helper()
	spec := identitySpec("acme")
	good := spec.Administrator
	for _, bad := range []tenant.Administrator{
		{Email: "no address", Name: good.Name},
		{Email: "ada@@example.com", Name: good.Name},
		{Email: "", Name: good.Name},
		{Email: good.Email, Name: strings.Repeat("n", 300)},
		{Email: strings.Repeat("n", 300) + "@example.com", Name: good.Name},
		{Email: good.Email + "\r\nBcc: all@example.com", Name: good.Name},
	} {
		spec.Administrator = bad
		_, err := f.Identities.Ensure(t.Context(), spec, tenant.NoJournal{})
		requireCode(t, tenant.CodeAdminRefused, err)
	}
	spec.Administrator = good
	ensureIdentity(t, f.Identities, spec)
	require.NoError(t, f.Identities.Delete(t.Context(), "acme", tenant.IdentityNames{}, tenant.NoJournal{}))
	f.requireNothingLeft(t, spec)
}

func identityListed(t *testing.T, f IdentityFixture) {
	t.Helper()
	lister, ok := f.Identities.(tenant.IdentityLister)
	if !ok {
		return // an optional power
	}
	all, err := lister.ListIdentities(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	acme, globex := identitySpec("acme"), identitySpec("globex")
	want := map[tenant.ID]tenant.Identity{
		"acme": ensureIdentity(t, f.Identities, acme), "globex": ensureIdentity(t, f.Identities, globex),
	}
	theirs := identitySpec("initech")
	ensureIdentity(t, f.Neighbour, theirs)
	organization, _ := f.Names("umbrella")
	f.Plant(t, tenant.KindOrganization, organization)
	all, err = lister.ListIdentities(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, all)

	f.Break(t, "globex", BrokenApplication, globex.Administrator.Email)
	all, err = lister.ListIdentities(t.Context())
	require.NoError(t, err)
	require.Equal(t, want["acme"], all["acme"])
	require.Equal(t, []string{"application"}, all["globex"].Missing)
}
