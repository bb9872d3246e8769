package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/tenantry/terraform-provider-tenant/internal/migrations"
	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// unclaimed returns the file, opened, if it is a SQLite database that carries nobody's mark; nil if it carries one.
func (b *Backend) unclaimed(ctx context.Context, at location) (*file, error) {
	doing := "claiming " + at.path
	info, err := os.Lstat(at.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, tenant.Fail(tenant.CodeNotFound, doing, errors.New("there is no such database"))
	case err != nil:
		return nil, tenant.Fail(tenant.CodeStorage, doing, err)
	case !info.Mode().IsRegular():
		return nil, tenant.Fail(tenant.CodeForeign, doing, errors.New("it is no regular file"))
	}
	db, err := sqlitefile.OpenAsIs(at.path)
	if err != nil {
		return nil, err
	}
	out := &file{at: at, db: db, readOnly: info.Mode()&0o200 == 0}
	mark, err := out.mark(ctx, "tenantry_meta")
	if err == nil && mark == "" {
		err = out.isDatabase(ctx)
	}
	if err != nil || mark != "" {
		out.close()
		return nil, err
	}
	return out, nil
}

func (f *file) isDatabase(ctx context.Context) error {
	var count int
	err := f.db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master`).Scan(&count)
	if sqlitefile.ResultCode(err) == sqlite3.SQLITE_NOTADB {
		return tenant.Fail(tenant.CodeForeign, "claiming "+f.at.path, errors.New("it is no SQLite database"))
	}
	return sqlitefile.Classify("claiming "+f.at.path, err)
}

// claim marks a database that carries nobody's mark. The mark and our tables come in one transaction.
func (b *Backend) claim(ctx context.Context, at location, journal tenant.Journal) error {
	found, err := b.unclaimed(ctx, at)
	if err != nil || found == nil {
		return err
	}
	defer found.close()
	if found.readOnly {
		return tenant.Fail(tenant.CodeStorage, "claiming "+at.path, errors.New("the file may not be written"))
	}
	tx, err := found.db.BeginTx(ctx, nil)
	if err != nil {
		return sqlitefile.Classify("claiming "+at.path, err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	if _, err = tx.ExecContext(ctx, schema); err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO tenantry_meta (id, mark) VALUES (1, $1)`,
			b.config.Keyring.Mark(at.object()))
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return sqlitefile.Classify("claiming "+at.path, err)
	}
	tenant.Failpoint(ctx, "database.claimed")
	return journal.Adopted(ctx, at.object(), at.externalID())
}

// baseline records what a claimed database has already.
func (f *file) baseline(ctx context.Context, spec tenant.DatabaseSpec) error {
	if !spec.Claim || spec.Baseline == 0 {
		return nil
	}
	return migrations.Baseline(ctx, f.target(), spec.Migrations, spec.Baseline)
}

// PlanDatabase looks for a place in the pool and for what a claim would find. A database that is ours needs neither.
func (b *Backend) PlanDatabase(ctx context.Context, spec tenant.DatabaseSpec) ([]string, error) {
	at, err := b.locate(spec.Tenant, spec.Place)
	if err != nil {
		return nil, err
	}
	if len(spec.Extensions) > 0 {
		return nil, tenant.Fail(tenant.CodeInvalidConfig, "planning "+at.object().String(),
			errors.New("SQLite has no extensions that a database could ask for"))
	}
	own, err := b.open(ctx, at)
	switch {
	case err == nil:
		own.close()
		return nil, nil
	case errors.Is(err, tenant.ErrAbsent) && !spec.Claim:
		return nil, b.checkRoom(ctx, at, spec.MaxTenants)
	case !spec.Claim:
		return nil, err
	}
	found, err := b.unclaimed(ctx, at)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, tenant.Fail(
			tenant.CodeForeign,
			"claiming "+at.path,
			errors.New("it carries another mark"),
		)
	}
	defer found.close()
	return found.claimNotes(ctx, spec)
}

func (f *file) claimNotes(ctx context.Context, spec tenant.DatabaseSpec) ([]string, error) {
	applied, err := f.applied(ctx)
	if err == nil {
		err = migrations.CheckBaseline(spec.Migrations, spec.Baseline)
	}
	if err != nil {
		return nil, err
	}
	notes := []string{
		fmt.Sprintf("%s carries nobody's mark; the apply puts ours into it, in tables whose names begin "+
			"with tenantry_.", f.at.path),
	}
	if len(applied) == 0 && spec.Baseline > 0 {
		notes = append(
			notes,
			fmt.Sprintf("It has no record of migrations; the files up to version %d are recorded "+
				"as applied without being run.", spec.Baseline),
		)
		for _, file := range spec.Migrations.Files {
			if file.Version <= spec.Baseline {
				applied = append(applied, file)
			}
		}
	}
	pending, err := spec.Migrations.Pending(applied)
	for _, file := range pending {
		notes = append(notes, "Migration "+file.Name+" will be run.")
	}
	return notes, err
}

// PlanDisposal refuses nothing: each disposal works on a file.
func (b *Backend) PlanDisposal(context.Context, tenant.ID, tenant.Place, tenant.Disposal) error {
	return nil
}
