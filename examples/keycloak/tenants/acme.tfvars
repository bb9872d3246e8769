display_name = "Acme Bakery"

administrator = {
  name  = "Wanda Acheson"
  email = "wanda@acme.example"
}
