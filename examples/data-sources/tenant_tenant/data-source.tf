# A tenant that another root module has made.
data "tenant_tenant" "acme" {
  tenant_id = "acme"
}

output "where_acme_works" {
  value = data.tenant_tenant.acme.default_hostname
}
