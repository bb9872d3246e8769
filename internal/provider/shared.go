package provider

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// Shared keeps opened backends by what they were configured with, keys included, so that the runs of a fleet use the
// same pools. It is safe for concurrent use.
type Shared struct {
	mu     sync.Mutex
	opened map[string]any
	order  []any // as opened, to be closed in reverse
}

// NewShared returns an empty Shared.
func NewShared() *Shared { return &Shared{opened: map[string]any{}} }

// Close closes every backend. None of them may be used afterwards; a second call does nothing.
func (s *Shared) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, backend := range slices.Backward(s.order) {
		if closer, ok := backend.(io.Closer); ok {
			errs = append(errs, closer.Close())
		}
	}
	s.opened, s.order = map[string]any{}, nil
	return errors.Join(errs...)
}

// sharedBackend returns the backend of that type and configuration, making it if it is the first time.
func sharedBackend[T any](s *Shared, open func() T, configuration ...string) T {
	var zero T
	key := strings.Join(append([]string{typeName(zero)}, configuration...), "\x00")
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.opened[key].(T); ok {
		return found
	}
	backend := open()
	s.opened[key] = backend
	s.order = append(s.order, backend)
	return backend
}

// typeName tells two backends apart that are configured alike.
func typeName(backend any) string { return fmt.Sprintf("%T", backend) }
