display_name      = "Harbor Hotels"
existing_database = "customer-harbor"

administrator = {
  name  = "Hugo Harbor"
  email = "hugo@harbor.example"
}
