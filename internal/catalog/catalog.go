// Package catalog keeps what is known of an installation's tenants: what is wanted, what was done, who owns
// a tenant now, what is still to be delivered, and what has happened. It never holds a secret: callers give
// it none.
package catalog

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

//go:embed migrations
var migrations embed.FS

// Config says where a catalog lives.
type Config struct {
	Path    string           // of the SQLite file
	LockDir string           // for the locks, on the same machine; "" is the folder locks beside the file
	Now     func() time.Time // nil is time.Now
}

// Catalog is an open catalog. It is safe for use by many goroutines, and many processes may have the same
// one open. Every write of a tenant's owner carries the epoch of its lease and is refused with
// tenant.CodeLeaseLost once somebody else has taken the tenant over. An unknown tenant is tenant.ErrAbsent.
type Catalog struct {
	store *store
	locks string // absolute folder
}

// Open opens the catalog, making it first if there is none.
func Open(ctx context.Context, config Config) (*Catalog, error) {
	locks := config.LockDir
	if locks == "" {
		locks = filepath.Join(filepath.Dir(config.Path), "locks")
	}
	locks, err := filepath.Abs(locks) // a child with another working folder gets this path
	if err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, "finding the folder "+locks, err)
	}
	db, err := sqlitefile.Open(config.Path)
	if err != nil {
		return nil, err
	}
	files, err := fs.Sub(migrations, "migrations/sqlite")
	if err == nil {
		err = sqlitefile.Migrate(ctx, db, config.Path, files)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	now := config.Now
	if now == nil {
		now = time.Now
	}
	return &Catalog{store: newStore(db, sqliteDialect(), now), locks: locks}, nil
}

// Close releases the file. Leases stay what they are.
func (c *Catalog) Close() error { return c.store.close() }
