display_name      = "Ember Hotels"
existing_database = "customer-ember"

administrator = {
  name  = "Eve Ember"
  email = "eve@ember.example"
}
