output "hostname" {
  value = provider::tenant::default_hostname("app.localhost", "acme") # acme.app.localhost
}
