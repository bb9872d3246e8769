package keycloak

import (
	"context"
	"sync"
	"time"
)

// pace spreads requests evenly: each takes the next free slot in time and waits for it.
type pace struct {
	every time.Duration

	mu   sync.Mutex
	next time.Time
}

// wait returns when the caller's slot has come, or ctx's error.
func (p *pace) wait(ctx context.Context) error {
	p.mu.Lock()
	now := time.Now()
	// Slots that nobody took may be made up for, up to a second's worth.
	if earliest := now.Add(-time.Second); p.next.Before(earliest) {
		p.next = earliest
	}
	slot := p.next
	p.next = p.next.Add(p.every)
	p.mu.Unlock()
	return pause(ctx, slot.Sub(now))
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
