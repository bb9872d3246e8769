# The onboarding of one product: one file in tenants/ for each customer, and this root module, which says what a
# customer gets.

terraform {
  required_version = ">= 1.11"

  required_providers {
    tenant = {
      source = "registry.terraform.io/tenantry/tenant"
    }
  }
}

# Everything in files below .tenant, so that it runs without any server.
provider "tenant" {
  installation = "dev"

  embedded = {
    path = ".tenant"
    zone = "app.localhost"
  }
}

variable "tenant_id" {
  description = "The customer's short name. tenantctl takes it from the name of the file in tenants/."
  type        = string
}

variable "display_name" {
  description = "The customer's name as people read it."
  type        = string
}

variable "plan" {
  description = "What the customer has bought."
  type        = string
  default     = "standard"
}

variable "seats" {
  description = "How many people may use the product."
  type        = number
  default     = 5
}

variable "administrator" {
  description = "The person who gets the welcome mail."
  type = object({
    email = string
    name  = string
  })
}

variable "custom_hostname" {
  description = "A hostname of the customer's own; null for none."
  type        = string
  default     = null
}

variable "deletion_protection" {
  description = "Whether the customer's database refuses to be destroyed. False, applied, comes before a destroy that is meant."
  type        = bool
  default     = true
}

module "tenant" {
  source = "./modules/tenant"

  tenant_id       = var.tenant_id
  display_name    = var.display_name
  plan            = var.plan
  seats           = var.seats
  administrator   = var.administrator
  custom_hostname = var.custom_hostname

  deletion_protection = var.deletion_protection

  roles           = ["owner", "member"]
  migrations_path = "migrations"

  seed = [
    { name = "roles", key = ["id"], rows = [{ id = "owner", name = "Owner" }, { id = "member", name = "Member" }] },
  ]
  administrator_row = {
    table     = "users"
    key       = ["id"]
    id_column = "identity_id"
    columns   = { id = "administrator", email = var.administrator.email, role_id = "owner" }
  }
}

# What `tenantctl` and the welcome mail know of the tenant.
output "tenant" {
  description = "What the tenant is and has, as far as it is certain."
  value       = module.tenant.tenant
}
