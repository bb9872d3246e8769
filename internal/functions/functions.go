// Package functions holds the provider's functions: the names that follow from installation and tenant_id, so that a
// configuration, a script or another team's module can know them without asking any system.
package functions

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/function"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// All returns the constructors of the functions.
func All() []func() function.Function {
	return []func() function.Function{newDatabaseName, newIdentityName, newDefaultHostname, newIsTenantID}
}

func newDatabaseName() function.Function {
	return named{
		name:    "database_name",
		summary: "Name of a tenant's database or schema",
		description: "The name that `tenant_database` gives a tenant's database (or schema) in an installation. A long " +
			"one is cut and ends in a hash of the whole.",
		parameters: []string{"installation", "tenant_id"},
		result: func(installation, id string) (string, error) {
			return checked(installation, id, tenant.DatabaseName)
		},
	}
}

func newIdentityName() function.Function {
	return named{
		name:    "identity_name",
		summary: "Name of a tenant's organization and client id of its application",
		description: "The name that `tenant_identity` gives a tenant's organization in an installation, which is the " +
			"`client_id` of its application, too.",
		parameters: []string{"installation", "tenant_id"},
		result: func(installation, id string) (string, error) {
			return checked(installation, id, tenant.IdentityName)
		},
	}
}

func newDefaultHostname() function.Function {
	return named{
		name:    "default_hostname",
		summary: "Default hostname of a tenant",
		description: "The hostname that `tenant_domain` gives a tenant under the zone of the installation. The zone is " +
			"written without a dot at its end.",
		parameters: []string{"zone", "tenant_id"},
		result: func(zone, id string) (string, error) {
			parsed, err := tenant.ParseID(id)
			return tenant.DefaultHostname(parsed, strings.TrimSuffix(zone, ".")), err
		},
	}
}

func checked(installation, id string, name func(string, tenant.ID) string) (string, error) {
	if _, err := tenant.ParseInstallation(installation); err != nil {
		return "", err
	}
	parsed, err := tenant.ParseID(id)
	return name(installation, parsed), err
}

// named is a function of two texts, the second of which is a tenant_id.
type named struct {
	name, summary, description string
	parameters                 []string
	result                     func(first, id string) (string, error)
}

var _ function.Function = named{}

// Metadata names the function.
func (n named) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = n.name
}

// Definition describes the function.
func (n named) Definition(
	_ context.Context,
	_ function.DefinitionRequest,
	resp *function.DefinitionResponse,
) {
	resp.Definition = function.Definition{
		Summary: n.summary, MarkdownDescription: n.description, Return: function.StringReturn{},
	}
	for _, parameter := range n.parameters {
		resp.Definition.Parameters = append(resp.Definition.Parameters, parameterOf(parameter))
	}
}

// Run computes the name, or says which argument is at fault.
func (n named) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var first, id string
	if resp.Error = req.Arguments.Get(ctx, &first, &id); resp.Error != nil {
		return
	}
	result, err := n.result(first, id)
	if err != nil {
		resp.Error = function.NewFuncError(err.Error())
		return
	}
	resp.Error = resp.Result.Set(ctx, result)
}

func parameterOf(name string) function.Parameter {
	descriptions := map[string]string{
		"installation": "The installation, as in the provider's configuration.",
		"tenant_id":    "The tenant's id.",
		"zone":         "The DNS zone of the installation, such as `app.example.com`.",
	}
	return function.StringParameter{Name: name, MarkdownDescription: descriptions[name]}
}

func newIsTenantID() function.Function { return isTenantID{} }

// isTenantID answers for a variable's validation block.
type isTenantID struct{}

var _ function.Function = isTenantID{}

// Metadata names the function.
func (isTenantID) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "is_tenant_id"
}

// Definition describes the function.
func (isTenantID) Definition(
	_ context.Context,
	_ function.DefinitionRequest,
	resp *function.DefinitionResponse,
) {
	resp.Definition = function.Definition{
		Summary: "Whether a text can be a tenant_id",
		MarkdownDescription: "True for a DNS label of 1–63 of a-z, 0-9 and '-' that is not reserved (`www`, `api`, …): for " +
			"the validation of a variable.",
		Parameters: []function.Parameter{parameterOf("tenant_id")},
		Return:     function.BoolReturn{},
	}
}

// Run never fails.
func (isTenantID) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var id string
	if resp.Error = req.Arguments.Get(ctx, &id); resp.Error != nil {
		return
	}
	_, err := tenant.ParseID(id)
	resp.Error = resp.Result.Set(ctx, err == nil)
}
