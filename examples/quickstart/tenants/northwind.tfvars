# A large customer with a hostname of its own.

display_name = "Northwind Shipping AB"
plan         = "enterprise"
seats        = 250

administrator = {
  name  = "Nils Öberg"
  email = "nils.oberg@northwind.example"
}

# The customer proves that the name is theirs by publishing a record; `tenantctl status northwind` says which one.
# An apply that finds it goes Online there; after --domain-wait (72 hours, or 0) the tenant goes Online on
# northwind.app.localhost instead, and moves later.
custom_hostname = "books.northwind.example"

fiscal_year_start = "2026-07-01"
base_currency     = "SEK"
