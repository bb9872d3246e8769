terraform import tenant_database.acme acme
