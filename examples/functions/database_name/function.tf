output "database" {
  value = provider::tenant::database_name("prod-eu", "acme") # prod-eu_acme
}
