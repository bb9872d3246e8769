display_name      = "Aurora Hotels"
existing_database = "customer-aurora"

administrator = {
  name  = "Ada Aurora"
  email = "ada@aurora.example"
}
