package tenant

import "context"

// Leases gives a tenant one owner at a time, over processes and machines.
type Leases interface {
	// Acquire makes the caller the owner. While another owner lives it fails at once with CodeLeaseHeld, naming the
	// holder as far as that is known; a dead owner's lease is taken over, with proof of death only (a released lock,
	// never an old timestamp). Each acquisition raises the tenant's epoch.
	Acquire(ctx context.Context, id ID) (Lease, error)
}

// Lease is the ownership of one tenant.
type Lease interface {
	// Epoch grows with every acquisition. A write that carries an older one is refused with CodeLeaseLost.
	Epoch() int64
	// Lost is closed when the ownership ended without Release.
	Lost() <-chan struct{}
	// Release gives the tenant back; a second call does nothing.
	Release() error
}
