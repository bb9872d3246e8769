package dnsproof_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func TestTraffic(t *testing.T) {
	t.Parallel()
	w := newWorld(t, delegate, "edge A 192.0.2.81", "edge AAAA 2001:db8::81", "edge A 192.0.2.80")
	zone := w.customer(
		t,
		"@ A 192.0.2.90",
		"www CNAME hop",
		"hop CNAME edge."+w.parent+".",
		"direct AAAA 2001:db8::1",
		"text TXT x",
		"dangling CNAME gone."+w.parent+".",
		"lost CNAME x.unknown.invalid.",
		"loop CNAME loop",
		"Upper CNAME WWW",
	)
	edge := []string{"192.0.2.80", "192.0.2.81", "2001:db8::81"}
	cases := map[string]tenant.Traffic{
		zone:          {Apex: true, Addresses: []string{"192.0.2.90"}},
		"www." + zone: {Chain: []string{"hop." + zone, "edge." + w.parent}, Addresses: edge},
		"upper." + zone: {
			Chain:     []string{"www." + zone, "hop." + zone, "edge." + w.parent},
			Addresses: edge,
		},
		"direct." + zone:    {Addresses: []string{"2001:db8::1"}},
		"text." + zone:      {},
		"absent." + zone:    {},
		"dangling." + zone:  {Chain: []string{"gone." + w.parent}},
		"lost." + zone:      {Chain: []string{"x.unknown.invalid"}},
		"gone." + w.parent:  {},
		"a.b.c." + w.parent: {},
		w.parent:            {Apex: true},
		"edge." + w.parent:  {Addresses: edge},
	}
	for hostname, want := range cases {
		seen, err := w.open().LookTraffic(t.Context(), hostname)
		require.NoError(t, err, hostname)
		require.Equal(t, want.Apex, seen.Apex, hostname)
		require.Equal(t, want.Chain, seen.Chain, hostname)
		require.ElementsMatch(t, want.Addresses, seen.Addresses, hostname)
	}
	_, err := w.open().LookTraffic(t.Context(), "loop."+zone)
	requireUnavailable(t, err, "loop."+zone) // BIND answers it with SERVFAIL
}
