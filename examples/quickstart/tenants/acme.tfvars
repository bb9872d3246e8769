# A customer who tries Ledgerline out. The name of this file, acme, is the customer's tenant_id: it becomes the hostname
# acme.app.localhost and never changes.

display_name = "Acme Bakery"
plan         = "trial"
seats        = 3

# This person gets the welcome mail with the link to set a password.
administrator = {
  name  = "Wanda Acheson"
  email = "wanda@acme.example"
}

# The books begin with this fiscal year: the first day of a month.
fiscal_year_start = "2026-01-01"
