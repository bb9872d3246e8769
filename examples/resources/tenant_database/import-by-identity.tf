import {
  to = tenant_database.acme
  identity = {
    tenant_id = "acme"
  }
}
