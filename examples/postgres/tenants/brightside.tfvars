display_name = "Brightside Landscaping Ltd"
plan         = "pro"

administrator = {
  name  = "Priya Raman"
  email = "priya.raman@brightside.example"
}
