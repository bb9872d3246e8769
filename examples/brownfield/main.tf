# A product that has run without this tool: ten customers use it, each with a database of its own. This root module takes
# them over. Customers who sign tomorrow are onboarded by the very same module, without the line `existing_database`.

terraform {
  required_version = ">= 1.11"

  required_providers {
    tenant = {
      source = "registry.terraform.io/tenantry/tenant"
    }
  }
}

provider "tenant" {
  installation = "bookings"

  embedded = {
    path = ".tenant"
    zone = "app.localhost"
  }
}

module "tenant" {
  source = "../../modules/tenant"

  tenant_id     = var.tenant_id
  display_name  = var.display_name
  plan          = "standard"
  administrator = var.administrator

  migrations_path = "migrations"

  # The old deployment had run the first two migrations when it was taken over.
  claim = var.existing_database == null ? null : { database = var.existing_database, baseline_version = 2 }
}

output "tenant" {
  description = "What the tenant is and has, as far as it is certain."
  value       = module.tenant.tenant
}
