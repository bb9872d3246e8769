package provider_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/acctest"
	"github.com/tenantry/terraform-provider-tenant/internal/provider"
)

// TestAccGeneratedConfiguration adopts a whole tenant into another root module with nothing but import blocks: the
// configuration that Terraform generates for it must plan nothing.
func TestAccGeneratedConfiguration(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	applied := acctest.Example(t, "quickstart")
	args := []string{"-var", "tenant_id=northwind", "-var-file", "tenants/northwind.tfvars"}
	require.Zero(t, applied.Run(t, provider.Options{}, "init", "-no-color").Code)
	applied.Apply(t, provider.Options{}, args...)

	adopting := acctest.NewProject(t, `
provider "tenant" {
  installation = "ledgerline"
  embedded     = { path = ".tenant", zone = "app.localhost" }
}
import {
  to = tenant_database.this
  id = "northwind"
}
import {
  to = tenant_domain.this
  id = "northwind"
}
import {
  to = tenant_identity.this
  id = "northwind"
}
import {
  to = tenant_seed.this
  id = "northwind"
}
`)
	require.NoError(t, os.RemoveAll(adopting.Path(acctest.EmbeddedFolder)))
	require.NoError(t, os.CopyFS(adopting.Path(acctest.EmbeddedFolder), os.DirFS(applied.Path(".tenant"))))
	require.NoError(t, os.Remove(adopting.Path(".tenant/key"))) // copied with a mode that is refused
	adopting.WriteKeys(t, acctest.KeyText(acctest.KeyID, 7))

	planned := adopting.Run(t, provider.Options{}, "plan", "-no-color", "-generate-config-out=generated.tf")
	require.Zero(t, planned.Code, planned.Output)
	require.Contains(t, planned.Output, "4 to import, 0 to add, 0 to change, 0 to destroy")
	adopting.Apply(t, provider.Options{})
	adopting.RequireNoChanges(t, provider.Options{})
}
