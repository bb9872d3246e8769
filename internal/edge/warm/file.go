package warm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Summary is what can be told of all certificates at a glance.
type Summary struct {
	Hostnames int        `json:"hostnames"`
	Verified  int        `json:"verified"`
	Waiting   int        `json:"waiting"` // not looked at yet
	Failing   int        `json:"failing"`
	NextEnd   *time.Time `json:"next_not_after,omitempty"` // the earliest
}

// Summary sums up what is known.
func (q *Queue) Summary() Summary {
	q.mu.Lock()
	defer q.mu.Unlock()
	sum := Summary{Hostnames: len(q.known)}
	for _, one := range q.known {
		switch {
		case one.Failures > 0:
			sum.Failing++
		case one.NotAfter == nil:
			sum.Waiting++
		default:
			sum.Verified++
		}
		if one.NotAfter != nil && (sum.NextEnd == nil || one.NotAfter.Before(*sum.NextEnd)) {
			sum.NextEnd = one.NotAfter
		}
	}
	return sum
}

// Read returns what the file records, by hostname; nothing if there is no file.
func Read(path string) ([]Certificate, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the caller's own configured path
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []Certificate
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, fmt.Errorf("%s is no record of certificates: %w", path, err)
	}
	return found, nil
}

// write replaces the file if something is new; a reader finds the old one or the new one. It is told when it can't be:
// nobody else depends on it.
func (q *Queue) write() {
	q.mu.Lock()
	if !q.dirty {
		q.mu.Unlock()
		return
	}
	q.dirty = false
	all := make([]Certificate, 0, len(q.known))
	for _, one := range q.known {
		all = append(all, *one)
	}
	q.mu.Unlock()
	slices.SortFunc(all, func(a, b Certificate) int { return cmp.Compare(a.Hostname, b.Hostname) })
	if err := replace(q.config.File, all); err != nil {
		q.config.Log.Error("the record of certificates can't be written", "error", err)
	}
}

func replace(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".certificates-*") // 0600
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(file.Name()))
	}
	return err
}
