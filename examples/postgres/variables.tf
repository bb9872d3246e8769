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
}

variable "administrator" {
  description = "The person who gets the welcome mail and may let others in."
  type = object({
    email = string
    name  = string
  })
}

variable "deletion_protection" {
  description = "Whether the customer's data refuses to be destroyed. False, applied, comes before a destroy that is meant."
  type        = bool
  default     = true
}

# An administrator on each server, with CREATEROLE and CREATEDB, no superuser; its database is the one that is shared. They are
# ephemeral: in no state and no plan. Give them as TF_VAR_trial_url and so on.

variable "trial_url" {
  description = "The server and shared database of those who try it out."
  type        = string
  ephemeral   = true
}

variable "shared_url" {
  description = "The server and database that holds a schema for each customer on plan pro."
  type        = string
  ephemeral   = true
}

variable "premium_url" {
  description = "The server that holds a database for each customer on plan enterprise."
  type        = string
  ephemeral   = true
}
