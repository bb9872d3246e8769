display_name      = "Fjord Hotels"
existing_database = "customer-fjord"

administrator = {
  name  = "Finn Fjord"
  email = "finn@fjord.example"
}
