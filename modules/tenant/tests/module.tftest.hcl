# What the module does on its own: put the administrator's row in its place, refuse what can't work, tell what it made.
# The provider is a mock; only its schema is real.

mock_provider "tenant" {
  mock_resource "tenant_database" {
    defaults = { pool = "shared", isolation = "schema", name = "test_acme" }
  }
  mock_resource "tenant_domain" {
    defaults = {
      default_hostname = "acme.app.test"
      active_hostname  = "acme.app.test"
      usable_hostnames = ["acme.app.test"]
      verification     = "pending"
    }
  }
  mock_resource "tenant_identity" {
    defaults = { administrator_id = "person-1", organization_id = "organization-1", organization_name = "test_acme", client_id = "client-1" }
  }
}

variables {
  tenant_id     = "acme"
  display_name  = "Acme Bakery"
  plan          = "trial"
  administrator = { name = "Wanda Acheson", email = "wanda@acme.example" }
}

run "with_no_more_than_it_needs" {
  assert {
    condition     = length(tenant_seed.this.tables) == 0
    error_message = "There is no seed unless the caller gives one."
  }
  assert {
    condition     = tenant_database.this.deletion_protection
    error_message = "A tenant's data is protected unless the caller lifts it."
  }
}

run "administrator_row_joins_its_table" {
  variables {
    seed = [
      { name = "roles", key = ["id"], rows = [{ id = "owner" }] },
      { name = "users", key = ["id"], rows = [] },
      { name = "user_roles", key = ["user_id", "role_id"], rows = [{ user_id = "first", role_id = "owner" }] },
    ]
    administrator_row = {
      table     = "users"
      key       = ["id"]
      id_column = "identity_id"
      columns   = { id = "first", email = "wanda@acme.example" }
    }
  }

  assert {
    condition     = tenant_seed.this.tables[*].name == tolist(["roles", "users", "user_roles"])
    error_message = "The order of the tables is the caller's."
  }
  assert {
    condition = tenant_seed.this.tables[1].rows == tolist([
      tomap({ id = "first", email = "wanda@acme.example", identity_id = "person-1" }),
    ])
    error_message = "The row has the caller's columns and the id that the identity system gave."
  }
  assert {
    condition     = output.tenant.seeded == { roles = 1, users = 1, user_roles = 1 }
    error_message = "The output counts the administrator's row."
  }
}

run "administrator_row_without_a_table_comes_last" {
  variables {
    seed = [{ name = "roles", key = ["id"], rows = [{ id = "owner", text = null }] }]
    administrator_row = {
      table     = "people"
      key       = ["identity_id"]
      id_column = "identity_id"
      columns   = { role = "owner" }
    }
  }

  assert {
    condition     = tenant_seed.this.tables[*].name == tolist(["roles", "people"])
    error_message = "The administrator's table comes after those of the seed."
  }
  assert {
    condition     = tenant_seed.this.tables[0].rows[0]["text"] == null
    error_message = "Null stays null."
  }
}

run "tells_what_it_made" {
  variables {
    seats           = 3
    custom_hostname = "books.acme.example"
    roles           = ["viewer", "owner"]
  }

  assert {
    condition = jsonencode(output.tenant) == jsonencode({
      tenant_id         = "acme"
      display_name      = "Acme Bakery"
      plan              = "trial"
      seats             = 3
      hostname          = "acme.app.test"
      url               = "https://acme.app.test"
      default_hostname  = "acme.app.test"
      custom_hostname   = "books.acme.example"
      verification      = "pending"
      required_records  = []
      administrator     = { id = "person-1", email = "wanda@acme.example", name = "Wanda Acheson" }
      organization_id   = "organization-1"
      organization_name = "test_acme"
      client_id         = "client-1"
      roles             = ["owner", "viewer"]
      database          = { pool = "shared", isolation = "schema", name = "test_acme" }
      seeded            = {}
    })
    error_message = "The output is the contract with tenantctl and the mail's templates."
  }
}

run "refuses_a_tenant_id_that_is_no_label" {
  command = plan
  variables { tenant_id = "Acme_Bakery" }
  expect_failures = [var.tenant_id]
}

run "refuses_half_a_seat" {
  command = plan
  variables { seats = 0.5 }
  expect_failures = [var.seats]
}

run "refuses_two_keys_for_one_table" {
  command = plan
  variables {
    seed              = [{ name = "users", key = ["id"], rows = [] }]
    administrator_row = { table = "users", key = ["identity_id"], id_column = "identity_id", columns = {} }
  }
  expect_failures = [var.administrator_row]
}

run "refuses_an_administrator_row_that_gives_the_id_itself" {
  command = plan
  variables {
    administrator_row = { table = "users", key = ["id"], id_column = "id", columns = { id = "1" } }
  }
  expect_failures = [var.administrator_row]
}
