list "tenant_database" "all" {
  provider = tenant
}
