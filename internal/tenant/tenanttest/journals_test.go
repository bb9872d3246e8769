package tenanttest_test

import (
	"testing"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

func TestJournal(t *testing.T) {
	t.Parallel()
	tenanttest.Journals(t, func(*testing.T) tenanttest.OpenJournal {
		journal := &tenanttest.Journal{}
		return tenanttest.OpenJournal{
			Tenant: "acme", Journal: journal,
			Next: func(*testing.T) tenant.Journal { return journal },
			Made: func(*testing.T) map[tenant.Object]string { return journal.Made() },
		}
	})
}
