package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// childPoll is how often a child lock is tried while somebody waits for it.
const childPoll = 20 * time.Millisecond

// Leases is the ownership of tenants: a file lock for each, which the system frees when its process ends
// however it ends, and an epoch that grows with each acquisition.
func (c *Catalog) Leases() tenant.Leases { return leases{c} }

type leases struct{ catalog *Catalog }

var _ tenant.Leases = leases{}

// Acquire makes the caller the owner of the tenant.
func (l leases) Acquire(ctx context.Context, id tenant.ID) (tenant.Lease, error) {
	doing := "taking tenant " + string(id)
	if _, err := tenant.ParseID(string(id)); err != nil {
		return nil, tenant.Fail(tenant.CodeInvalidTenantID, doing, err)
	}
	if err := os.MkdirAll(l.catalog.locks, 0o700); err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, doing, err)
	}
	lock := flock.New(filepath.Join(l.catalog.locks, string(id)+".lock"))
	free, err := lock.TryLock()
	if err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, doing, err)
	}
	if !free {
		return nil, tenant.Fail(tenant.CodeLeaseHeld, doing, fmt.Errorf("its owner is %s", l.holder(ctx, id)))
	}
	epoch, err := l.catalog.raiseEpoch(ctx, doing, id)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return &lease{epoch: epoch, lock: lock, lost: make(chan struct{})}, nil
}

// holder tells who owns the tenant, as far as that is recorded: for people, never to judge by.
func (l leases) holder(ctx context.Context, id tenant.ID) string {
	holder := "a process that has only just begun"
	_ = l.catalog.store.read(ctx, "reading who owns the tenant", func(ctx context.Context, t *txn) error {
		return t.one(ctx, `SELECT holder FROM leases WHERE tenant_id = $1`, []any{string(id)}, &holder)
	})
	return holder
}

// raiseEpoch takes the time for the new epoch if that is above the last one, so that the edge, which
// remembers epochs, still listens when a lost catalog has been made anew.
const raiseEpoch = `INSERT INTO leases (tenant_id, epoch, holder, acquired_ms) VALUES ($1, $2, $3, $2)
 ON CONFLICT (tenant_id) DO UPDATE SET holder = excluded.holder, acquired_ms = excluded.acquired_ms,
 epoch = CASE WHEN leases.epoch < excluded.epoch THEN excluded.epoch ELSE leases.epoch + 1 END
 RETURNING epoch`

func (c *Catalog) raiseEpoch(ctx context.Context, doing string, id tenant.ID) (int64, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	var epoch int64
	err = c.store.write(ctx, doing, func(ctx context.Context, t *txn) error {
		holder := fmt.Sprintf("process %d on %s", os.Getpid(), host)
		return t.one(ctx, raiseEpoch, []any{string(id), t.now, holder}, &epoch)
	})
	return epoch, err
}

type lease struct {
	epoch int64
	lock  *flock.Flock
	lost  chan struct{}
	once  sync.Once
	err   error
}

var _ tenant.Lease = (*lease)(nil)

// Epoch is the number of this ownership.
func (l *lease) Epoch() int64 { return l.epoch }

// Lost is never closed: nobody takes a file lock from a living process.
func (l *lease) Lost() <-chan struct{} { return l.lost }

// Release gives the tenant back.
func (l *lease) Release() error {
	l.once.Do(func() {
		if err := l.lock.Unlock(); err != nil {
			l.err = tenant.Fail(tenant.CodeStorage, "releasing "+l.lock.Path(), err)
		}
	})
	return l.err
}

// ChildLockPath is the absolute path of the file that a Terraform locks (flock, exclusively) for as long as
// it lives, so that one that outlives its driver still owns the tenant. The folder exists once the tenant
// was acquired.
func (c *Catalog) ChildLockPath(id tenant.ID) string {
	return filepath.Join(c.locks, string(id)+".terraform.lock")
}

// AwaitChild waits until no Terraform holds the child lock. When ctx's deadline comes first it fails with
// tenant.CodeLeaseHeld, when ctx is canceled with tenant.CodeCanceled. Call it as the owner, before a child
// is started.
func (c *Catalog) AwaitChild(ctx context.Context, id tenant.ID) error {
	path := c.ChildLockPath(id)
	doing := "waiting for an earlier Terraform of tenant " + string(id)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock := flock.New(path)
	_, err := lock.TryLockContext(ctx, childPoll)
	switch {
	case err == nil:
		if err := lock.Unlock(); err != nil {
			return tenant.Fail(tenant.CodeStorage, doing, err)
		}
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return tenant.Fail(tenant.CodeLeaseHeld, doing, fmt.Errorf("%s still works on it", child(path)))
	case errors.Is(err, context.Canceled):
		return tenant.Fail(tenant.CodeCanceled, doing, err)
	default:
		return tenant.Fail(tenant.CodeStorage, doing, err)
	}
}

// child tells which process holds the child lock, from what it wrote into the file: for people only.
func child(path string) string {
	content, err := os.ReadFile(path) //nolint:gosec // a lock file of our own folder
	if pid := strings.TrimSpace(string(content)); err == nil && pid != "" {
		return "process " + pid
	}
	return "a process"
}
