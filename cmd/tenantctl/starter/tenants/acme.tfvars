# The name of this file, acme, is the customer's tenant_id: it becomes the hostname acme.app.localhost and never
# changes. Copy the file to onboard another customer.

display_name = "Acme Bakery"

administrator = {
  name  = "Wanda Acheson"
  email = "wanda@acme.example"
}
