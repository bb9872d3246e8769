package postgres_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/postgres"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

// protected writes a table as a pool of rows needs it.
func protected(name, columns string) string {
	return "CREATE TABLE " + name + " (tenant_id TEXT NOT NULL DEFAULT tenantry_tenant(), " + columns + ");\n" +
		"ALTER TABLE " + name + " ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;\n" +
		"-- +goose StatementBegin\nCREATE POLICY tenant ON " + name + " USING (tenant_id = tenantry_tenant());\n-- +goose StatementEnd"
}

// migrated is a pool that a person migrates before each apply.
type migrated struct{ *postgres.Backend }

func (m migrated) Ensure(
	ctx context.Context,
	spec tenant.DatabaseSpec,
	journal tenant.Journal,
) (tenant.Database, error) {
	if _, err := m.MigratePool(ctx, spec.Migrations); err != nil {
		return tenant.Database{}, err
	}
	return m.Backend.Ensure(ctx, spec, journal)
}

func (w *world) rowFixture(t *testing.T) tenanttest.SeedFixture {
	t.Helper()
	pools := []*postgres.Backend{w.backend(t, w.ours), w.backend(t, w.ours), w.backend(t, w.theirs)}
	out := tenanttest.SeedFixture{
		DatabaseFixture: w.fixture(
			t,
		),
		Seeds:          pools[0].Seeds(),
		SeedsAgain:     pools[1].Seeds(),
		SeedsNeighbour: pools[2].Seeds(),
	}
	out.Databases, out.Again, out.Neighbour = migrated{pools[0]}, migrated{pools[1]}, migrated{pools[2]}
	out.Table = protected
	out.Plant = func(t *testing.T, id tenant.ID, place tenant.Place) {
		t.Helper()
		_, err := pools[0].MigratePool(t.Context(), tenant.Migrations{})
		require.NoError(t, err)
		w.rootExec(t, place.Name, "INSERT INTO tenantry_tenants VALUES ('"+string(id)+"', 'theirs')")
	}
	return out
}

func TestSeedsOfRows(t *testing.T) {
	t.Parallel()
	everywhere(
		t,
		[]tenant.Isolation{tenant.IsolationRow},
		func(t *testing.T, makeWorld func(*testing.T) *world) {
			tenanttest.Seeds(
				t,
				func(t *testing.T) tenanttest.SeedFixture { t.Helper(); return makeWorld(t).rowFixture(t) },
			)
		},
	)
}
