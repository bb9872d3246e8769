package provider_test

import (
	"fmt"
	"testing"

	"github.com/tenantry/terraform-provider-tenant/internal/acctest"
)

func TestMain(m *testing.M) {
	if err := acctest.Main(m); err != nil {
		panic(fmt.Sprintf("preparing the tests: %v", err))
	}
}
