resource "tenant_domain" "acme" {
  tenant_id       = "acme"
  plan            = "trial"
  custom_hostname = "books.acme.example"
}

# What the customer has to publish in their own DNS. Until then the tenant works on its default hostname.
output "required_records" {
  value = tenant_domain.acme.required_records
}
