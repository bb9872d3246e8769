package tenant

import (
	"errors"
	"fmt"
)

// Pending returns the files that are not applied yet, in order. It fails, naming the file, if an applied one has other
// contents (CodeMigrationEdited), if a new one lies below the newest applied version (CodeMigrationOrder), or if the
// folder lacks an applied one (CodeDatabaseAhead). An applied one without a checksum was applied past us: its contents are
// not known and count as the folder's. Without any files the migrations are not managed here: nothing is pending.
func (m Migrations) Pending(applied []Migration) ([]Migration, error) {
	if len(m.Files) == 0 {
		return nil, nil
	}
	byVersion := make(map[int64]Migration, len(applied))
	var newest Migration
	for _, done := range applied {
		byVersion[done.Version] = done
		if done.Version >= newest.Version {
			newest = done
		}
	}
	var pending []Migration
	for _, file := range m.Files {
		done, isApplied := byVersion[file.Version]
		delete(byVersion, file.Version)
		switch {
		case isApplied && done.SHA256 != "" && done.SHA256 != file.SHA256:
			return nil, Fail(
				CodeMigrationEdited,
				"comparing migration "+file.Name,
				fmt.Errorf(
					"it was applied as %s with SHA-256 %.12s… and is %.12s… now",
					done.Name,
					done.SHA256,
					file.SHA256,
				),
			)
		case !isApplied && file.Version < newest.Version:
			return nil, Fail(CodeMigrationOrder, "ordering migration "+file.Name,
				fmt.Errorf("the newest applied one is %s", newest.Name))
		case !isApplied:
			pending = append(pending, file)
		}
	}
	for _, done := range applied {
		if _, left := byVersion[done.Version]; left {
			return nil, Fail(CodeDatabaseAhead, "looking for applied migration "+done.Name,
				errors.New("the folder does not contain it"))
		}
	}
	return pending, nil
}
