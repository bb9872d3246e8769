list "tenant_domain" "all" {
  provider = tenant
}
