data "tenant_migrations" "release" {
  path = "migrations"
}

output "newest_migration" {
  value = data.tenant_migrations.release.version
}
