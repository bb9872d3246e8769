package tenant

import (
	"context"
	"errors"
	"io/fs"
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

// DatabaseSpec is what a tenant's database should be.
type DatabaseSpec struct {
	Tenant     ID
	Place      Place
	MaxTenants int64 // of the pool; 0 is unlimited. Only a create is refused (CodePoolFull), never an adoption
	Migrations Migrations
	ReadOnly   bool
}

// Database is what a tenant's database is seen to be.
type Database struct {
	Place      Place
	ExternalID string
	Applied    []Migration // in the order of their versions
	ReadOnly   bool
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
	Delete(ctx context.Context, id ID, place Place, how OnDestroy, journal Journal) error
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
