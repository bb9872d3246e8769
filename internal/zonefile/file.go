package zonefile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// settled is how old a file's time must be when it is read before size, time and inode prove later that it has not
// changed: two writes within one tick of a file system's clock look the same.
const settled = 20 * time.Millisecond

// masterFile is a master file on disk and its parsed form.
type masterFile struct {
	path   string
	origin string // with a trailing dot
	whole  bool   // the file is a zone: it has a SOA

	mu     sync.Mutex // guards cached and the document in it
	cached *cache
}

// cache is the document and the file that it was read from or written to.
type cache struct {
	doc  *document
	info fs.FileInfo
	sure bool // whether any later write would show in info
}

func (f *masterFile) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cached = nil
}

// view runs look on the file as it is now; one that does not exist is empty.
func (f *masterFile) view(doing string, look func(*document) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	doc, err := f.load(doing)
	if err != nil {
		return err
	}
	if doc == nil {
		doc = &document{}
	}
	if err := look(doc); err != nil && !errors.Is(err, tenant.ErrAbsent) {
		return tenant.Fail(tenant.CodeInternal, doing, err)
	} else if err != nil {
		return err
	}
	return nil
}

// change runs edit on the file under its lock and replaces it if edit changed anything. A file that does not exist begins as blank.
func (f *masterFile) change(
	ctx context.Context, doing string, blank func() string, edit func(*document) error,
) (err error) {
	lock, err := sqlitefile.Acquire(ctx, f.path+".lock")
	if err != nil {
		return tenant.Fail(tenant.CodeBusy, doing, err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	f.mu.Lock()
	defer f.mu.Unlock()
	doc, err := f.load(doing)
	if err != nil {
		return err
	}
	isNew := doc == nil
	if isNew {
		if doc, err = f.parse(doing, blank()); err != nil {
			return err
		}
	}
	err = edit(doc)
	if doc.dirty {
		f.cached = nil // until the file holds what the document does
	}
	if err != nil {
		return tenant.Fail(tenant.CodeInternal, doing, err)
	}
	if !doc.dirty {
		return nil
	}
	if !isNew {
		if err := doc.raiseSerial(); err != nil {
			return tenant.Fail(tenant.CodeInvalidConfig, doing, err)
		}
	}
	return f.write(ctx, doing, doc)
}

// load returns the parsed file, nil if there is none.
func (f *masterFile) load(doing string) (*document, error) {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		f.cached = nil
		return nil, nil //nolint:nilnil // no file, no document
	}
	if err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, doing, err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, doing, err)
	}
	if f.cached.isOf(info) {
		return f.cached.doc, nil
	}
	return f.reload(doing, file, info)
}

func (f *masterFile) reload(doing string, file io.Reader, info fs.FileInfo) (*document, error) {
	sure := time.Since(info.ModTime()) > settled
	text := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	_, err := text.ReadFrom(file)
	if err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, doing, err)
	}
	if f.cached != nil && !f.cached.doc.included && f.cached.doc.isText(text.Bytes()) {
		f.cached.info, f.cached.sure = info, sure
		return f.cached.doc, nil
	}
	f.cached = nil
	doc, err := f.parse(doing, text.String())
	if err != nil {
		return nil, err
	}
	f.cached = &cache{doc, info, sure}
	return doc, nil
}

func (c *cache) isOf(info fs.FileInfo) bool {
	return c != nil && c.sure && !c.doc.included && os.SameFile(c.info, info) &&
		c.info.Size() == info.Size() && c.info.ModTime().Equal(info.ModTime())
}

func (f *masterFile) parse(doing, text string) (*document, error) {
	doc, err := parse(f.path, f.origin, text)
	if err == nil && f.whole {
		err = doc.checkApex(tenant.PlainName(f.origin))
	}
	if err != nil {
		return nil, tenant.Fail(tenant.CodeInvalidConfig, doing, err)
	}
	return doc, nil
}

// checkApex returns an error unless the file is that zone's.
func (d *document) checkApex(zone string) error {
	if d.soa == nil {
		return errors.New("the file has no SOA: it is no zone file")
	}
	if d.soa.rr.name != zone {
		return errors.New("the file's SOA says that it is the zone " + d.soa.rr.name + ", not " + zone)
	}
	return nil
}

// write replaces the file in one step: a reader sees the old one or the new one. A link is followed; mode and owner stay.
func (f *masterFile) write(ctx context.Context, doing string, doc *document) error {
	path := f.path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	info, sure, err := writeBeside(path, doc.text())
	if err != nil {
		return tenant.Fail(tenant.CodeStorage, doing, err)
	}
	tenant.Failpoint(ctx, "record.written")
	if err := errors.Join(os.Rename(besides(path), path), syncFolder(filepath.Dir(path))); err != nil {
		return tenant.Fail(tenant.CodeStorage, doing, err)
	}
	doc.dirty = false
	f.cached = &cache{doc, info, sure}
	tenant.Failpoint(ctx, "record.replaced")
	return nil
}

func besides(path string) string { return path + ".new" }

// writeBeside writes the text durably to the file that will replace the one at path. The name is always the same, so
// that a kill leaves one file behind at most; the lock keeps others away from it. The file's time is set to the nanosecond,
// which no write by somebody else can hit, because the kernel's own stamps go by ticks; sure says that it was kept.
func writeBeside(path string, text []byte) (info fs.FileInfo, sure bool, err error) {
	mode := fs.FileMode(0o644)
	old, err := os.Stat(path)
	if err == nil {
		mode = old.Mode().Perm()
	}
	if err := os.Remove(besides(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	file, err := os.OpenFile(besides(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := file.Chmod(mode); err != nil {
		return nil, false, err
	}
	keepOwner(file, old)
	if _, err := file.Write(text); err != nil {
		return nil, false, err
	}
	stamp := time.Now()
	if err := os.Chtimes(file.Name(), stamp, stamp); err != nil {
		return nil, false, err
	}
	if err := file.Sync(); err != nil {
		return nil, false, err
	}
	info, err = file.Stat()
	return info, err == nil && info.ModTime().Equal(stamp), err
}

// syncFolder makes a rename within the folder durable.
func syncFolder(path string) error {
	folder, err := os.Open(path) //nolint:gosec // the folder of a configured path
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
