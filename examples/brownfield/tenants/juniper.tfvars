display_name      = "Juniper Hotels"
existing_database = "customer-juniper"

administrator = {
  name  = "Jon Juniper"
  email = "jon@juniper.example"
}
