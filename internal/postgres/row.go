package postgres

import (
	"context"
	"errors"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func (b *Backend) sharedRole(kind string) string { return b.installationName("pool", b.config.Pool, kind) }

func (s *session) lookRow(ctx context.Context, at location) (*rowState, error) { return nil, errors.ErrUnsupported }

func (s *session) ensureRow(ctx context.Context, f *found, spec tenant.DatabaseSpec, journal tenant.Journal) (tenant.Database, error) {
	return tenant.Database{}, errors.ErrUnsupported
}

func (s *session) readRow(ctx context.Context, f *found) (tenant.Database, error) {
	return tenant.Database{}, errors.ErrUnsupported
}

func (s *session) dropRow(ctx context.Context, f *found, how tenant.Disposal) error { return errors.ErrUnsupported }

func (s *session) checkPool(ctx context.Context, files tenant.Migrations) ([]tenant.Migration, error) {
	return nil, errors.ErrUnsupported
}

func (b *Backend) MigratePool(ctx context.Context, files tenant.Migrations) ([]tenant.Migration, error) {
	return nil, errors.ErrUnsupported
}

