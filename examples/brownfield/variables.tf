variable "tenant_id" {
  description = "The customer's short name, the first label of its hostname. tenantctl takes it from the file's name."
  type        = string
}

variable "display_name" {
  description = "The customer's name as people read it."
  type        = string
}

variable "administrator" {
  description = "The person who may let others in."
  type = object({
    email = string
    name  = string
  })
}

variable "existing_database" {
  description = "The database that the customer had before; null for a new customer."
  type        = string
  default     = null
}
