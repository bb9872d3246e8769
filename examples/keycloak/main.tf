# Ledgerline on real systems: PostgreSQL holds a database for each customer, Keycloak their organizations, applications and
# people, in one realm. realm.json beside this file is a realm as the provider needs it; import it, or compare yours with it.

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
    all = { postgres = { url = var.postgres_url }, isolation = "database" }
  }

  identity = {
    keycloak = {
      url           = var.keycloak_url
      realm         = var.keycloak_realm
      client_id     = "tenantry"
      client_secret = var.keycloak_client_secret
    }
  }

  # DNS and edge are files here.
  embedded = {
    path = ".tenant"
    zone = "app.localhost"
  }
}

module "tenant" {
  source = "../../modules/tenant"

  tenant_id           = var.tenant_id
  display_name        = var.display_name
  plan                = "standard"
  administrator       = var.administrator
  deletion_protection = var.deletion_protection

  roles           = ["owner", "bookkeeper"]
  migrations_path = "migrations"
}

output "tenant" {
  description = "What the tenant is and has, as far as it is certain."
  value       = module.tenant.tenant
}
