display_name      = "Granite Hotels"
existing_database = "customer-granite"

administrator = {
  name  = "Gina Granite"
  email = "gina@granite.example"
}
