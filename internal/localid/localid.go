// Package localid is an identity store in one SQLite file: organizations, applications, people and invitations, for
// installations that have no identity provider. Several installations may share a file.
//
// It keeps the rules of a real identity provider: the name of an organization, the client id of an application and the
// e-mail address of a person are each unique over the whole store; a secret and an invitation are stored as hashes
// only.
package localid

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	// SecretOverlap is for how long the previous secret of an application stays valid after a rotation, so that the
	// application can be given the new one while it runs.
	SecretOverlap = 24 * time.Hour
	// InvitationLifetime is for how long an invitation that nobody uses stays valid.
	InvitationLifetime = 7 * 24 * time.Hour
)

//go:embed schema/*.sql
var schema embed.FS

// Config is what a Store needs; every field is required.
type Config struct {
	Path    string // of the SQLite file; the first write makes it
	Keyring *tenant.Keyring
	Now     func() time.Time
	// LoginURL returns the absolute URL at which a tenant's people log in; an invitation adds the parameter
	// "invitation" to it.
	LoginURL func(tenant.ID) string
}

// Store is the identity store. It is safe for concurrent use, also by several processes.
type Store struct {
	config Config

	mu sync.Mutex
	db *sql.DB
}

var (
	_ tenant.Identities      = (*Store)(nil)
	_ tenant.IdentityPlanner = (*Store)(nil)
	_ tenant.Inviter         = (*Store)(nil)
	_ tenant.IdentityLister  = (*Store)(nil)
)

// New returns a Store. The file is opened by the first call that needs it.
func New(config Config) *Store { return &Store{config: config} }

// Close closes the file. A later call opens it again.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil
	}
	db := s.db
	s.db = nil
	return sqlitefile.Classify("closing "+s.config.Path, db.Close())
}

// opened returns the open file, making it if it does not exist.
func (s *Store) opened(ctx context.Context) (*sql.DB, error) { return s.open(ctx, sqlitefile.Open) }

// existing returns the open file, or tenant.ErrAbsent if there is none: reading makes nothing.
func (s *Store) existing(ctx context.Context) (*sql.DB, error) {
	return s.open(ctx, sqlitefile.OpenExisting)
}

func (s *Store) open(ctx context.Context, how func(string) (*sql.DB, error)) (*sql.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db != nil {
		return s.db, nil
	}
	files, err := fs.Sub(schema, "schema")
	if err != nil {
		return nil, tenant.Fail(tenant.CodeInternal, "reading the tables of the identity store", err)
	}
	db, err := how(s.config.Path)
	if err != nil {
		return nil, err
	}
	if err := sqlitefile.Migrate(ctx, db, s.config.Path, files); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.db = db
	return db, nil
}

// name is the name of a tenant's organization and the client id of its application.
func (s *Store) name(id tenant.ID) string {
	return tenant.IdentityName(s.config.Keyring.Installation(), id)
}

// only refuses names that the store would not give: it holds nothing that it has not made.
func (s *Store) only(id tenant.ID, names tenant.IdentityNames) error {
	for _, name := range []string{names.Organization, names.Application} {
		if name != "" && name != s.name(id) {
			return tenant.Fail(
				tenant.CodeInvalidConfig,
				fmt.Sprintf("looking for %q in the embedded store", name),
				fmt.Errorf("there the identity of tenant %s is always called %s", id, s.name(id)),
			)
		}
	}
	return nil
}

// offered refuses what only a real identity provider has.
func (s *Store) offered(spec tenant.IdentitySpec) error {
	var wanted string
	switch {
	case spec.Claim:
		wanted = "claim: the embedded store holds nothing that it has not made"
	case spec.Public:
		wanted = "a public application"
	case spec.SingleSignOn != nil:
		wanted = "single sign-on"
	case len(spec.Domains) > 0:
		wanted = "domains of an organization"
	default:
		return s.only(spec.Tenant, spec.Names)
	}
	return tenant.Fail(tenant.CodeInvalidConfig, "checking the identity of tenant "+string(spec.Tenant),
		fmt.Errorf("the embedded identity store does not offer %s", wanted))
}

// PlanIdentity says what Ensure would refuse.
func (s *Store) PlanIdentity(ctx context.Context, spec tenant.IdentitySpec) ([]string, error) {
	if err := errors.Join(s.offered(spec), checkSpec(spec)); err != nil {
		return nil, err
	}
	if _, err := s.Read(ctx, spec.Tenant, spec.Names); !errors.Is(err, tenant.ErrAbsent) {
		return nil, err
	}
	return nil, nil
}

// owner is the hint by which a tenant's people are found when its organization is gone.
func (s *Store) owner(id tenant.ID) string {
	return s.config.Keyring.Installation() + "/" + string(id)
}

func (s *Store) organizationObject(id tenant.ID) tenant.Object {
	return tenant.Object{Tenant: id, Kind: tenant.KindOrganization, Name: s.name(id)}
}

func (s *Store) applicationObject(id tenant.ID) tenant.Object {
	return tenant.Object{Tenant: id, Kind: tenant.KindApplication, Name: s.name(id)}
}

func userObject(id tenant.ID, emailKey string) tenant.Object {
	return tenant.Object{Tenant: id, Kind: tenant.KindUser, Name: emailKey}
}

// emailKey is the form in which e-mail addresses are compared. The local part of an address is case-sensitive by RFC
// 5321 (section 2.4), but no provider of note gives two people addresses that differ in case only.
func emailKey(email string) string { return strings.ToLower(email) }

// newID returns 128 random bits as text.
func newID() string { return strings.ToLower(rand.Text()) }

// inTx runs work in one transaction, which holds the file's write lock from its start.
func inTx(ctx context.Context, db *sql.DB, doing string, work func(*sql.Tx) error) (err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return sqlitefile.Classify(doing, err)
	}
	defer func() {
		if rollback := tx.Rollback(); !errors.Is(rollback, sql.ErrTxDone) {
			err = errors.Join(err, sqlitefile.Classify(doing, rollback))
		}
	}()
	if err := work(tx); err != nil {
		return sqlitefile.Classify(doing, err)
	}
	return sqlitefile.Classify(doing, tx.Commit())
}
