# What waits for what follows from the values alone: database and domain start at once, the identity needs the domain's
# hostnames, the seed needs the database and the administrator's id.

resource "tenant_database" "this" {
  tenant_id           = var.tenant_id
  plan                = var.plan
  pool                = var.pool
  migrations_path     = var.migrations_path
  deletion_protection = var.deletion_protection
  on_destroy          = var.on_destroy
  credentials_version = var.credentials_version

  name             = try(var.claim.database, null)
  claim            = try(var.claim.database, null) == null ? null : true
  baseline_version = try(var.claim.baseline_version, null)
}

resource "tenant_domain" "this" {
  tenant_id           = var.tenant_id
  plan                = var.plan
  custom_hostname     = var.custom_hostname
  ttl                 = var.ttl
  verification_window = var.verification_window
  claim               = try(var.claim.hostname, null)
}

resource "tenant_identity" "this" {
  tenant_id           = var.tenant_id
  display_name        = var.display_name
  hostnames           = tenant_domain.this.usable_hostnames
  redirect_path       = var.redirect_path
  roles               = var.roles
  administrator       = var.administrator
  credentials_version = var.credentials_version

  organization_name = try(var.claim.organization, null)
  client_id         = try(var.claim.client_id, null)
  claim             = try(var.claim.organization, null) == null ? null : true
}

resource "tenant_seed" "this" {
  tenant_id = var.tenant_id
  on_edit   = var.seed_on_edit
  tables    = local.tables

  database = {
    pool      = tenant_database.this.pool
    isolation = tenant_database.this.isolation
    name      = tenant_database.this.name
  }
}

locals {
  administrator_rows = var.administrator_row == null ? [] : [{
    name = var.administrator_row.table
    key  = var.administrator_row.key
    rows = [merge(
      var.administrator_row.columns,
      { (var.administrator_row.id_column) = tenant_identity.this.administrator_id },
    )]
  }]

  # The administrator's row joins its table where seed has that table, and comes last where it does not.
  tables = concat(
    [for table in var.seed : merge(table, {
      rows = concat(table.rows, flatten([for extra in local.administrator_rows : extra.rows if extra.name == table.name]))
    })],
    [for extra in local.administrator_rows : extra if !contains(var.seed[*].name, extra.name)],
  )
}
