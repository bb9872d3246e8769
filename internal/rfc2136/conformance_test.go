package rfc2136_test

import (
	"testing"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

func TestRecordsBIND(t *testing.T) {
	t.Parallel()
	variable(t, "TENANT_TEST_BIND_ADDR")
	tenanttest.Records(t, func(tb testing.TB) tenanttest.RecordsWorld {
		tb.Helper()
		return newBIND(tb).records(tb)
	})
}

// TestRecordsPowerDNS: the dynamic updates of PowerDNS, not its HTTP API.
func TestRecordsPowerDNS(t *testing.T) {
	t.Parallel()
	variable(t, "TENANT_TEST_POWERDNS_API_URL")
	tenanttest.Records(t, func(tb testing.TB) tenanttest.RecordsWorld {
		tb.Helper()
		return newPowerDNS(tb).records(tb)
	})
}
