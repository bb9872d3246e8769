package driver

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Output is the root output tenant, as far as the driver reads it. The mail gets the whole.
type Output struct {
	TenantID        tenant.ID         `json:"tenant_id"`
	DisplayName     string            `json:"display_name"`
	Plan            string            `json:"plan"`
	Hostname        string            `json:"hostname"`
	DefaultHostname string            `json:"default_hostname"`
	CustomHostname  string            `json:"custom_hostname"`
	Verification    tenant.ClaimState `json:"verification"`
	// How the identity is found again; "" in outputs of before is the default name.
	OrganizationName string `json:"organization_name"`
	ClientID         string `json:"client_id"`
	Administrator    struct {
		ID    string `json:"id"`
		Email string `json:"email"`
		Name  string `json:"name"`
	} `json:"administrator"`
	raw json.RawMessage
}

// identityNames are the names of the tenant's organization and application.
func (o Output) identityNames() tenant.IdentityNames {
	return tenant.IdentityNames{Organization: o.OrganizationName, Application: o.ClientID}
}

// Waits returns the custom hostname whose proof is still awaited, or "".
func (o Output) Waits() string {
	if o.CustomHostname != "" && o.Verification == tenant.ClaimPending {
		return o.CustomHostname
	}
	return ""
}

// output reads the output from a run that succeeded. The event "outputs" is Terraform's last word on a success: without it
// nothing is Ready.
func (s *stream) output(id tenant.ID) (Output, error) {
	doing := fmt.Sprintf("reading the output %q of tenant %s", OutputName, id)
	value, ok := s.outputs[OutputName]
	if !s.sawOutputs || !ok {
		return Output{}, tenant.Fail(tenant.CodeInvalidConfig, doing, errors.New("the run did not report it"))
	}
	if value.Sensitive {
		return Output{}, tenant.Fail(tenant.CodeInvalidConfig, doing,
			errors.New("it is sensitive; what a mail may claim can't be a secret"))
	}
	return readOutput(id, value.Value)
}

// readOutput decodes and checks an output, fresh from a run or as the catalog keeps it.
func readOutput(id tenant.ID, raw json.RawMessage) (Output, error) {
	doing := fmt.Sprintf("reading the output %q of tenant %s", OutputName, id)
	out := Output{raw: raw}
	if err := json.Unmarshal(raw, &out); err != nil {
		return Output{}, tenant.Fail(tenant.CodeInvalidConfig, doing, err)
	}
	switch {
	case out.TenantID != id:
		return Output{}, tenant.Fail(tenant.CodeInvalidConfig, doing,
			fmt.Errorf("it is of tenant %q; pass var.tenant_id to the module", out.TenantID))
	case out.Hostname == "" || out.Administrator.Email == "":
		return Output{}, tenant.Fail(tenant.CodeInvalidConfig, doing,
			errors.New("it lacks hostname or administrator.email; use the module's own output"))
	}
	return out, nil
}
