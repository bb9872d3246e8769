package serve

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// breath is how many times longer than the last reading took is waited before the next one: a table that changes all the
// time costs a tenth of a core at most.
const breath = 9

// firstView is the local copy, or nothing.
func (s *Server) firstView() *view {
	rows, read, err := readCopy(s.config.Copy)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.config.Log.Error("the local copy of the bindings can't be used", "error", err)
		}
		return s.config.newView(nil, fromNothing, time.Time{})
	}
	s.config.Log.Info("took the local copy of the bindings", "bindings", len(rows), "read_at", read)
	return s.config.newView(rows, fromCopy, read)
}

// Follow keeps the copy up to date until ctx ends. What goes wrong is logged once, told by /healthz, and never takes
// away what is known.
func (s *Server) Follow(ctx context.Context) {
	table := &source{path: s.config.Bindings}
	defer table.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		s.refresh(ctx, table)
		timer.Reset(max(s.config.Poll, breath*time.Since(began)))
	}
}

// refresh looks at the table once.
func (s *Server) refresh(ctx context.Context, table *source) {
	rows, changed, err := table.look(ctx)
	now := s.config.Now()
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		s.report(&s.table, err, "the table of bindings can't be read; answering from the copy")
		return
	}
	s.report(&s.table, nil, "the table of bindings can be read again")
	s.confirmed.Store(now.UnixNano())
	if !changed {
		return
	}
	s.copy.Store(s.config.newView(rows, fromTable, now))
	s.config.Log.Debug("read the table of bindings", "bindings", len(rows))
	err = writeCopy(s.config.Copy, rows, now)
	s.report(&s.file, err, "the local copy of the bindings can't be written")
}

// report remembers what is wrong now, nil for nothing, and logs it when it is news.
func (s *Server) report(fault *fault, err error, text string) {
	before := fault.text.Load()
	if err == nil {
		if fault.text.Swap(nil) != nil {
			s.config.Log.Info("in order again", "after", *before)
		}
		return
	}
	now := err.Error()
	fault.text.Store(&now)
	if before == nil || *before != now {
		s.config.Log.Warn(text, "code", string(tenant.FailureOf(err).Code), "error", err)
	}
}
