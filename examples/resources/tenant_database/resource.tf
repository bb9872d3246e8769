resource "tenant_database" "acme" {
  tenant_id       = "acme"
  plan            = "trial"
  migrations_path = "migrations"
}
