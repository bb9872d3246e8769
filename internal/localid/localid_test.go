package localid_test

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/localid"
	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

// clock is a time that only the test moves.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time { return c.now }

func loginURL(id tenant.ID) string { return "https://" + string(id) + ".app.example.com/login" }

func newStore(t *testing.T, path string, ring *tenant.Keyring, at *clock) *localid.Store {
	t.Helper()
	store := localid.New(localid.Config{Path: path, Keyring: ring, Now: at.Now, LoginURL: loginURL})
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func TestConformance(t *testing.T) {
	t.Parallel()
	tenanttest.Identities(t, newFixture)
}

func newFixture(t *testing.T) tenanttest.IdentityFixture {
	t.Helper()
	path, at := filepath.Join(t.TempDir(), "data", "identity.db"), newClock()
	store := newStore(t, path, tenanttest.Keyring(t), at)
	rotated := newStore(t, path, tenanttest.RotatedKeyring(t), at)
	hand := byHand{path}
	return tenanttest.IdentityFixture{
		Identities: store,
		Another:    newStore(t, path, tenanttest.Keyring(t), at),
		Neighbour:  newStore(t, path, tenanttest.KeyringOf(t, "test-us"), at),
		Rotated:    rotated,
		Names:      func(id tenant.ID) (string, string) { return hand.name(id), hand.name(id) },
		Plant:      hand.plant,
		Snapshot:   hand.snapshot,
		Join:       hand.join,
		Break:      hand.damage,
		Secret: func(t *testing.T, id tenant.ID) tenant.Secret {
			t.Helper()
			secret, err := rotated.ApplicationSecret(t.Context(), id)
			require.NoError(t, err)
			return secret
		},
		Accepts: func(t *testing.T, clientID string, secret tenant.Secret) bool {
			t.Helper()
			err := store.AuthenticateApplication(t.Context(), clientID, secret)
			if !errors.Is(err, localid.ErrLogin) {
				require.NoError(t, err)
			}
			return err == nil
		},
		Follow: func(t *testing.T, link string) error {
			t.Helper()
			token, err := localid.InvitationToken(tenant.NewSecret(link))
			require.NoError(t, err)
			err = store.Redeem(t.Context(), token, tenant.NewSecret("short"))
			if tenant.HasCode(err, tenant.CodeAdminRefused) {
				return nil // it came as far as the choice of a password
			}
			return err
		},
		Dump: hand.dump,
	}
}

// byHand is what somebody does to the file behind the store's back.
type byHand struct{ path string }

func (h byHand) name(id tenant.ID) string { return tenanttest.Installation + "_" + string(id) }

func (h byHand) open(t *testing.T) *sql.DB {
	t.Helper()
	store := localid.New(
		localid.Config{Path: h.path, Keyring: tenanttest.Keyring(t), Now: time.Now, LoginURL: loginURL},
	)
	require.NoError(t, store.Open(t.Context()))
	require.NoError(t, store.Close())
	db, err := sqlitefile.OpenExisting(h.path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func (h byHand) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	db := h.open(t)
	result, err := db.ExecContext(t.Context(), query, args...)
	require.NoError(t, err)
	rows, err := result.RowsAffected()
	require.NoError(t, err)
	require.Equal(t, int64(1), rows, "of %s", query)
	require.NoError(t, db.Close())
}

func (h byHand) plant(t *testing.T, kind tenant.Kind, name string) {
	t.Helper()
	h.exec(t, map[tenant.Kind]string{
		tenant.KindOrganization: `INSERT INTO organizations (id, name, display_name) VALUES (hex(randomblob(8)), ?, 'x')`,
		tenant.KindApplication:  `INSERT INTO applications (id, client_id) VALUES (hex(randomblob(8)), ?)`,
		tenant.KindUser: `INSERT INTO users (id, email, email_key, name)
			VALUES (hex(randomblob(8)), ?1, lower(?1), 'Somebody')`,
	}[kind], name)
}

func (h byHand) join(t *testing.T, id tenant.ID, email string) {
	t.Helper()
	h.exec(
		t,
		`INSERT INTO memberships (organization_id, user_id) SELECT o.id, u.id FROM organizations o, users u
		WHERE o.name = ? AND u.email_key = lower(?)`,
		h.name(id),
		email,
	)
}

func (h byHand) damage(t *testing.T, id tenant.ID, part tenanttest.IdentityPart, email string) {
	t.Helper()
	switch part {
	case tenanttest.BrokenOrganization:
		h.exec(t, `DELETE FROM organizations WHERE name = ?`, h.name(id))
	case tenanttest.BrokenApplication:
		h.exec(t, `DELETE FROM applications WHERE client_id = ?`, h.name(id))
	case tenanttest.BrokenAdministrator:
		h.exec(t, `DELETE FROM users WHERE email_key = lower(?)`, email)
	case tenanttest.BrokenMembership:
		h.exec(
			t,
			`DELETE FROM memberships WHERE organization_id = (SELECT id FROM organizations WHERE name = ?)
			AND user_id = (SELECT id FROM users WHERE email_key = lower(?))`,
			h.name(id),
			email,
		)
	case tenanttest.BrokenSecret:
		h.exec(t, `UPDATE applications SET secret_hash = ? WHERE client_id = ?`,
			tenant.NewSecret("somebody else's").Hash(), h.name(id))
	default:
		require.Fail(t, "unknown part", part)
	}
}

// snapshot is the object's rows, in all tables, as JSON.
func (h byHand) snapshot(t *testing.T, kind tenant.Kind, name string) string {
	t.Helper()
	queries := map[tenant.Kind][]string{
		tenant.KindOrganization: {
			`SELECT * FROM organizations WHERE name = ?`,
			`SELECT * FROM memberships WHERE organization_id = (SELECT id FROM organizations WHERE name = ?) ORDER BY 2`,
		},
		tenant.KindApplication: {
			`SELECT * FROM applications WHERE client_id = ?`,
			`SELECT * FROM roles WHERE application_id = (SELECT id FROM applications WHERE client_id = ?) ORDER BY 2`,
		},
		tenant.KindUser: {
			`SELECT * FROM users WHERE email_key = lower(?)`,
			`SELECT * FROM memberships WHERE user_id = (SELECT id FROM users WHERE email_key = lower(?)) ORDER BY 1`,
		},
	}[kind]
	db := h.open(t)
	var text string
	for _, query := range queries {
		for _, row := range readRows(t, db, query, name) {
			text += row + "\n"
		}
	}
	require.NoError(t, db.Close())
	return text
}

func readRows(t *testing.T, db *sql.DB, query string, args ...any) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query, args...)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	columns, err := rows.Columns()
	require.NoError(t, err)
	var out []string
	for rows.Next() {
		values, pointers := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			pointers[i] = &values[i]
		}
		require.NoError(t, rows.Scan(pointers...))
		row, err := json.Marshal(values)
		require.NoError(t, err)
		out = append(out, string(row))
	}
	require.NoError(t, rows.Err())
	return out
}

func (h byHand) dump(t *testing.T) []byte {
	t.Helper()
	files, err := filepath.Glob(h.path + "*")
	require.NoError(t, err)
	var all []byte
	for _, file := range files {
		text, err := fs.ReadFile(os.DirFS(filepath.Dir(file)), filepath.Base(file))
		require.NoError(t, err)
		all = append(all, text...)
		all = append(all, hex.EncodeToString(text)...)
	}
	return all
}

func acme() tenant.IdentitySpec {
	return tenant.IdentitySpec{
		Tenant:       "acme",
		DisplayName:  "Acme Ltd",
		RedirectURIs: []string{"https://acme.app.example.com/auth/callback"},
		Roles: []string{
			"owner",
		},
		Administrator: tenant.Administrator{Email: "ada@example.com", Name: "Ada Lovelace"},
		SecretVersion: 1,
	}
}

const goodPassword = "correct horse battery staple"

// invite returns the token of a fresh invitation to acme.
func invite(t *testing.T, store *localid.Store) tenant.Secret {
	t.Helper()
	invitation, err := store.Invite(t.Context(), "acme", tenant.IdentityNames{})
	require.NoError(t, err)
	token, err := localid.InvitationToken(invitation.Link)
	require.NoError(t, err)
	return token
}

func TestInvitationLetsTheAdministratorIn(t *testing.T) {
	t.Parallel()
	at := newClock()
	store := newStore(t, filepath.Join(t.TempDir(), "identity.db"), tenanttest.Keyring(t), at)
	identity, err := store.Ensure(t.Context(), acme(), tenant.NoJournal{})
	require.NoError(t, err)
	password := tenant.NewSecret(goodPassword)
	_, err = store.Login(t.Context(), "acme", "ada@example.com", tenant.NewSecret(""))
	require.ErrorIs(t, err, localid.ErrLogin, "nobody logs in without a password")

	expired := invite(t, store)
	at.now = at.now.Add(localid.InvitationLifetime)
	require.ErrorIs(t, store.Redeem(t.Context(), expired, password), localid.ErrInvitation)
	first, second := invite(t, store), invite(t, store)
	require.ErrorIs(t, store.Redeem(t.Context(), tenant.NewSecret("guess"), password), localid.ErrInvitation)
	err = store.Redeem(t.Context(), first, tenant.NewSecret("short"))
	require.True(t, tenant.HasCode(err, tenant.CodeAdminRefused))
	require.NoError(t, store.Redeem(t.Context(), first, password))
	require.ErrorIs(t, store.Redeem(t.Context(), first, password), localid.ErrInvitation, "used")
	require.ErrorIs(t, store.Redeem(t.Context(), second, password), localid.ErrInvitation, "one use ends all")

	person, err := store.Login(t.Context(), "acme", "Ada@Example.com", password)
	require.NoError(t, err)
	require.Equal(t, localid.Person{
		ID: identity.AdministratorID, Email: "ada@example.com", Name: "Ada Lovelace", Administrator: true,
		OrganizationID: identity.OrganizationID, ClientID: identity.ClientID, Roles: []string{"owner"},
	}, person)
	for email, wrong := range map[string]string{
		"ada@example.com": "wrong", "nobody@example.com": goodPassword, "": "", "%": goodPassword,
	} {
		_, err = store.Login(t.Context(), "acme", email, tenant.NewSecret(wrong))
		require.ErrorIs(t, err, localid.ErrLogin)
	}
	_, err = store.Login(t.Context(), "globex", "ada@example.com", password)
	require.ErrorIs(t, err, localid.ErrLogin, "no member there")

	suspended, no := acme(), false
	suspended.Enabled = &no
	_, err = store.Ensure(t.Context(), suspended, tenant.NoJournal{})
	require.NoError(t, err)
	_, err = store.Login(t.Context(), "acme", "ada@example.com", password)
	require.ErrorIs(t, err, localid.ErrLogin, "suspended")
}

func TestSharedPersonWithPasswordGetsNoToken(t *testing.T) {
	t.Parallel()
	store := newStore(t, filepath.Join(t.TempDir(), "identity.db"), tenanttest.Keyring(t), newClock())
	_, err := store.Ensure(t.Context(), acme(), tenant.NoJournal{})
	require.NoError(t, err)
	require.NoError(t, store.Redeem(t.Context(), invite(t, store), tenant.NewSecret(goodPassword)))
	other := acme()
	other.Tenant = "globex"
	_, err = store.Ensure(t.Context(), other, tenant.NoJournal{})
	require.NoError(t, err)
	invitation, err := store.Invite(t.Context(), "globex", tenant.IdentityNames{})
	require.NoError(t, err)
	require.Equal(t, loginURL("globex"), invitation.Link.Reveal())
	require.True(t, invitation.Expires.IsZero())
	_, err = store.Login(t.Context(), "globex", "ada@example.com", tenant.NewSecret(goodPassword))
	require.NoError(t, err)
}

func TestOverlapOfSecretsEnds(t *testing.T) {
	t.Parallel()
	at := newClock()
	path := filepath.Join(t.TempDir(), "identity.db")
	store := newStore(t, path, tenanttest.Keyring(t), at)
	spec := acme()
	identity, err := store.Ensure(t.Context(), spec, tenant.NoJournal{})
	require.NoError(t, err)
	old, err := store.ApplicationSecret(t.Context(), "acme")
	require.NoError(t, err)
	spec.SecretVersion = 2
	_, err = store.Ensure(t.Context(), spec, tenant.NoJournal{})
	require.NoError(t, err)
	at.now = at.now.Add(localid.SecretOverlap - time.Second)
	require.NoError(t, store.AuthenticateApplication(t.Context(), identity.ClientID, old))
	at.now = at.now.Add(time.Second)
	require.ErrorIs(t, store.AuthenticateApplication(t.Context(), identity.ClientID, old), localid.ErrLogin)

	// A secret that somebody else put there is no secret of ours, and gets no overlap.
	byHand{path}.damage(t, "acme", tenanttest.BrokenSecret, "")
	_, err = store.ApplicationSecret(t.Context(), "acme")
	require.True(t, tenant.HasCode(err, tenant.CodeConflict))
	_, err = store.Ensure(t.Context(), spec, tenant.NoJournal{})
	require.NoError(t, err)
	require.ErrorIs(t, store.AuthenticateApplication(
		t.Context(), identity.ClientID, tenant.NewSecret("somebody else's")), localid.ErrLogin)
}

func TestReadingMakesNoFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	store := newStore(t, filepath.Join(folder, "identity.db"), tenanttest.Keyring(t), newClock())
	_, err := store.Read(t.Context(), "acme", tenant.IdentityNames{})
	require.ErrorIs(t, err, tenant.ErrAbsent)
	require.NoError(t, store.Delete(t.Context(), "acme", tenant.IdentityNames{}, tenant.NoJournal{}))
	_, err = store.ListIdentities(t.Context())
	require.NoError(t, err)
	_, err = store.Login(t.Context(), "acme", "ada@example.com", tenant.NewSecret(goodPassword))
	require.ErrorIs(t, err, localid.ErrLogin)
	require.ErrorIs(t, store.Redeem(t.Context(), tenant.NewSecret("x"), tenant.NewSecret(goodPassword)),
		localid.ErrInvitation)
	require.ErrorIs(
		t,
		store.AuthenticateApplication(t.Context(), "x", tenant.NewSecret("x")),
		localid.ErrLogin,
	)
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestInvalidSpecsWriteNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	store := newStore(t, filepath.Join(folder, "identity.db"), tenanttest.Keyring(t), newClock())
	for code, bad := range map[tenant.Code][]func(*tenant.IdentitySpec){
		tenant.CodeInvalidTenantID: {func(s *tenant.IdentitySpec) { s.Tenant = "Not A Label" }},
		tenant.CodeInvalidConfig: {
			func(s *tenant.IdentitySpec) { s.DisplayName = " " },
			func(s *tenant.IdentitySpec) { s.DisplayName = "two\nlines" },
			func(s *tenant.IdentitySpec) { s.DisplayName = "\xff" },
			func(s *tenant.IdentitySpec) { s.Roles = []string{""} },
			func(s *tenant.IdentitySpec) { s.RedirectURIs = []string{"http://acme.example.com/"} },
			func(s *tenant.IdentitySpec) { s.RedirectURIs = []string{"/auth/callback"} },
			func(s *tenant.IdentitySpec) { s.RedirectURIs = []string{"https://acme.example.com/#x"} },
		},
		tenant.CodeAdminRefused: {
			func(s *tenant.IdentitySpec) { s.Administrator.Email = "Ada <ada@example.com>" },
			func(s *tenant.IdentitySpec) { s.Administrator.Name = "Ada\r\nBcc: x" },
		},
	} {
		for _, spoil := range bad {
			spec := acme()
			spoil(&spec)
			_, err := store.Ensure(t.Context(), spec, tenant.NoJournal{})
			require.True(t, tenant.HasCode(err, code), "%v", err)
		}
	}
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestMarksAreNotTransferable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "identity.db")
	store := newStore(t, path, tenanttest.Keyring(t), newClock())
	_, err := store.Ensure(t.Context(), acme(), tenant.NoJournal{})
	require.NoError(t, err)
	hand := byHand{path}
	for _, kind := range []tenant.Kind{tenant.KindOrganization, tenant.KindApplication} {
		hand.plant(t, kind, hand.name("globex"))
	}
	hand.exec(
		t,
		`UPDATE organizations SET mark = (SELECT mark FROM organizations WHERE name = ?) WHERE name = ?`,
		hand.name("acme"),
		hand.name("globex"),
	)
	spec := acme()
	spec.Tenant = "globex"
	_, err = store.Ensure(t.Context(), spec, tenant.NoJournal{})
	require.True(t, tenant.HasCode(err, tenant.CodeForeign), "a copied mark claims nothing")
	require.True(
		t,
		tenant.HasCode(
			store.Delete(t.Context(), "globex", tenant.IdentityNames{}, tenant.NoJournal{}),
			tenant.CodeForeign,
		),
	)
	require.NotEmpty(t, hand.snapshot(t, tenant.KindOrganization, hand.name("globex")))
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	store := newStore(t, filepath.Join(t.TempDir(), "identity.db"), tenanttest.Keyring(t), newClock())
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := store.Ensure(canceled, acme(), tenant.NoJournal{})
	require.True(t, tenant.HasCode(err, tenant.CodeCanceled), "%v", err)
	_, err = store.Ensure(t.Context(), acme(), tenant.NoJournal{})
	require.NoError(t, err, "a canceled first use spoils nothing")
}
