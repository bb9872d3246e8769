package tenanttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// ProofsWorld is the customers' DNS for one test, empty at first.
type ProofsWorld struct {
	Open func() tenant.Proofs
	// Publish puts a record into the customers' DNS. data is in presentation form (RFC 1035, section 5.1).
	Publish func(t testing.TB, name, recordType, data string)
	// Withdraw removes all records of that name.
	Withdraw func(t testing.TB, name string)
}

// Proofs runs the suite for tenant.Proofs on worlds that fresh makes.
func Proofs(t *testing.T, fresh func(t testing.TB) ProofsWorld) {
	t.Helper()
	claim := tenant.Claim{
		Number: 7, Tenant: "acme", Hostname: "billing.acme.example", State: tenant.ClaimPending,
		Target: "c7-0123456789abcdef0123.claims.app.example",
	}
	const name, target = "_tenant-challenge.billing.acme.example", "c7-0123456789abcdef0123.claims.app.example"
	cases := map[string]struct {
		name, recordType, data string
		want                   bool
	}{
		"CNAME to the target":     {name, "CNAME", target + ".", true},
		"in another case":         {name, "CNAME", "C7-0123456789ABCDEF0123.Claims.App.Example.", true},
		"TXT that is the target":  {name, "TXT", `"` + target + `"`, true},
		"TXT that holds it":       {name, "TXT", `"tenantry=` + target + `"`, true},
		"CNAME to another target": {name, "CNAME", "c6-0123456789abcdef0123.claims.app.example.", false},
		"CNAME below the target":  {name, "CNAME", "x." + target + ".", false},
		"TXT of something longer": {name, "TXT", `"` + target + `.evil.example"`, false},
		"an address":              {name, "A", "192.0.2.1", false},
		"at the hostname itself":  {"billing.acme.example", "CNAME", target + ".", false},
		"at another hostname":     {"_tenant-challenge.acme.example", "CNAME", target + ".", false},
		"below the name":          {"x." + name, "CNAME", target + ".", false},
	}
	for title, c := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := fresh(t)
			proofs := w.Open()
			requireProof(t, proofs, claim, false)
			w.Publish(t, c.name, c.recordType, c.data)
			requireProof(t, proofs, claim, c.want)
			w.Withdraw(t, c.name)
			requireProof(t, proofs, claim, false)
		})
	}
	t.Run("a claim without a target", func(t *testing.T) {
		t.Parallel()
		w := fresh(t)
		w.Publish(t, "_tenant-challenge.billing.acme.example", "TXT", `""`)
		requireProof(t, w.Open(), tenant.Claim{Hostname: "billing.acme.example"}, false)
	})
}

func requireProof(tb testing.TB, proofs tenant.Proofs, claim tenant.Claim, want bool) {
	tb.Helper()
	seen, err := proofs.Look(tb.Context(), claim)
	require.NoError(tb, err)
	require.Equal(tb, want, seen)
}
