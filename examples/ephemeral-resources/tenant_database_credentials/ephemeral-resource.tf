variable "credentials" {
  description = "The output credentials.database of the tenant's own root module. It holds no secret."
  type = object({
    username    = string
    key_id      = string
    version     = number
    incarnation = string
    fingerprint = string
  })
}

# Pass ephemeral.tenant_database_credentials.acme.password on to a write-only attribute of your secret store.
ephemeral "tenant_database_credentials" "acme" {
  tenant_id   = "acme"
  credentials = var.credentials
}
