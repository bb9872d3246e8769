package sqlitefile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const lockPoll = 5 * time.Millisecond

// Lock is an exclusive lock on a file, over goroutines and processes. The kernel frees it when its process dies.
type Lock struct{ held *flock.Flock }

// Acquire locks the file at path, creating it (0600) and its folder (0700). It waits for another holder for at most
// BusyTimeout and then fails with CodeBusy.
func Acquire(ctx context.Context, path string) (*Lock, error) {
	doing := "locking " + path
	waiting, cancel := context.WithTimeout(ctx, BusyTimeout)
	defer cancel()
	for {
		lock, err := tryAcquire(waiting, path)
		switch {
		case err == nil && lock != nil:
			return lock, nil
		case err == nil: // the holder removed the file when it gave the lock back
			continue
		case ctx.Err() != nil:
			return nil, tenant.Fail(tenant.CodeCanceled, doing, ctx.Err())
		case waiting.Err() != nil:
			return nil, tenant.Fail(tenant.CodeBusy, doing,
				errors.New("somebody else has held it for "+BusyTimeout.String()))
		default:
			return nil, tenant.Fail(tenant.CodeStorage, doing, err)
		}
	}
}

// tryAcquire returns nil if what it locked is no longer the file at path.
func tryAcquire(ctx context.Context, path string) (*Lock, error) {
	lock := flock.New(path)
	_, err := lock.TryLockContext(ctx, lockPoll)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		_, err = lock.TryLockContext(ctx, lockPoll)
	}
	if err != nil {
		return nil, err
	}
	locked, err := lock.Stat()
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	there, err := os.Stat(path)
	if err == nil && os.SameFile(locked, there) {
		return &Lock{lock}, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return nil, errors.Join(err, lock.Unlock())
}

// Release gives the lock back; a second call does nothing.
func (l *Lock) Release() error { return l.held.Unlock() }

// Remove gives the lock back and removes its file: whoever waits for it notices and makes a new one.
func (l *Lock) Remove() error {
	if err := os.Remove(l.held.Path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, l.Release())
	}
	return l.Release()
}
