package resources

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// ImportState finds the tenant's database in any of the pools by its mark, whatever it is called.
func (r *databaseResource) ImportState(
	ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse,
) {
	id, ok := r.imported(ctx, tenant.StepDatabase, req, &resp.Diagnostics)
	if !ok {
		return
	}
	database, err := r.findDatabase(ctx, id)
	if err != nil {
		addError(&resp.Diagnostics, tenant.StepDatabase, notImported(id, "database", err))
		return
	}
	imported := importedDatabase(id)
	imported.CredentialsVersion = types.Int64Value(max(1, database.Password.Version))
	resp.Diagnostics.Append(resp.State.Set(ctx, imported.with(database))...)
	identify(ctx, resp.Identity, types.StringValue(string(id)), &resp.Diagnostics)
}

// findDatabase looks under the name that the tenant's database has by default, then through the marks of each pool.
func (c *configured) findDatabase(ctx context.Context, id tenant.ID) (tenant.Database, error) {
	pools := c.backends().Pools
	_, own, err := findOwn(ctx, pools, databaseModel{TenantID: types.StringValue(string(id))})
	if own != nil {
		return *own, nil
	}
	for _, pool := range pools {
		lister, ok := pool.Databases.(tenant.DatabaseLister)
		if !ok {
			continue
		}
		all, listed := lister.ListDatabases(ctx)
		if database, there := all[id]; there {
			database.Place.Pool = pool.Name
			return database, nil
		}
		err = errors.Join(err, listed)
	}
	if err != nil {
		return tenant.Database{}, err
	}
	return tenant.Database{}, tenant.ErrAbsent
}

// importedDatabase is a database of which only the tenant is known: what no system remembers is as its defaults say.
func importedDatabase(id tenant.ID) databaseModel {
	return databaseModel{
		TenantID:           types.StringValue(string(id)),
		Extensions:         types.SetNull(types.StringType),
		DeletionProtection: types.BoolValue(true),
		OnDestroy:          types.StringValue(string(tenant.Archive)),
		ForceDestroy:       types.BoolValue(false),
		OnDrift:            types.StringValue(onDriftError),
		Credentials:        types.ObjectUnknown(credentialsType()),
		Migrations:         types.MapNull(types.StringType),
		Timeouts:           noTimeouts(),
	}
}
