package sqlite

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// templatesKept is how many templates of other migrations stay: those of the releases that a fleet is between.
const templatesKept = 4

// template returns a file to copy: our own tables, and the migrations unless they can't be run once for all. It is
// built by the first who needs it.
func (b *Backend) template(ctx context.Context, files tenant.Migrations) (string, error) {
	path := b.templatePath(files)
	if there, err := exists(path); err != nil || there {
		return path, err
	}
	personal, err := differs(files)
	if err != nil {
		return "", tenant.Fail(tenant.CodeMigrationsFolder, "reading the migrations", err)
	}
	if personal {
		return b.template(ctx, tenant.Migrations{})
	}
	err = b.buildTemplate(ctx, path, files)
	if tenant.HasCode(err, tenant.CodeMigrationFailed) && len(files.Files) > 0 {
		// The tenant's own file takes the migrations as far as they go, and fails with the name of the one at fault.
		return b.template(ctx, tenant.Migrations{})
	}
	return path, err
}

func (b *Backend) templatePath(files tenant.Migrations) string {
	sum := sha256.Sum256([]byte(schema + encode(files.Files)))
	return filepath.Join(b.config.Dir, ".templates", hex.EncodeToString(sum[:16])+suffix)
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, tenant.Fail(tenant.CodeStorage, "looking for "+path, err)
	}
	return true, nil
}

// differs reports whether a migration may leave something else in each database: a random value that it writes must
// not be the same for all tenants.
func differs(files tenant.Migrations) (bool, error) {
	chance := regexp.MustCompile(`(?i)random|uuid`)
	for _, file := range files.Files {
		contents, err := fs.ReadFile(files.FS, file.Name)
		if err != nil || chance.Match(contents) {
			return true, err
		}
	}
	return false, nil
}

func (b *Backend) buildTemplate(ctx context.Context, path string, files tenant.Migrations) (err error) {
	lock, err := sqlitefile.Acquire(ctx, b.lockPath(".template"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if there, err := exists(path); err != nil || there {
		return err
	}
	doing := "building the template " + path
	draft := location{
		path: b.scratch(".template" + suffix),
	} // one name, so that no kill leaves more than one behind
	if err := errors.Join(draft.remove(), emptyFile(draft.path)); err != nil {
		return tenant.Fail(tenant.CodeStorage, doing, err)
	}
	if err := fill(ctx, draft, files); err != nil {
		return sqlitefile.Classify(doing, errors.Join(err, draft.remove()))
	}
	tenant.Failpoint(ctx, "template.filled")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), syncFile(draft.path),
		os.Rename(draft.path, path)); err != nil {
		return tenant.Fail(tenant.CodeStorage, doing, err)
	}
	tenant.Failpoint(ctx, "template.published")
	if err := prune(filepath.Dir(path)); err != nil {
		return tenant.Fail(tenant.CodeStorage, doing, err)
	}
	return nil
}

func fill(ctx context.Context, draft location, files tenant.Migrations) (err error) {
	db, err := sqlitefile.OpenScratch(draft.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return err
	}
	if _, err := migrate(ctx, &file{at: draft, db: db}, files); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `PRAGMA journal_mode = WAL`)
	return err
}

// prune removes all but the newest templates. One that is still needed is built again.
func prune(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var infos []fs.FileInfo
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && strings.HasSuffix(info.Name(), suffix) {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	var failed []error
	for _, info := range infos[min(len(infos), templatesKept+1):] {
		if err := os.Remove(
			filepath.Join(folder, info.Name()),
		); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

func emptyFile(path string) error { return writeFile(path, strings.NewReader("")) }

// copyFile makes the file to (0600) and its folder (0700) from the file from.
func copyFile(to, from string) (err error) {
	source, err := os.Open(from) //nolint:gosec // a file of our own folder
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	return writeFile(to, source)
}

func writeFile(path string, from io.Reader) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	//nolint:gosec // the path is one of our own folder's
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, writableMode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}

// syncFile makes a file, or the names in a folder, outlast a loss of power.
func syncFile(path string) (err error) {
	file, err := os.Open(path) //nolint:gosec // our own folder
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return file.Sync()
}
