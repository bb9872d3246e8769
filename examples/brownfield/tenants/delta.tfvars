display_name      = "Delta Hotels"
existing_database = "customer-delta"

administrator = {
  name  = "Dan Delta"
  email = "dan@delta.example"
}
