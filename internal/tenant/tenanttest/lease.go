package tenanttest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Leases runs the contract of tenant.Leases. open returns two views of the same, fresh leases, as two
// processes would have them.
func Leases(t *testing.T, open func(t *testing.T) (one, other tenant.Leases)) {
	t.Helper()
	for name, check := range map[string]func(t *testing.T, one, other tenant.Leases){
		"one owner at a time":              leaseExcludes,
		"a released tenant is free":        leaseReleased,
		"an old release frees nobody":      leaseReleasedLate,
		"tenants do not disturb others":    leaseApart,
		"many want it at once":             leaseContended,
		"a canceled attempt takes nothing": leaseCanceled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, other := open(t)
			check(t, one, other)
		})
	}
}

func acquire(t *testing.T, leases tenant.Leases, id tenant.ID) tenant.Lease {
	t.Helper()
	lease, err := leases.Acquire(t.Context(), id)
	require.NoError(t, err)
	return lease
}

func requireHeld(t *testing.T, leases tenant.Leases, id tenant.ID) {
	t.Helper()
	_, err := leases.Acquire(t.Context(), id)
	require.True(t, tenant.HasCode(err, tenant.CodeLeaseHeld), "got %v", err)
	require.ErrorContains(t, err, string(id))
}

func requireNotLost(t *testing.T, lease tenant.Lease) {
	t.Helper()
	select {
	case <-lease.Lost():
		t.Fatal("the lease counts as lost")
	default:
	}
}

func leaseExcludes(t *testing.T, one, other tenant.Leases) {
	lease := acquire(t, one, "acme")
	requireHeld(t, other, "acme")
	requireHeld(t, one, "acme")
	requireNotLost(t, lease)
	require.NoError(t, lease.Release())
}

func leaseReleased(t *testing.T, one, other tenant.Leases) {
	first := acquire(t, one, "acme")
	require.NoError(t, first.Release())
	require.NoError(t, first.Release(), "a second release does nothing")
	requireNotLost(t, first)
	second := acquire(t, other, "acme")
	require.Greater(t, second.Epoch(), first.Epoch())
	require.NoError(t, second.Release())
	third := acquire(t, other, "acme")
	require.Greater(t, third.Epoch(), second.Epoch())
	require.NoError(t, third.Release())
}

func leaseReleasedLate(t *testing.T, one, other tenant.Leases) {
	first := acquire(t, one, "acme")
	require.NoError(t, first.Release())
	second := acquire(t, other, "acme")
	require.NoError(t, first.Release())
	requireHeld(t, one, "acme")
	require.NoError(t, second.Release())
}

func leaseApart(t *testing.T, one, other tenant.Leases) {
	a, b := LongIDs()
	first, second := acquire(t, one, a), acquire(t, other, b)
	requireHeld(t, other, a)
	requireHeld(t, one, b)
	require.NoError(t, first.Release())
	require.NoError(t, second.Release())
}

func leaseContended(t *testing.T, one, other tenant.Leases) {
	const owners = 8
	var (
		owning atomic.Int64
		epochs sync.Map
		group  sync.WaitGroup
	)
	own := func(leases tenant.Leases) error {
		lease, err := leases.Acquire(t.Context(), "acme")
		for tenant.HasCode(err, tenant.CodeLeaseHeld) {
			lease, err = leases.Acquire(t.Context(), "acme")
		}
		if err != nil {
			return err
		}
		if owning.Add(1) != 1 {
			return errors.Join(errors.New("two owners at once"), lease.Release())
		}
		if _, twice := epochs.LoadOrStore(lease.Epoch(), true); twice {
			return errors.Join(errors.New("two owners with one epoch"), lease.Release())
		}
		owning.Add(-1)
		return lease.Release()
	}
	for n := range owners {
		leases := []tenant.Leases{one, other}[n%2]
		group.Go(func() {
			if err := own(leases); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func leaseCanceled(t *testing.T, one, other tenant.Leases) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := one.Acquire(canceled, "acme")
	require.True(t, tenant.HasCode(err, tenant.CodeCanceled), "got %v", err)
	require.NoError(t, acquire(t, other, "acme").Release())
}
