package zonefile_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
	"github.com/tenantry/terraform-provider-tenant/internal/zonefile"
)

func TestProofs(t *testing.T) {
	t.Parallel()
	tenanttest.Proofs(t, func(tb testing.TB) tenanttest.ProofsWorld {
		tb.Helper()
		path := filepath.Join(tb.TempDir(), "proofs.zone")
		return tenanttest.ProofsWorld{
			Open: func() tenant.Proofs { return zonefile.NewProofs(path) },
			Publish: func(tb testing.TB, name, recordType, data string) {
				tb.Helper()
				before, _ := os.ReadFile(path)
				write(tb, path, string(before)+name+". 60 IN "+recordType+" "+data+"\n")
			},
			Withdraw: func(tb testing.TB, name string) {
				tb.Helper()
				lines := strings.SplitAfter(read(tb, path), "\n")
				write(tb, path, strings.Join(slices.DeleteFunc(lines, func(line string) bool {
					return strings.HasPrefix(line, name+".")
				}), ""))
			},
		}
	})
}

// TestProofForms: a line as somebody types it after reading what is required of them.
func TestProofForms(t *testing.T) {
	t.Parallel()
	claim := tenant.Claim{Hostname: "billing.acme.example", Target: "c1-x.claims.app.example"}
	for _, line := range []string{
		"_tenant-challenge.billing.acme.example CNAME c1-x.claims.app.example",
		"_tenant-challenge.Billing.ACME.example. IN CNAME c1-x.claims.app.example.",
		"$ORIGIN acme.example.\n_tenant-challenge.billing 60 TXT c1-x.claims.app.example.",
		"; proofs\n\n_tenant-challenge.billing.acme.example\n\t",
	} {
		path := filepath.Join(t.TempDir(), "proofs.zone")
		write(t, path, line)
		seen, err := zonefile.NewProofs(path).Look(t.Context(), claim)
		if strings.HasSuffix(line, "\t") {
			require.True(t, tenant.HasCode(err, tenant.CodeInvalidConfig), "%v", err)
			require.ErrorContains(t, err, "line 3")
			require.ErrorContains(t, err, path)
			continue
		}
		require.NoError(t, err)
		require.True(t, seen, line)
	}
}
