display_name = "Birch Carpentry"
plan         = "trial"

administrator = {
  name  = "Ben Birch"
  email = "ben@birch.example"
}
