terraform import tenant_domain.acme acme
