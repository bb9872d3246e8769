import {
  to = tenant_identity.acme
  id = "acme"
}
