import {
  to = tenant_seed.acme
  identity = {
    tenant_id = "acme"
  }
}
