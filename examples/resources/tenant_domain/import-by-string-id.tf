import {
  to = tenant_domain.acme
  id = "acme"
}
