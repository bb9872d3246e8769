# Birch was a customer before: the database customer-birch is there, with its data, and carries nobody's mark.
resource "tenant_database" "birch" {
  tenant_id = "birch"
  plan      = "trial"
  name      = "customer-birch"
  claim     = true

  # The old deployment had run the first two migrations; they are recorded as applied and not run again.
  migrations_path  = "migrations"
  baseline_version = 2
}
