package driver

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// MigratePool applies migrations to what the tenants of a pool share, as the provider block of the given tenants' root
// module configures it, and returns all that are applied then. Only a pool of isolation row has something to share; for
// another one it fails with CodeInvalidConfig.
func (d *Driver) MigratePool(
	ctx context.Context, tenants []TenantFile, name string, files tenant.Migrations,
) (applied []tenant.Migration, err error) {
	if len(tenants) == 0 {
		return nil, tenant.Fail(tenant.CodeInvalidConfig, "migrating the pool "+name, fmt.Errorf(
			"there is no file in %s/, without which Terraform does not evaluate the provider block",
			TenantsFolder,
		))
	}
	if err := d.initialise(ctx); err != nil {
		return nil, err
	}
	results := d.forEach(ctx, tenants[:1], func(ctx context.Context, slot *worker, file TenantFile) Result {
		backends, err := d.backends(ctx, slot, file)
		if err == nil {
			applied, err = migratePool(ctx, backends.Pools, name, files)
		}
		return Result{Err: err}
	})
	return applied, results[0].Err
}

func migratePool(
	ctx context.Context, pools tenant.Pools, name string, files tenant.Migrations,
) ([]tenant.Migration, error) {
	pool, err := pools.Find(name)
	if err != nil {
		return nil, err
	}
	migrator, ok := pool.Databases.(tenant.PoolMigrator)
	if !ok || pool.Isolation != tenant.IsolationRow {
		return nil, tenant.Fail(tenant.CodeInvalidConfig, "migrating the pool "+name, errors.New(
			"its tenants share no tables: each is migrated by its own apply"))
	}
	return migrator.MigratePool(ctx, files)
}
