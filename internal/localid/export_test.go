package localid

import "context"

// Open makes the file and its tables.
func (s *Store) Open(ctx context.Context) error {
	_, err := s.opened(ctx)
	return err
}
