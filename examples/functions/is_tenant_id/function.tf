variable "tenant_id" {
  type    = string
  default = "acme"

  validation {
    condition     = provider::tenant::is_tenant_id(var.tenant_id)
    error_message = "tenant_id must be a DNS label that is not reserved."
  }
}
