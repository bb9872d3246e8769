package provider_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/acctest"
	"github.com/tenantry/terraform-provider-tenant/internal/provider"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func sharedBackends(t *testing.T, p *acctest.Project, shared *provider.Shared, key byte) *tenant.Backends {
	t.Helper()
	var backends *tenant.Backends
	server := provider.NewServer(provider.Options{
		BaseDir: p.Dir, Shared: shared, Capture: func(c provider.Captured) { backends = c.Backends },
	})
	resp, err := server.ConfigureProvider(t.Context(), acctest.Config(fmt.Sprintf(
		`{"installation": "test-eu", "keys": [{"id": "k1", "secret": %q}], %s}`,
		acctest.KeySecret(key),
		embedded,
	)))
	require.NoError(t, err)
	require.Empty(t, resp.Diagnostics)
	return backends
}

func TestRunsShareWhatIsConfiguredAlike(t *testing.T) {
	t.Parallel()
	p, shared := acctest.NewProject(t), provider.NewShared()
	t.Cleanup(func() { require.NoError(t, shared.Close()) })
	runs := make([]*tenant.Backends, 8)
	var all sync.WaitGroup
	for i := range runs {
		all.Go(func() { runs[i] = sharedBackends(t, p, shared, byte(1+i%2)) })
	}
	all.Wait()
	for i, run := range runs {
		same, other := runs[i%2], runs[(i+1)%2]
		require.Same(t, same.Identities, run.Identities)
		require.Same(t, same.Gate, run.Gate)
		require.Same(t, same.Pools[0].Databases, run.Pools[0].Databases)
		require.NotSame(t, other.Identities, run.Identities, "another key sees other objects as its own")
		require.NotSame(t, other.Pools[0].Databases, run.Pools[0].Databases)
	}
	require.NotSame(t, runs[0].Identities, sharedBackends(t, acctest.NewProject(t), shared, 1).Identities)
	require.NotSame(t, runs[0].Identities, sharedBackends(t, p, nil, 1).Identities)
}

func TestClosingTwiceDoesNothing(t *testing.T) {
	t.Parallel()
	p, shared := acctest.NewProject(t), provider.NewShared()
	backends := sharedBackends(t, p, shared, 1)
	_, err := backends.Identities.Read(t.Context(), "acme", tenant.IdentityNames{})
	require.ErrorIs(t, err, tenant.ErrAbsent)
	require.NoError(t, shared.Close())
	require.NoError(t, shared.Close())
}
