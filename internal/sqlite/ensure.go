package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/tenantry/terraform-provider-tenant/internal/migrations"
	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Ensure makes or adopts the tenant's file and applies what is pending, under the tenant's lock. A new file is a copy
// of one that already has the migrations, so that the ten-thousandth tenant does not run them again.
func (b *Backend) Ensure(
	ctx context.Context, spec tenant.DatabaseSpec, journal tenant.Journal,
) (out tenant.Database, err error) {
	at, err := b.locate(spec.Tenant, spec.Place)
	if err != nil {
		return tenant.Database{}, err
	}
	err = b.exclusively(ctx, at, func(ctx context.Context) (bool, error) {
		out, err = b.ensure(ctx, at, spec, journal)
		return false, err
	})
	return out, err
}

func (b *Backend) ensure(
	ctx context.Context, at location, spec tenant.DatabaseSpec, journal tenant.Journal,
) (tenant.Database, error) {
	file, err := b.adopt(ctx, at, spec, journal)
	if errors.Is(err, tenant.ErrAbsent) {
		applied, err := b.create(ctx, at, spec, journal)
		if err != nil || !spec.ReadOnly && slices.Equal(applied, spec.Migrations.Files) {
			return at.database(applied, false), err
		}
		if file, err = b.open(ctx, at); err != nil {
			return tenant.Database{}, err
		}
	} else if err != nil {
		return tenant.Database{}, err
	}
	defer file.close()
	tenant.Failpoint(ctx, "database.adopted")
	return b.update(ctx, file, spec)
}

// adopt returns the tenant's own file, one that is claimed just now included; ErrAbsent if there is nothing.
func (b *Backend) adopt(
	ctx context.Context, at location, spec tenant.DatabaseSpec, journal tenant.Journal,
) (*file, error) {
	if spec.Claim {
		if err := migrations.CheckBaseline(spec.Migrations, spec.Baseline); err != nil {
			return nil, err
		}
		if err := b.claim(ctx, at, journal); err != nil {
			return nil, err
		}
	}
	file, err := b.open(ctx, at)
	if err != nil {
		return nil, err
	}
	if err = file.baseline(ctx, spec); err == nil {
		err = journal.Adopted(ctx, at.object(), at.externalID())
	}
	if err != nil {
		file.close()
		return nil, err
	}
	return file, nil
}

// update brings a file of ours to what the spec says, and writes nothing if it is so already. It may close the file and
// open another in its place.
func (b *Backend) update(ctx context.Context, file *file, spec tenant.DatabaseSpec) (tenant.Database, error) {
	at := file.at
	applied, err := file.applied(ctx)
	if err != nil {
		return tenant.Database{}, err
	}
	pending, err := spec.Migrations.Pending(applied)
	if err != nil {
		return tenant.Database{}, err
	}
	if len(pending) == 0 && file.readOnly == spec.ReadOnly && !slices.ContainsFunc(applied, unknown) {
		return at.database(applied, spec.ReadOnly), file.resumeLog(ctx)
	}
	open, err := b.writable(ctx, file)
	if err != nil {
		return tenant.Database{}, err
	}
	defer open.close()
	return open.converge(ctx, spec)
}

func unknown(done tenant.Migration) bool { return done.SHA256 == "" }

// converge works on a writable file of ours.
func (f *file) converge(ctx context.Context, spec tenant.DatabaseSpec) (tenant.Database, error) {
	applied, err := migrate(ctx, f, spec.Migrations)
	if settled := f.settle(ctx, spec.ReadOnly); err == nil {
		err = settled
	}
	if err != nil {
		return tenant.Database{}, err
	}
	return f.at.database(applied, spec.ReadOnly), nil
}

func migrate(ctx context.Context, f *file, files tenant.Migrations) ([]tenant.Migration, error) {
	return migrations.Apply(ctx, f.target(), files)
}

func (f *file) target() migrations.Target {
	return migrations.Target{
		DB: f.db, Dialect: migrations.SQLite(), Name: f.at.path, Classify: sqlitefile.Classify,
	}
}

// create returns what the new file has applied already.
func (b *Backend) create(
	ctx context.Context, at location, spec tenant.DatabaseSpec, journal tenant.Journal,
) (applied []tenant.Migration, err error) {
	template, err := b.template(ctx, spec.Migrations)
	if err != nil {
		return nil, err
	}
	if spec.MaxTenants > 0 {
		lock, err := sqlitefile.Acquire(ctx, b.lockPath(".pool"))
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, lock.Release()) }()
		if err := b.checkRoom(ctx, at, spec.MaxTenants); err != nil {
			return nil, err
		}
	}
	if err := at.removeSidecars(); err != nil { // a log without its database is what a kill left of a removed one
		return nil, err
	}
	_, err = tenant.Make(ctx, journal, at.object(), func(ctx context.Context) (string, error) {
		applied, err = b.publish(ctx, at, template)
		return at.externalID(), err
	})
	return applied, err
}

// checkRoom counts by name first, which is cheap and never too low; only a pool that seems full is counted by mark.
func (b *Backend) checkRoom(ctx context.Context, at location, limit int64) error {
	names, err := b.names()
	if err != nil || limit == 0 || int64(len(names)) < limit {
		return err
	}
	taken := int64(0)
	for _, name := range names {
		_, _, err := b.readNamed(ctx, name)
		if !errors.Is(err, tenant.ErrAbsent) && !tenant.HasCode(err, tenant.CodeForeign) {
			taken++
		}
	}
	if taken < limit {
		return nil
	}
	return tenant.Fail(tenant.CodePoolFull, "taking a place for "+at.object().String()+" in "+b.config.Dir,
		fmt.Errorf("%d of %d are taken", taken, limit))
}

// publish makes the marked copy where nobody looks and then links it to its name, which succeeds only if nothing has
// that name: there is never a file of that name without the mark.
func (b *Backend) publish(ctx context.Context, at location, template string) ([]tenant.Migration, error) {
	folder := b.scratch(at.place.Name)
	applied, err := b.publishFrom(ctx, at, filepath.Join(folder, at.place.Name+suffix), template)
	if cleared := os.RemoveAll(folder); err == nil && cleared != nil {
		err = tenant.Fail(tenant.CodeStorage, "creating "+at.path, cleared)
	}
	return applied, err
}

func (b *Backend) publishFrom(
	ctx context.Context, at location, draft, template string,
) ([]tenant.Migration, error) {
	doing := "creating " + at.path
	if err := copyFile(draft, template); err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, doing, err)
	}
	tenant.Failpoint(ctx, "database.copied")
	applied, err := b.sign(ctx, at, draft)
	if err != nil {
		return nil, sqlitefile.Classify(doing, err)
	}
	tenant.Failpoint(ctx, "database.signed")
	if err := syncFile(draft); err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, doing, err)
	}
	if err := os.Link(draft, at.path); errors.Is(err, fs.ErrExist) {
		return nil, tenant.Fail(tenant.CodeForeign, doing, errors.Join(err, tenant.ErrForeign))
	} else if err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, doing, err)
	}
	tenant.Failpoint(ctx, "database.linked")
	if err := syncFile(b.config.Dir); err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, doing, err)
	}
	return applied, nil
}

// sign writes the mark into a file that nobody else knows of.
func (b *Backend) sign(
	ctx context.Context,
	at location,
	draft string,
) (applied []tenant.Migration, err error) {
	db, err := sqlitefile.OpenScratch(draft)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, `INSERT INTO tenantry_meta (id, mark) VALUES (1, $1)`,
		b.config.Keyring.Mark(at.object())); err != nil {
		return nil, err
	}
	return migrations.Applied(ctx, db, migrations.SQLite())
}

// Delete removes or archives the file under the tenant's lock. A database that another process has open can be
// dropped, but not archived (CodeBusy): what that process has not written yet would be missing in the archive.
func (b *Backend) Delete(
	ctx context.Context, id tenant.ID, place tenant.Place, how tenant.Disposal, journal tenant.Journal,
) error {
	at, err := b.locate(id, place)
	if err != nil {
		return err
	}
	var dispose func(context.Context, *file) error
	switch how.How {
	case tenant.Retain:
		return nil
	case tenant.Drop:
		dispose = b.drop
	case tenant.Archive:
		dispose = b.archive
	default:
		return tenant.Fail(tenant.CodeInvalidConfig, fmt.Sprintf("deleting %s as %q", at.object(), how.How),
			errors.New("it can be dropped, archived or retained"))
	}
	return b.exclusively(ctx, at, func(ctx context.Context) (bool, error) {
		file, err := b.open(ctx, at)
		if err == nil {
			err = dispose(ctx, file)
		}
		if err != nil && !errors.Is(err, tenant.ErrAbsent) {
			return false, err
		}
		if err := at.removeSidecars(); err != nil {
			return false, err
		}
		if _, err := os.Lstat(at.path); !errors.Is(err, fs.ErrNotExist) {
			return false, tenant.Fail(tenant.CodeConflict, "deleting "+at.path,
				errors.New("something of that name has appeared again"))
		}
		tenant.Failpoint(ctx, "database.gone")
		return true, journal.Removed(ctx, at.object())
	})
}

func (b *Backend) drop(ctx context.Context, f *file) error {
	f.close()
	if err := os.Remove(f.at.path); err != nil {
		return tenant.Fail(tenant.CodeStorage, "dropping "+f.at.path, err)
	}
	tenant.Failpoint(ctx, "database.dropped")
	return nil
}

// archive renames the file, alone and closed for writing.
func (b *Backend) archive(ctx context.Context, f *file) error {
	f, err := b.writable(ctx, f)
	if err != nil {
		return err
	}
	defer f.close()
	if err := f.standAlone(ctx); err != nil {
		return err
	}
	f.close()
	tenant.Failpoint(ctx, "database.standing")
	if err := f.at.setMode(readOnlyMode); err != nil {
		return err
	}
	doing := "archiving " + f.at.path
	to, err := b.archivePath(f.at.place.Name)
	if err != nil {
		return tenant.Fail(tenant.CodeStorage, doing, err)
	}
	tenant.Failpoint(ctx, "database.closed")
	if err := os.Rename(f.at.path, to); err != nil {
		return tenant.Fail(tenant.CodeStorage, doing, err)
	}
	tenant.Failpoint(ctx, "database.archived")
	return nil
}

// archivePath returns a path that nothing has; the tenant's lock keeps it so.
func (b *Backend) archivePath(name string) (string, error) {
	folder := filepath.Join(b.config.Dir, "archive")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	stem := filepath.Join(folder, name+"-"+b.config.Now().UTC().Format("20060102T150405Z"))
	for n := 1; ; n++ {
		path := stem + suffix
		if n > 1 {
			path = stem + "-" + strconv.Itoa(n) + suffix
		}
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return path, nil
		} else if err != nil {
			return "", err
		}
	}
}
