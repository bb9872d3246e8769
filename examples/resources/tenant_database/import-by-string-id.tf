import {
  to = tenant_database.acme
  id = "acme"
}
