terraform import tenant_seed.acme acme
