package tenant

import (
	"context"
	"errors"
	"io/fs"
	"time"
)

// ErrAbsent is what reading an object that does not exist answers.
var ErrAbsent = errors.New("absent")

// Isolation is how tenants' data is kept apart within a pool.
type Isolation string

// The isolations.
const (
	IsolationDatabase Isolation = "database" // a database each
	IsolationSchema   Isolation = "schema"   // a schema each in a shared database
	IsolationRow      Isolation = "row"      // rows with a tenant_id in shared tables
)

// Place says where a tenant's data lives. It never changes once the database exists.
type Place struct {
	Pool      string
	Isolation Isolation
	Name      string // of the database or schema; under row isolation of the shared database
}

// OnDestroy is what happens to the data when a database is deleted.
type OnDestroy string

// The disposals.
const (
	Drop    OnDestroy = "drop"    // the data is gone
	Archive OnDestroy = "archive" // kept under another name, closed to sessions
	Retain  OnDestroy = "retain"  // left as it is, mark included; a later create adopts it
)

// Disposal is how a database is disposed of.
type Disposal struct {
	How OnDestroy
	// Force ends the sessions that others have open in it; without it a database in use fails with CodeBusy.
	Force bool
	// Keep is for how long an archive must be kept; 0 is for ever. It is written down with the archive.
	Keep time.Duration
}

// DatabasePassword is the purpose of the password of the application's role in a tenant's database.
const DatabasePassword = "database"

// DatabaseSpec is what a tenant's database should be.
type DatabaseSpec struct {
	Tenant     ID
	Place      Place
	MaxTenants int64 // of the pool; 0 is unlimited. Only a create is refused (CodePoolFull), never an adoption
	Migrations Migrations
	ReadOnly   bool
	// Extensions of the database system that the migrations need; a set.
	Extensions []string
	// PasswordVersion is raised to rotate the password of the application's role; 0 counts as 1.
	PasswordVersion int64
	// Claim takes over a database at Place that carries nobody's mark, by marking it. One that carries another's
	// mark is foreign all the same. It changes nothing once the database is ours.
	Claim bool
	// Baseline is the version up to which a claimed database without a record of migrations has them already.
	Baseline int64
}

// Database is what a tenant's database is seen to be.
type Database struct {
	Place      Place
	ExternalID string
	Applied    []Migration // in the order of their versions
	ReadOnly   bool
	User       string      // what the application logs in as now; "" where the backend has no log-in
	Password   SecretState // of User; zero where the backend has no log-in
	Drift      []Drift     // what differs from what Ensure leaves, ordered by What
}

// Drift is a difference between an object and what Ensure leaves.
type Drift struct {
	What string // names the thing and the difference: "owner of database acme is postgres"
	// Loss says what a repair would lose. It is "" if Ensure repairs it; otherwise Ensure leaves it as it is.
	Loss string
}

// Databases is where the data of a pool's tenants lives. A backend serves one pool.
type Databases interface {
	// DatabaseName returns the deterministic name of a tenant's database (or schema) under an isolation, or an error
	// if the backend does not offer that isolation.
	DatabaseName(id ID, isolation Isolation) (string, error)
	// Ensure makes the database as spec says: creates (marked with or before the object, a slot of the pool taken
	// atomically) or adopts, applies pending migrations one by one, and returns what is then true. After a failed
	// migration the earlier ones stay applied. It fails with CodeForeign, CodePoolFull, CodeMigrationEdited,
	// CodeMigrationOrder, CodeDatabaseAhead or CodeMigrationFailed before, or without, changing anything else.
	// Repeating it changes nothing.
	Ensure(ctx context.Context, spec DatabaseSpec, journal Journal) (Database, error)
	// Read returns what is, without writing anything; ErrAbsent if there is none; CodeForeign if one of that name is
	// not ours.
	Read(ctx context.Context, id ID, place Place) (Database, error)
	// Delete disposes of the database as how says, and fails only if it is still there (for Retain: never). A foreign
	// one stays, and makes it fail with CodeForeign.
	Delete(ctx context.Context, id ID, place Place, how Disposal, journal Journal) error
}

// DatabasePlanner is the power to say at plan time what Ensure would refuse, and what it would do besides what the
// attributes show.
type DatabasePlanner interface {
	// PlanDatabase looks without writing anything. It fails as Ensure would (CodePoolFull, CodePoolBehind,
	// CodeInvalidConfig, CodeForeign, …) and returns sentences for a person: what a claim would change, that the
	// migrations can't be cloned and will be run. It may miss what only happens later.
	PlanDatabase(ctx context.Context, spec DatabaseSpec) (notes []string, err error)
	// PlanDisposal fails if Delete would refuse to dispose of the database in this way.
	PlanDisposal(ctx context.Context, id ID, place Place, how Disposal) error
}

// PoolMigrator is the power to migrate what the tenants of a pool share.
type PoolMigrator interface {
	// MigratePool applies the pending migrations to the shared database and returns all that are applied then.
	MigratePool(ctx context.Context, files Migrations) ([]Migration, error)
}

// ArchivedDatabase is what Archive left of a database.
type ArchivedDatabase struct {
	Tenant     ID
	Name       string
	ArchivedAt time.Time
	KeepUntil  time.Time // zero: for ever
}

// DatabaseArchives is the power to find archived databases again.
type DatabaseArchives interface {
	// ListArchives returns the installation's archives, ordered by name.
	ListArchives(ctx context.Context) ([]ArchivedDatabase, error)
	// Purge deletes an archive for good, whatever its KeepUntil, and fails only if it is still there.
	Purge(ctx context.Context, archive ArchivedDatabase) error
}

// DatabaseLister is the power to read all databases of a pool in few calls.
type DatabaseLister interface {
	// ListDatabases returns the databases with our mark, by tenant.
	ListDatabases(ctx context.Context) (map[ID]Database, error)
}

// Migrations is a folder of migration files, in the order of their versions.
type Migrations struct {
	FS    fs.FS // the files, at its root
	Files []Migration
}

// Migration is one file of a folder, or one that a database has applied.
type Migration struct {
	Version int64
	Name    string // base name
	SHA256  string // of the contents, in hex; "" in a database if they are not known
}
