resource "tenant_identity" "acme" {
  tenant_id     = "acme"
  display_name  = "Acme Bakery"
  hostnames     = ["acme.app.localhost"]
  administrator = { email = "wanda@acme.example", name = "Wanda Acheson" }
}

# Pass ephemeral.tenant_identity_credentials.acme.client_secret on to a write-only attribute of your secret store.
ephemeral "tenant_identity_credentials" "acme" {
  tenant_id   = "acme"
  client_id   = tenant_identity.acme.client_id
  credentials = tenant_identity.acme.credentials
}
