package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const copyFormat = 1

// document is the local copy as a file.
type document struct {
	Format   int       `json:"format"`
	ReadAt   time.Time `json:"read_at"`
	Bindings []line    `json:"bindings"`
}

type line struct {
	Hostname string              `json:"hostname"`
	Tenant   tenant.ID           `json:"tenant"`
	Upstream string              `json:"upstream,omitempty"`
	State    tenant.BindingState `json:"state"`
}

// readCopy returns the rows of the local copy and when they were read; fs.ErrNotExist if there is none.
func readCopy(path string) ([]tenant.Binding, time.Time, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the caller's own configured path
	if err != nil {
		return nil, time.Time{}, err
	}
	var kept document
	if err := json.Unmarshal(text, &kept); err != nil {
		return nil, time.Time{}, fmt.Errorf("%s is no copy of the bindings: %w", path, err)
	}
	if kept.Format != copyFormat {
		return nil, time.Time{}, fmt.Errorf("%s has format %d, which is not known", path, kept.Format)
	}
	rows := make([]tenant.Binding, 0, len(kept.Bindings))
	for _, l := range kept.Bindings {
		rows = append(rows, tenant.Binding(l))
	}
	return rows, kept.ReadAt, nil
}

// writeCopy replaces the local copy; a reader, or the next start, finds the old one or the new one.
func writeCopy(path string, rows []tenant.Binding, read time.Time) (err error) {
	kept := document{Format: copyFormat, ReadAt: read.UTC(), Bindings: make([]line, 0, len(rows))}
	for _, row := range rows {
		kept.Bindings = append(kept.Bindings, line(row))
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".bindings-*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreAbsent(os.Remove(file.Name())))
		}
	}()
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
