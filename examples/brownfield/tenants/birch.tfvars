display_name      = "Birch Hotels"
existing_database = "customer-birch"

administrator = {
  name  = "Ben Birch"
  email = "ben@birch.example"
}
