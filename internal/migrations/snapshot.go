package migrations

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"
)

// Open returns a file, or the folder itself as ".".
func (s snapshot) Open(name string) (fs.File, error) {
	if name == "." {
		return &openFolder{entries: s.entries()}, nil
	}
	contents, ok := s[name]
	if !ok || !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &openFile{Reader: bytes.NewReader(contents), entry: entry{name, int64(len(contents))}}, nil
}

// ReadDir returns the files, ordered by name.
func (s snapshot) ReadDir(name string) ([]fs.DirEntry, error) {
	if name != "." {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	return s.entries(), nil
}

func (s snapshot) entries() []fs.DirEntry {
	out := make([]fs.DirEntry, 0, len(s))
	for _, name := range slices.Sorted(maps.Keys(s)) {
		out = append(out, fs.FileInfoToDirEntry(entry{name, int64(len(s[name]))}))
	}
	return out
}

type entry struct {
	name string
	size int64
}

func (e entry) Name() string       { return e.name }
func (e entry) Size() int64        { return e.size }
func (e entry) Mode() fs.FileMode  { return 0o444 }
func (e entry) ModTime() time.Time { return time.Time{} }
func (e entry) IsDir() bool        { return false }
func (e entry) Sys() any           { return nil }

type openFile struct {
	*bytes.Reader
	entry entry
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.entry, nil }
func (f *openFile) Close() error               { return nil }

type openFolder struct {
	entries []fs.DirEntry
}

type folderInfo struct{ entry }

func (folderInfo) Mode() fs.FileMode { return fs.ModeDir | 0o555 }
func (folderInfo) IsDir() bool       { return true }

func (f *openFolder) Stat() (fs.FileInfo, error) { return folderInfo{entry{name: "."}}, nil }
func (f *openFolder) Close() error               { return nil }

func (f *openFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: ".", Err: fs.ErrInvalid}
}

// ReadDir follows fs.ReadDirFile: n > 0 returns at most n entries and io.EOF at the end.
func (f *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	left := f.entries
	if n <= 0 {
		f.entries = nil
		return left, nil
	}
	if len(left) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(left))
	f.entries = left[n:]
	return left[:n], nil
}
