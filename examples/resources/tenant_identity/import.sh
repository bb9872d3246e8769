terraform import tenant_identity.acme acme
