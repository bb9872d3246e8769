// Package migrations reads a folder of goose SQL files and applies them: names, checksums, what is pending. The work on
// the database is goose's (https://github.com/pressly/goose).
package migrations

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Load reads the goose files at the root of dir: base names and contents, nothing else, so that the same files in
// another folder are equal. Dotfiles, sub-folders and whatever is no migration by its name are left alone; a file that ends in .sql
// and is no goose migration, two files of one version, and a migration in Go fail with CodeMigrationsFolder and the
// name. The contents are kept in memory: what was hashed is what will be applied.
func Load(dir string) (tenant.Migrations, error) {
	doing := "reading the migrations in " + dir
	entries, err := os.ReadDir(dir)
	if err != nil {
		return tenant.Migrations{}, tenant.Fail(tenant.CodeMigrationsFolder, doing, err)
	}
	files := snapshot{}
	out := tenant.Migrations{FS: files}
	for _, entry := range entries {
		file, err := read(dir, entry.Name(), files)
		if err != nil {
			return tenant.Migrations{}, tenant.Fail(tenant.CodeMigrationsFolder, doing, err)
		}
		if file.Name != "" {
			out.Files = append(out.Files, file)
		}
	}
	if len(out.Files) == 0 {
		return tenant.Migrations{}, tenant.Fail(tenant.CodeMigrationsFolder, doing,
			errors.New("it contains no file NNNNN_name.sql"))
	}
	slices.SortFunc(out.Files, func(a, b tenant.Migration) int { return cmp.Compare(a.Version, b.Version) })
	for i, file := range out.Files[1:] {
		if file.Version == out.Files[i].Version {
			return tenant.Migrations{}, tenant.Fail(tenant.CodeMigrationsFolder, doing,
				fmt.Errorf("%s and %s have the same version", out.Files[i].Name, file.Name))
		}
	}
	if err := checkContents(out, files); err != nil {
		return tenant.Migrations{}, tenant.Fail(tenant.CodeMigrationsFolder, doing, err)
	}
	return out, nil
}

// read returns the zero Migration for a file that is none of ours by its name.
func read(dir, name string, files snapshot) (tenant.Migration, error) {
	version, err := parseName(name)
	if err != nil || version == 0 {
		return tenant.Migration{}, err
	}
	path := filepath.Join(dir, name)
	info, err := os.Stat(path)
	if err != nil {
		return tenant.Migration{}, err
	}
	if !info.Mode().IsRegular() {
		return tenant.Migration{}, fmt.Errorf("%s is no regular file", name)
	}
	contents, err := os.ReadFile(path) //nolint:gosec // the folder that the configuration names
	if err != nil {
		return tenant.Migration{}, err
	}
	files[name] = contents
	sum := sha256.Sum256(contents)
	return tenant.Migration{Version: version, Name: name, SHA256: hex.EncodeToString(sum[:])}, nil
}

// parseName returns the version in a migration's name, or 0 for a file that does not pass for a migration at all.
func parseName(name string) (int64, error) {
	extension := filepath.Ext(name)
	if strings.HasPrefix(name, ".") {
		return 0, nil
	}
	digits, _, separated := strings.Cut(strings.TrimSuffix(name, extension), "_")
	version, err := strconv.ParseUint(digits, 10, 63)
	numbered := separated && err == nil && version > 0
	switch {
	case extension == ".go" && numbered && !strings.HasSuffix(name, "_test.go"):
		return 0, fmt.Errorf("%s is a migration in Go; only SQL files can be applied", name)
	case !strings.EqualFold(extension, ".sql"):
		return 0, nil
	case extension != ".sql":
		return 0, fmt.Errorf("%s would be passed over by goose; write its extension .sql", name)
	case !numbered:
		return 0, fmt.Errorf(
			"%s is not named NNNNN_name.sql with a version from 1 to %d",
			name,
			uint64(1)<<63-1,
		)
	}
	return int64(version), nil
}

// checkContents has goose parse the files.
func checkContents(migrations tenant.Migrations, files snapshot) error {
	for _, file := range migrations.Files {
		if substitutes(files[file.Name]) {
			return fmt.Errorf(
				"%s asks for ENVSUB, which would put this process's environment, secrets included, "+
					"into the database",
				file.Name,
			)
		}
	}
	return parse(migrations.Files, files)
}

// substitutes reports whether a line is goose's annotation ENVSUB ON.
func substitutes(contents []byte) bool {
	for line := range bytes.Lines(contents) {
		_, annotation, found := bytes.Cut(line, []byte("+goose"))
		if found && bytes.Contains(bytes.ToUpper(annotation), []byte("ENVSUB")) {
			return true
		}
	}
	return false
}

// snapshot is a flat folder of files in memory.
type snapshot map[string][]byte

var (
	_ fs.FS        = snapshot(nil)
	_ fs.ReadDirFS = snapshot(nil)
)
