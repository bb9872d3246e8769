resource "tenant_domain" "acme" {
  tenant_id = "acme"
  plan      = "trial"
}

resource "tenant_identity" "acme" {
  tenant_id    = "acme"
  display_name = "Acme Bakery"
  hostnames    = tenant_domain.acme.usable_hostnames
  roles        = ["owner", "viewer"]

  administrator = {
    email = "wanda@acme.example"
    name  = "Wanda Acheson"
  }
}
