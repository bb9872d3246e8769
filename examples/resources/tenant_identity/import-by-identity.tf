import {
  to = tenant_identity.acme
  identity = {
    tenant_id = "acme"
  }
}
