output "tenant" {
  description = "All that may be said about the tenant once the apply has succeeded. A refresh alone never changes it."

  value = {
    tenant_id    = var.tenant_id
    display_name = var.display_name
    plan         = var.plan
    seats        = var.seats

    hostname         = tenant_domain.this.active_hostname
    url              = "https://${tenant_domain.this.active_hostname}"
    default_hostname = tenant_domain.this.default_hostname
    custom_hostname  = var.custom_hostname
    verification     = tenant_domain.this.verification
    required_records = tenant_domain.this.required_records

    administrator = {
      id    = tenant_identity.this.administrator_id
      email = var.administrator.email
      name  = var.administrator.name
    }
    organization_id   = tenant_identity.this.organization_id
    organization_name = tenant_identity.this.organization_name
    client_id         = tenant_identity.this.client_id
    roles             = sort(var.roles)

    database = {
      pool      = tenant_database.this.pool
      isolation = tenant_database.this.isolation
      name      = tenant_database.this.name
    }
    seeded = { for table in tenant_seed.this.tables : table.name => length(table.rows) }
  }
}

output "credentials" {
  description = "What the ephemeral resources tenant_database_credentials and tenant_identity_credentials need to derive the secrets of the tenant's application. It holds no secret."

  value = {
    database = tenant_database.this.credentials
    identity = tenant_identity.this.credentials
  }
}
