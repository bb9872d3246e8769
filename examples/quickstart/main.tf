# Ledgerline is accounting software; each of its customers is a tenant. This folder is the whole of its onboarding:
# one file in tenants/ for each customer, and this root module, which says what a customer gets.

terraform {
  required_version = ">= 1.11"

  required_providers {
    tenant = {
      source = "registry.terraform.io/tenantry/tenant"
    }
  }
}

# Everything in files below .tenant, so that it runs without any server. Pools, an identity provider and a DNS zone of
# your own take their place one by one; the module below stays as it is.
provider "tenant" {
  installation = "ledgerline"

  embedded = {
    path = ".tenant"
    zone = "app.localhost"
  }
}

module "tenant" {
  source = "../../modules/tenant"

  tenant_id       = var.tenant_id
  display_name    = var.display_name
  plan            = var.plan
  seats           = var.seats
  administrator   = var.administrator
  custom_hostname = var.custom_hostname

  deletion_protection = var.deletion_protection
  roles               = keys(local.roles)

  migrations_path   = "migrations"
  seed              = local.seed
  administrator_row = local.administrator_row
}

# What `tenantctl` and the welcome mail know of the tenant.
output "tenant" {
  description = "What the tenant is and has, as far as it is certain."
  value       = module.tenant.tenant
}
