display_name = "Brightside Landscaping Ltd"

administrator = {
  name  = "Priya Raman"
  email = "priya.raman@brightside.example"
}
