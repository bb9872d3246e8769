terraform {
  required_version = ">= 1.11"

  required_providers {
    tenant = {
      source = "registry.terraform.io/tenantry/tenant"
    }
  }
}

# An ephemeral variable is in no state and in no plan file.
variable "tenant_key" {
  description = "The key that marks objects and derives secrets: 32 random bytes in base64."
  type        = string
  ephemeral   = true
  sensitive   = true
}

provider "tenant" {
  installation = "prod-eu"
  keys         = [{ id = "k1", secret = var.tenant_key }]

  pools = {
    small = { sqlite = { path = ".tenant/small" }, plans = ["trial"], max_tenants = 500 }
    large = { sqlite = { path = ".tenant/large" }, plans = ["pro", "enterprise"] }
  }

  edge = {
    upstreams = {
      enterprise = "10.0.2.10:8080"
      ""         = "10.0.1.10:8080" # all other plans
    }
  }

  # Supplies what is left out above: the identities and the zone.
  embedded = {
    path = ".tenant"
    zone = "app.localhost"
  }
}
