output "client_id" {
  value = provider::tenant::identity_name("prod-eu", "acme") # prod-eu_acme
}
