terraform {
  required_version = ">= 1.11"

  required_providers {
    tenant = {
      source = "registry.terraform.io/tenantry/tenant"
    }
  }
}

# Everything in files below .tenant; the key is the file .tenant/key, which `tenantctl init` makes.
provider "tenant" {
  installation = "prod-eu"

  embedded = {
    path = ".tenant"
    zone = "app.localhost"
  }
}
