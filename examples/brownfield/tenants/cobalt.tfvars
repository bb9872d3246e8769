display_name      = "Cobalt Hotels"
existing_database = "customer-cobalt"

administrator = {
  name  = "Cleo Cobalt"
  email = "cleo@cobalt.example"
}
