display_name = "Northwind Shipping AB"
plan         = "enterprise"

administrator = {
  name  = "Nils Öberg"
  email = "nils.oberg@northwind.example"
}
