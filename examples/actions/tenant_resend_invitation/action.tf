# terraform apply -invoke=action.tenant_resend_invitation.acme
action "tenant_resend_invitation" "acme" {
  config {
    tenant_id = "acme"
  }
}
