package tenant_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func TestPools(t *testing.T) {
	t.Parallel()
	pools := tenant.Pools{
		{
			Name: "any",
		},
		{Name: "premium", Plans: []string{"enterprise"}},
		{Name: "shared", Plans: []string{"pro", "team"}},
	}

	found, err := pools.Find("shared")
	require.NoError(t, err)
	require.Equal(t, "shared", found.Name)

	_, err = pools.Find("Shared")
	require.Truef(t, tenant.HasCode(err, tenant.CodeNoPool), "%v", err)
	require.ErrorContains(t, err, `"Shared"`)
	require.ErrorContains(t, err, "any, premium, shared")

	_, err = pools.Find("")
	require.True(t, tenant.HasCode(err, tenant.CodeNoPool))

	names := func(plan string) []string {
		taking, err := pools.For(plan)
		require.NoError(t, err)
		var out []string
		for _, pool := range taking {
			out = append(out, pool.Name)
		}
		return out
	}
	require.Equal(t, []string{"any", "shared"}, names("pro"))
	require.Equal(t, []string{"any", "premium"}, names("enterprise"))
	require.Equal(t, []string{"any"}, names("free"), "a pool without plans takes every plan")
	require.Equal(t, []string{"any"}, names(""))

	_, err = pools[1:].For("free")
	require.Truef(t, tenant.HasCode(err, tenant.CodeNoPool), "%v", err)
	require.ErrorContains(t, err, `"free"`)
	require.ErrorContains(t, err, "premium, shared")

	_, err = tenant.Pools(nil).For("free")
	require.True(t, tenant.HasCode(err, tenant.CodeNoPool))
}
