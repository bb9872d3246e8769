display_name      = "Indigo Hotels"
existing_database = "customer-indigo"

administrator = {
  name  = "Ines Indigo"
  email = "ines@indigo.example"
}
