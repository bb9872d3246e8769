resource "tenant_database" "acme" {
  tenant_id       = "acme"
  plan            = "trial"
  migrations_path = "migrations"
}

resource "tenant_seed" "acme" {
  tenant_id = "acme"

  database = {
    pool      = tenant_database.acme.pool
    isolation = tenant_database.acme.isolation
    name      = tenant_database.acme.name
  }

  # In the order in which they can be written. Numbers are written as text; null is NULL.
  tables = [
    {
      name = "rooms"
      key  = ["id"]
      rows = [{ id = "1", name = "Blue room" }, { id = "2", name = "Green room" }]
    },
    {
      name = "bookings"
      key  = ["id"]
      rows = [{ id = "1", room_id = "1", day = "2026-01-01" }]
    },
  ]
}
