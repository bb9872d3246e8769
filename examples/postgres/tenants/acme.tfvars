display_name = "Acme Bakery"
plan         = "trial"

administrator = {
  name  = "Wanda Acheson"
  email = "wanda@acme.example"
}
