# The rows that a new set of books can't work without, in the order in which they are written.

locals {
  seed = [
    { name = "settings", key = ["name"], rows = local.settings },
    { name = "roles", key = ["id"], rows = [for id, text in local.roles : { id = id, name = title(id), description = text }] },
    { name = "users", key = ["id"], rows = [] }, # the place of the administrator's row
    { name = "user_roles", key = ["user_id", "role_id"], rows = [{ user_id = local.administrator_id, role_id = "owner" }] },
    { name = "currencies", key = ["code"], rows = [for code, name in local.currencies : { code = code, name = name }] },
    { name = "accounts", key = ["code"], rows = local.accounts },
    { name = "tax_codes", key = ["code"], rows = local.tax_codes },
    { name = "fiscal_years", key = ["id"], rows = [local.fiscal_year] },
    { name = "fiscal_periods", key = ["id"], rows = local.fiscal_periods },
    { name = "journals", key = ["code"], rows = local.journals },
  ]

  roles = {
    owner      = "May do everything, and decides who else may use the books."
    accountant = "Writes and posts entries, issues invoices, closes periods."
    viewer     = "Reads everything and changes nothing."
  }

  # Our own id of the administrator never changes, whatever id the identity system gives.
  administrator_id = "administrator"
  administrator_row = {
    table     = "users"
    key       = ["id"]
    id_column = "identity_id"
    columns = {
      id    = local.administrator_id
      email = var.administrator.email
      name  = var.administrator.name
    }
  }

  settings = [
    { name = "base_currency", value = var.base_currency },
    { name = "company_name", value = var.display_name },
    { name = "invoice_number_format", value = "{year}-{number}" },
  ]

  currencies = {
    CHF = "Swiss franc"
    EUR = "Euro"
    GBP = "Pound sterling"
    SEK = "Swedish krona"
    USD = "United States dollar"
  }

  # An empty field of the file is NULL.
  accounts = [
    for account in csvdecode(file("${path.module}/chart_of_accounts.csv")) :
    { for column, value in account : column => value == "" ? null : value }
  ]

  tax_codes = [
    { code = "S", name = "Sales, standard rate", rate_percent = "20", account = "2200" },
    { code = "R", name = "Sales, reduced rate", rate_percent = "5", account = "2200" },
    { code = "Z", name = "Sales, zero rate", rate_percent = "0", account = "2200" },
    { code = "P", name = "Purchases, standard rate", rate_percent = "20", account = "1450" },
  ]

  journals = [
    { code = "GEN", name = "General", kind = "general", default_account = null },
    { code = "SAL", name = "Sales", kind = "sales", default_account = "1200" },
    { code = "PUR", name = "Purchases", kind = "purchases", default_account = "2110" },
    { code = "BNK", name = "Bank", kind = "bank", default_account = "1120" },
    { code = "CSH", name = "Cash", kind = "cash", default_account = "1110" },
  ]
}

# The first fiscal year and its twelve periods. Their ids hold no date, so that a start that was wrong can be mended.
locals {
  start_year  = tonumber(substr(var.fiscal_year_start, 0, 4))
  start_month = tonumber(substr(var.fiscal_year_start, 5, 2))

  # The first days of thirteen months: the last one is the first day after the year.
  month_starts = [
    for n in range(local.start_month - 1, local.start_month + 12) :
    format("%04d-%02d-01", local.start_year + floor(n / 12), n % 12 + 1)
  ]
  month_ends = [
    for next in slice(local.month_starts, 1, 13) :
    formatdate("YYYY-MM-DD", timeadd("${next}T00:00:00Z", "-24h"))
  ]

  fiscal_year = {
    id        = "first"
    name      = local.start_month == 1 ? "${local.start_year}" : "${local.start_year}/${local.start_year + 1}"
    first_day = local.month_starts[0]
    last_day  = local.month_ends[11]
  }

  fiscal_periods = [
    for n in range(12) : {
      id             = format("first-%02d", n + 1)
      fiscal_year_id = local.fiscal_year.id
      number         = n + 1
      first_day      = local.month_starts[n]
      last_day       = local.month_ends[n]
    }
  ]
}
