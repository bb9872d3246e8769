# A paying customer. Everything that is not given here has its default in variables.tf.

display_name = "Brightside Landscaping Ltd"
plan         = "pro"
seats        = 12

administrator = {
  name  = "Priya Raman"
  email = "priya.raman@brightside.example"
}

# A fiscal year may begin in any month; these books are kept in pounds.
fiscal_year_start = "2026-04-01"
base_currency     = "GBP"
