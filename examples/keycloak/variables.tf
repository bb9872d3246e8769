variable "tenant_id" {
  description = "The customer's short name, the first label of its hostname. tenantctl takes it from the file's name."
  type        = string
}

variable "display_name" {
  description = "The customer's name as people read it."
  type        = string
}

variable "administrator" {
  description = "The person who gets the welcome mail and may let others in."
  type = object({
    email = string
    name  = string
  })
}

variable "deletion_protection" {
  description = "Whether the customer's database refuses to be destroyed. False, applied, comes before a destroy that is meant."
  type        = bool
  default     = true
}

variable "keycloak_url" {
  description = "The address of the Keycloak server, without /realms."
  type        = string
}

variable "keycloak_realm" {
  description = "The realm of all customers."
  type        = string
}

# Secrets are ephemeral: in no state and no plan. Give them as TF_VAR_postgres_url and TF_VAR_keycloak_client_secret.

variable "postgres_url" {
  description = "An administrator with CREATEROLE and CREATEDB, no superuser."
  type        = string
  ephemeral   = true
}

variable "keycloak_client_secret" {
  description = "The secret of the service account tenantry in the realm."
  type        = string
  ephemeral   = true
}
