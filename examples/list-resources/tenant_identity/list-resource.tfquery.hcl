list "tenant_identity" "all" {
  provider = tenant
}
