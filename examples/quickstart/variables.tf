# What differs from customer to customer. tenants/NAME.tfvars gives the values; NAME itself is the tenant_id.

variable "tenant_id" {
  description = "The customer's short name, the first label of its hostname. tenantctl takes it from the file's name."
  type        = string
}

variable "display_name" {
  description = "The customer's name as people read it."
  type        = string
}

variable "plan" {
  description = "What the customer has bought: trial, pro or enterprise."
  type        = string

  validation {
    condition     = contains(["trial", "pro", "enterprise"], var.plan)
    error_message = "plan must be trial, pro or enterprise."
  }
}

variable "seats" {
  description = "How many people may use the books."
  type        = number
  default     = 5
}

variable "administrator" {
  description = "The person who gets the welcome mail and may let others in."
  type = object({
    email = string
    name  = string
  })
}

variable "custom_hostname" {
  description = "A hostname of the customer's own for its books; null for none."
  type        = string
  default     = null
}

variable "deletion_protection" {
  description = "Whether the customer's database refuses to be destroyed. False, applied, comes before a destroy that is meant."
  type        = bool
  default     = true
}

variable "base_currency" {
  description = "The currency of the books, as an ISO 4217 code."
  type        = string
  default     = "EUR"

  validation {
    condition     = contains(keys(local.currencies), var.base_currency)
    error_message = "base_currency must be one of the currencies in seed.tf: ${join(", ", keys(local.currencies))}."
  }
}

variable "fiscal_year_start" {
  description = "The first day of the first fiscal year, such as \"2026-01-01\": always the first of a month."
  type        = string

  validation {
    condition     = can(regex("^[0-9]{4}-(0[1-9]|1[0-2])-01$", var.fiscal_year_start))
    error_message = "fiscal_year_start must be the first day of a month, written as YYYY-MM-01."
  }
}
