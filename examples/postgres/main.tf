# Ledgerline on PostgreSQL: those who try it out share tables, those who pay have a schema or a database of their own. What
# a plan gets is decided here, by the pools; a tenant only says which plan it has bought.

terraform {
  required_version = ">= 1.11"

  required_providers {
    tenant = {
      source = "registry.terraform.io/tenantry/tenant"
    }
  }
}

provider "tenant" {
  installation = "ledgerline"

  pools = {
    trial   = { postgres = { url = var.trial_url }, isolation = "row", plans = ["trial"] }
    shared  = { postgres = { url = var.shared_url }, isolation = "schema", plans = ["pro"], max_tenants = 2000 }
    premium = { postgres = { url = var.premium_url }, isolation = "database", plans = ["enterprise"], max_tenants = 200 }
  }

  # Identity, DNS and edge are files here; pools of a server's own take the place of the embedded one.
  embedded = {
    path = ".tenant"
    zone = "app.localhost"
  }
}

locals {
  # Shared tables are made by `tenantctl pool migrate trial --migrations shared_migrations`, not by a tenant's apply; it
  # only looks whether they are as this folder says.
  shares_tables   = var.plan == "trial"
  migrations_path = local.shares_tables ? "shared_migrations" : "migrations"
}

module "tenant" {
  source = "../../modules/tenant"

  tenant_id     = var.tenant_id
  display_name  = var.display_name
  plan          = var.plan
  administrator = var.administrator

  deletion_protection = var.deletion_protection
  # Rows can't be put aside: they are deleted, or stay.
  on_destroy      = local.shares_tables ? "drop" : "archive"
  migrations_path = local.migrations_path

  seed = [
    { name = "roles", key = ["id"], rows = [{ id = "owner", name = "Owner" }, { id = "bookkeeper", name = "Bookkeeper" }] },
    { name = "accounts", key = ["code"], rows = [
      { code = "1000", name = "Cash", is_active = "true", opening = "0.00" },
      { code = "3000", name = "Equity", is_active = "true", opening = "0.00" },
    ] },
  ]
}

output "tenant" {
  description = "What the tenant is and has, as far as it is certain."
  value       = module.tenant.tenant
}

output "credentials" {
  description = "What the application's database password is derived from; it holds no secret."
  value       = module.tenant.credentials
}
