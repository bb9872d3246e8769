import {
  to = tenant_seed.acme
  id = "acme"
}
