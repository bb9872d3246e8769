import {
  to = tenant_domain.acme
  identity = {
    tenant_id = "acme"
  }
}
