# What only the module can know is checked here, and tenant_id, which all four resources would refuse. The rest the provider
# checks, with a code and a remedy: a rule said twice costs every run a tenth of its time.

variable "tenant_id" {
  description = "The tenant's immutable name: a DNS label of a-z, 0-9 and '-', at most 63 characters. It is also the first label of the default hostname."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", var.tenant_id))
    error_message = "tenant_id must be 1 to 63 characters of a-z, 0-9 and '-', and must not begin or end with '-'."
  }
}

variable "display_name" {
  description = "The tenant's name as people read it, in the application and in the welcome mail."
  type        = string
  nullable    = false
}

variable "plan" {
  description = "The plan the tenant has bought. It decides which pools may hold the database and which upstream serves the hostnames."
  type        = string
  nullable    = false
}

variable "seats" {
  description = "How many people the plan pays for. Null if the product does not count them."
  type        = number
  default     = null

  validation {
    condition     = var.seats == null ? true : var.seats >= 1 && var.seats <= 1000000000 && floor(var.seats) == var.seats
    error_message = "seats must be a whole number from 1 to 1000000000, or null if seats are not counted."
  }
}

variable "administrator" {
  description = "The first person who may administer the tenant. The email address is the user name, too, and receives the welcome mail."
  type = object({
    email = string
    name  = string
  })
  nullable = false
}

variable "roles" {
  description = "The names of the roles that the tenant's application knows."
  type        = set(string)
  default     = []
  nullable    = false
}

variable "redirect_path" {
  description = "Where the application takes the answer of a login, as a path on each of the tenant's hostnames."
  type        = string
  default     = "/auth/callback"
  nullable    = false
}

variable "claim" {
  description = "Names what the tenant had before it came here, to be taken over instead of made: the database, and the version up to which it has the migrations; the organization and its application's client_id; whether the DNS record of the default hostname is there. What is left out is made new. Null for a new tenant. It can be taken out once it is applied."
  type = object({
    database         = optional(string)
    baseline_version = optional(number)
    organization     = optional(string)
    client_id        = optional(string)
    hostname         = optional(bool)
  })
  default = null
}

variable "credentials_version" {
  description = "Raised by one to rotate the secrets of the tenant's application, at the database and at the identity provider. Null is the first version."
  type        = number
  default     = null
}

variable "custom_hostname" {
  description = "A hostname of the customer's own, such as \"books.example.com\". It is used once the customer has published the records in the output required_records. Null for none."
  type        = string
  default     = null
}

variable "verification_window" {
  description = "How long the custom hostname waits for its proof before it counts as expired, as a duration such as \"72h\". A later proof still verifies it. Null takes the provider's default, 72 hours."
  type        = string
  default     = null
}

variable "ttl" {
  description = "The time to live of the tenant's DNS records, in seconds. Null takes the provider's default, 300."
  type        = number
  default     = null
}

variable "pool" {
  description = "The pool that holds the tenant's database. Null lets the provider choose among those that take the plan; the choice is then kept."
  type        = string
  default     = null
}

variable "migrations_path" {
  description = "The folder of goose migrations that make the tables, relative to the root module. Null for none."
  type        = string
  default     = null
}

variable "deletion_protection" {
  description = "Whether the database refuses to be destroyed. Apply false before a destroy that is meant."
  type        = bool
  default     = true
  nullable    = false
}

variable "on_destroy" {
  description = "What a destroy does to the data: \"archive\" keeps it under another name, closed; \"retain\" leaves it as it is; \"drop\" deletes it. Null takes the provider's default, archive."
  type        = string
  default     = null
}

variable "seed" {
  description = "The rows the tenant can't work without, by table, in the order in which they are written. key names the columns that identify a row; a null value is NULL. Nothing secret may stand here: the rows are kept in the state."
  type = list(object({
    name = string
    key  = list(string)
    rows = list(map(string))
  }))
  default  = []
  nullable = false
}

variable "administrator_row" {
  description = "The administrator's own row in the product's table of users. id_column receives the id that the identity system gave the administrator; columns are the others. The row joins the entry of seed that has the same table, so that its place in the order can be chosen with an entry without rows; without such an entry it comes last. Null for none."
  type = object({
    table     = string
    key       = list(string)
    id_column = string
    columns   = map(string)
  })
  default = null

  validation {
    condition     = var.administrator_row == null ? true : !contains(keys(var.administrator_row.columns), var.administrator_row.id_column)
    error_message = "administrator_row.columns must leave out the id_column: its value comes from the identity system."
  }

  validation {
    condition = var.administrator_row == null ? true : alltrue([
      for table in var.seed : table.name != var.administrator_row.table || table.key == var.administrator_row.key
    ])
    error_message = "administrator_row and the entry of seed for the same table must have the same key."
  }
}

variable "seed_on_edit" {
  description = "What happens to seeded rows that somebody has changed since: \"keep\" leaves them and warns, \"restore\" plans to put the seed's values back, \"error\" refuses the plan."
  type        = string
  default     = "keep"
  nullable    = false
}
