// Package sqlite keeps tenants' databases as SQLite files, one a tenant, in one folder: the pool that needs no server.
//
// The folder holds NAME.db for each tenant (0600), archive/ for what was archived, and three folders of our own that
// may be removed while nothing runs: .templates/ (migrated databases to copy from), .scratch/ (files that are not
// published yet) and .locks/.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	// nameMaxLen leaves room for the suffixes that SQLite and an archive add, on every file system. A claimed database
	// may have a longer name than one that we give.
	nameMaxLen = 200
	suffix     = ".db"
)

// Config says where a pool's files live.
type Config struct {
	Dir     string // made (0700) by the first create
	Keyring *tenant.Keyring
	Now     func() time.Time // names archives; nil is time.Now
}

// Backend is one pool of tenants' SQLite files. It keeps no file open between calls, so that its size does not grow
// with the number of tenants. Any number of goroutines and processes may use the same folder at once.
type Backend struct{ config Config }

var (
	_ tenant.Databases       = (*Backend)(nil)
	_ tenant.DatabaseLister  = (*Backend)(nil)
	_ tenant.DatabasePlanner = (*Backend)(nil)
	_ tenant.Seeds           = (*Seeds)(nil)
	_ tenant.SeedReader      = (*Seeds)(nil)
)

// New returns the backend; it opens nothing.
func New(config Config) *Backend {
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Backend{config}
}

// Close has nothing to close: see Backend.
func (*Backend) Close() error { return nil }

// DatabaseName returns tenant.DatabaseName. Only IsolationDatabase is offered.
func (b *Backend) DatabaseName(id tenant.ID, isolation tenant.Isolation) (string, error) {
	if err := offered(isolation); err != nil {
		return "", err
	}
	return tenant.DatabaseName(b.config.Keyring.Installation(), id), nil
}

func offered(isolation tenant.Isolation) error {
	if isolation == tenant.IsolationDatabase {
		return nil
	}
	return tenant.Fail(
		tenant.CodeInvalidConfig,
		fmt.Sprintf("choosing the isolation %q on SQLite", isolation),
		fmt.Errorf("a SQLite file holds one tenant: only %q is offered", tenant.IsolationDatabase),
	)
}

// location is where one tenant's database is or would be.
type location struct {
	tenant tenant.ID
	place  tenant.Place
	path   string
}

func (b *Backend) locate(id tenant.ID, place tenant.Place) (location, error) {
	if err := offered(place.Isolation); err != nil {
		return location{}, err
	}
	if !regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`).MatchString(place.Name) ||
		len(place.Name) > nameMaxLen {
		return location{}, tenant.Fail(
			tenant.CodeInvalidConfig,
			fmt.Sprintf("naming the database %q", place.Name),
			fmt.Errorf("a name has 1–%d of letters, digits, '_', '.' and '-'", nameMaxLen),
		)
	}
	return location{id, place, filepath.Join(b.config.Dir, place.Name+suffix)}, nil
}

func (l location) object() tenant.Object {
	return tenant.Object{Tenant: l.tenant, Kind: tenant.KindDatabase, Name: l.place.Name}
}

func (l location) seed() tenant.Object {
	return tenant.Object{Tenant: l.tenant, Kind: tenant.KindSeed, Name: l.place.Name}
}

func (l location) externalID() string { return l.place.Name + suffix }

func (l location) database(applied []tenant.Migration, readOnly bool) tenant.Database {
	return tenant.Database{Place: l.place, ExternalID: l.externalID(), Applied: applied, ReadOnly: readOnly}
}

// sidecars are the files that SQLite keeps beside a database; they belong to it.
func (l location) sidecars() []string {
	return []string{l.path + "-wal", l.path + "-shm", l.path + "-journal"}
}

func (b *Backend) lockPath(name string) string {
	return filepath.Join(b.config.Dir, ".locks", name+".lock")
}

// scratch is a folder for a file that is not published yet. Its name is fixed and it is used under the tenant's lock, so that
// whatever a kill leaves in it is found by the next call.
func (b *Backend) scratch(name string) string { return filepath.Join(b.config.Dir, ".scratch", name) }

// exclusively runs work as the only one that changes the tenant's database; if work says so, the lock's file goes, too.
func (b *Backend) exclusively(
	ctx context.Context, at location, work func(context.Context) (gone bool, err error),
) (err error) {
	lock, err := sqlitefile.Acquire(ctx, b.lockPath(at.place.Name))
	if err != nil {
		return err
	}
	gone := false
	defer func() {
		if gone {
			err = errors.Join(err, lock.Remove())
			return
		}
		err = errors.Join(err, lock.Release())
	}()
	if err := os.RemoveAll(b.scratch(at.place.Name)); err != nil {
		return tenant.Fail(
			tenant.CodeStorage,
			"removing what an earlier run left of "+at.object().String(),
			err,
		)
	}
	gone, err = work(ctx)
	return err
}

// Read returns what the file says, in one opening of it.
func (b *Backend) Read(ctx context.Context, id tenant.ID, place tenant.Place) (tenant.Database, error) {
	at, err := b.locate(id, place)
	if err != nil {
		return tenant.Database{}, err
	}
	file, err := b.open(ctx, at)
	if err != nil {
		return tenant.Database{}, err
	}
	defer file.close()
	applied, err := file.applied(ctx)
	if err != nil {
		return tenant.Database{}, err
	}
	return at.database(applied, file.readOnly), nil
}

// ListDatabases reads every file of the installation in the folder. Foreign files are left out. If some of ours can't be read, the error names them
// and the map holds all others. The places' Pool is "": a backend does not know what its pool is called.
func (b *Backend) ListDatabases(ctx context.Context) (map[tenant.ID]tenant.Database, error) {
	names, err := b.names()
	if err != nil {
		return nil, err
	}
	out := map[tenant.ID]tenant.Database{}
	var broken []error
	for _, name := range names {
		database, owner, err := b.readNamed(ctx, name)
		switch {
		case err == nil:
			out[owner] = database
		case ctx.Err() != nil:
			return nil, tenant.Fail(tenant.CodeCanceled, "listing the databases in "+b.config.Dir, ctx.Err())
		case !errors.Is(err, tenant.ErrAbsent) && !tenant.HasCode(err, tenant.CodeForeign):
			broken = append(broken, err)
		}
	}
	return out, errors.Join(broken...)
}

// names returns what may be a database of this installation: a claimed one keeps the name that it had.
func (b *Backend) names() ([]string, error) {
	entries, err := os.ReadDir(b.config.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, "listing the databases in "+b.config.Dir, err)
	}
	var out []string
	for _, entry := range entries {
		if name, isDatabase := strings.CutSuffix(entry.Name(), suffix); isDatabase {
			out = append(out, name)
		}
	}
	return out, nil
}

// readNamed reads a database whose tenant only its mark tells.
func (b *Backend) readNamed(ctx context.Context, name string) (tenant.Database, tenant.ID, error) {
	at, err := b.locate("", tenant.Place{Isolation: tenant.IsolationDatabase, Name: name})
	if err != nil {
		return tenant.Database{}, "", tenant.ErrAbsent // no name that we would give
	}
	file, err := b.open(ctx, at)
	if err != nil {
		return tenant.Database{}, "", err
	}
	defer file.close()
	applied, err := file.applied(ctx)
	return file.at.database(applied, file.readOnly), file.at.tenant, err
}
