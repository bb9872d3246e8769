// Package postgres keeps tenants' databases and seeds on PostgreSQL 15 and newer: a database each, a schema each in a
// shared database, or rows in shared tables.
//
// It works as an administrator who is no superuser (CREATEROLE, CREATEDB). Each tenant has an owner role, which owns
// its database or schema and which only this package logs in as, and an application role, which reads and writes rows
// and owns nothing. The comment of the owner role, written in the transaction that creates it, carries the mark.
package postgres

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// The defaults of Config.
const (
	DefaultMaxConnections = 10
	DefaultLockTimeout    = 10 * time.Second
)

// identifierMaxLen is PostgreSQL's NAMEDATALEN - 1; placeMaxLen leaves room for what the names of roles add, and
// nameMaxLen for what an archive's name adds.
const (
	identifierMaxLen = 63
	placeMaxLen      = identifierMaxLen - len("_owner")
	nameMaxLen       = 48
)

// Config says where a pool's databases live. One Backend serves one pool.
type Config struct {
	// URL of the administrator. Its database is the shared one under the isolations schema and row, and the one to
	// give commands from under the isolation database.
	URL       tenant.Secret
	Pool      string // its name in the provider's configuration; capacity is counted by it
	Isolation tenant.Isolation
	Keyring   *tenant.Keyring
	// Extensions that a tenant's migrations may ask for.
	Extensions []string
	// LockTimeout and StatementTimeout are for migrations and seeds; 0 is DefaultLockTimeout, and no limit for a statement.
	LockTimeout      time.Duration
	StatementTimeout time.Duration
	// MaxConnections bounds the connections that this value has open at once, whoever they log in as. Work beyond it
	// waits. 0 is DefaultMaxConnections; fewer than 2 are not possible.
	MaxConnections int
	Now            func() time.Time // dates archives and templates; nil is time.Now
}

// Backend is one pool of tenants' databases on one server. Any number of goroutines and processes may use the same
// server at once.
type Backend struct {
	config Config
	slots  chan struct{} // one for each piece of work: it may have a connection as administrator and one more

	mu     sync.Mutex
	parsed *pgxpool.Config // of the url, by the first use
	admin  *pgxpool.Pool   // made by the first use
}

var (
	_ tenant.Databases        = (*Backend)(nil)
	_ tenant.DatabaseLister   = (*Backend)(nil)
	_ tenant.DatabasePlanner  = (*Backend)(nil)
	_ tenant.DatabaseArchives = (*Backend)(nil)
	_ tenant.PoolMigrator     = (*Backend)(nil)
	_ tenant.Seeds            = (*Seeds)(nil)
	_ tenant.SeedReader       = (*Seeds)(nil)
)

// New returns the backend; it connects to nothing.
func New(config Config) *Backend {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.MaxConnections == 0 {
		config.MaxConnections = DefaultMaxConnections
	}
	if config.LockTimeout == 0 {
		config.LockTimeout = DefaultLockTimeout
	}
	return &Backend{config: config, slots: make(chan struct{}, max(1, config.MaxConnections/2))}
}

// Close closes the connections. Work that still runs is waited for.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.admin != nil {
		b.admin.Close()
		b.admin = nil
	}
	return nil
}

// DatabaseName returns installation and tenant as one name of at most 48 bytes; under row isolation it is the shared
// database's. Only the pool's own isolation is offered.
func (b *Backend) DatabaseName(id tenant.ID, isolation tenant.Isolation) (string, error) {
	if err := b.offered(isolation); err != nil {
		return "", err
	}
	if isolation == tenant.IsolationRow {
		return b.sharedDatabase()
	}
	return b.baseName(id), nil
}

func (b *Backend) baseName(id tenant.ID) string {
	return tenant.Name(nameMaxLen, b.config.Keyring.Installation(), string(id))
}

func (b *Backend) offered(isolation tenant.Isolation) error {
	if isolation == b.config.Isolation {
		return nil
	}
	return tenant.Fail(
		tenant.CodeInvalidConfig,
		fmt.Sprintf("choosing the isolation %q in the pool %s", isolation, b.config.Pool),
		fmt.Errorf("the pool offers %q", b.config.Isolation),
	)
}

// location is where one tenant's data is or would be, and what the tenant's roles are called.
type location struct {
	tenant   tenant.ID
	place    tenant.Place
	base     string // of the roles' names: the database's or schema's, or the tenant's own under row isolation
	database string // to connect to
	schema   string
	owner    string    // owns the database or schema; logs in for migrations and seeds
	app      string    // may read and write rows; does not log in
	logins   [2]string // of the application: members of app whose passwords alternate
}

func (b *Backend) locate(id tenant.ID, place tenant.Place) (location, error) {
	if err := b.offered(place.Isolation); err != nil {
		return location{}, err
	}
	if !validName(place.Name) {
		return location{}, tenant.Fail(
			tenant.CodeInvalidConfig,
			fmt.Sprintf("naming the database %q", place.Name),
			fmt.Errorf(
				"a name has 1–%d of a-z, A-Z, 0-9, '_' and '-' and is none of the system's",
				placeMaxLen,
			),
		)
	}
	shared, err := b.sharedDatabase()
	if err != nil {
		return location{}, err
	}
	at := location{tenant: id, place: place, base: place.Name, database: shared, schema: "public"}
	switch place.Isolation {
	case tenant.IsolationDatabase:
		at.database = place.Name
	case tenant.IsolationSchema:
		at.schema = place.Name
	case tenant.IsolationRow:
		at.base = b.baseName(id)
		if place.Name != shared {
			return location{}, tenant.Fail(tenant.CodeForeign, "looking for "+at.object().String(),
				fmt.Errorf("%w: the pool's shared database is %s", tenant.ErrForeign, shared))
		}
	}
	at.owner, at.app = roleName(at.base, "owner"), roleName(at.base, "app")
	at.logins = [2]string{roleName(at.base, "app_a"), roleName(at.base, "app_b")}
	return at, nil
}

func roleName(base, role string) string { return base + "_" + role }

func validName(name string) bool {
	system := []string{"postgres", "template0", "template1", "public", "information_schema"}
	return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`).MatchString(name) &&
		len(name) <= placeMaxLen && !regexp.MustCompile(`^pg_`).MatchString(name) &&
		!slices.Contains(system, name)
}

// login returns the role that the application logs in as now.
func (l location) login(r record) string { return l.logins[r.Slot%2] }

func (l location) roles() []string { return []string{l.owner, l.app, l.logins[0], l.logins[1]} }

func (l location) object() tenant.Object {
	return tenant.Object{Tenant: l.tenant, Kind: tenant.KindDatabase, Name: l.place.Name}
}

// marked is what the marks are made for: under row isolation the object's name is not the tenant's own.
func (l location) marked() tenant.Object {
	return tenant.Object{Tenant: l.tenant, Kind: tenant.KindDatabase, Name: l.base}
}

func (l location) seed() tenant.Object {
	return tenant.Object{Tenant: l.tenant, Kind: tenant.KindSeed, Name: l.place.Name}
}

func (l location) externalID() string {
	if l.place.Isolation == tenant.IsolationDatabase {
		return l.database
	}
	return l.database + "/" + l.base
}

func (l location) String() string { return l.object().String() }

// work runs a piece of work with a connection as administrator, once there is a free slot.
func (b *Backend) work(ctx context.Context, work func(context.Context, *session) error) error {
	select {
	case b.slots <- struct{}{}:
	case <-ctx.Done():
		return tenant.Fail(
			tenant.CodeCanceled,
			"waiting for a connection of the pool "+b.config.Pool,
			ctx.Err(),
		)
	}
	defer func() { <-b.slots }()
	s, err := b.connect(ctx)
	if err != nil {
		return err
	}
	defer s.discard(
		ctx,
	) // does nothing after the release: only a panic, or an error, leaves the connection unfit
	if err := work(ctx, s); err != nil {
		return err
	}
	return s.release(ctx)
}
