package migrations

import (
	"context"
	"errors"
	"fmt"

	"github.com/pressly/goose/v3/database"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Baseline records the files up to version as applied, without running them, in a database in which goose has never
// been: one that had its tables before this tool came. With a record of migrations it does nothing. All of it is one
// transaction. It fails with CodeInvalidConfig if no file has that version.
func Baseline(ctx context.Context, target Target, files tenant.Migrations, version int64) error {
	if err := CheckBaseline(files, version); err != nil {
		return err
	}
	doing := "recording what " + target.Name + " has already"
	there, err := exist(ctx, target.DB, target.Dialect, VersionsTable)
	if err != nil || there {
		return target.Classify(doing, err)
	}
	recorder, err := newStore(target.Dialect, files)
	if err != nil {
		return tenant.Fail(tenant.CodeInternal, doing, err)
	}
	tx, err := target.DB.BeginTx(ctx, nil)
	if err != nil {
		return target.Classify(doing, err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	if err := recorder.CreateVersionTable(ctx, tx); err != nil {
		return target.Classify(doing, err)
	}
	for _, version := range upTo(files, version) {
		if err := recorder.insert(ctx, tx, database.InsertRequest{Version: version}); err != nil {
			return target.Classify(doing, err)
		}
	}
	return target.Classify(doing, tx.Commit())
}

// CheckBaseline fails with CodeInvalidConfig if no file has that version; 0 stands for no baseline.
func CheckBaseline(files tenant.Migrations, version int64) error {
	if had := upTo(files, version); had[len(had)-1] != version {
		return tenant.Fail(tenant.CodeInvalidConfig, fmt.Sprintf("taking version %d for a baseline", version),
			errors.New("no file of the folder has this version"))
	}
	return nil
}

// upTo returns the versions that goose would have recorded: 0, which stands for its table, and the files'.
func upTo(files tenant.Migrations, version int64) []int64 {
	had := []int64{0}
	for _, file := range files.Files {
		if file.Version <= version {
			had = append(had, file.Version)
		}
	}
	return had
}
