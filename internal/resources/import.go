package resources

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// IdentitySchema is the same on all four resources: a tenant has one of each, and its id never changes.
func (*configured) IdentitySchema(
	_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse,
) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"tenant_id": identityschema.StringAttribute{
			RequiredForImport: true, Description: "The tenant's id.",
		},
	}}
}

// identify writes the identity of a resource. Terraform before 1.12 does not ask for one.
func identify(ctx context.Context, into *tfsdk.ResourceIdentity, id types.String, diags *diag.Diagnostics) {
	if into != nil {
		diags.Append(into.SetAttribute(ctx, path.Root("tenant_id"), id)...)
	}
}

// imported returns the tenant that an import names, by the text behind terraform import or by identity, once the
// provider is configured; false after adding the error.
func (c *configured) imported(
	ctx context.Context, step tenant.Step, req resource.ImportStateRequest, diags *diag.Diagnostics,
) (tenant.ID, bool) {
	text := req.ID
	if text == "" && req.Identity != nil {
		diags.Append(req.Identity.GetAttribute(ctx, path.Root("tenant_id"), &text)...)
	}
	id, err := tenant.ParseID(text)
	switch {
	case err != nil:
		err = tenant.Fail(tenant.CodeInvalidTenantID, fmt.Sprintf("importing %q", text),
			fmt.Errorf("the id to import is the tenant_id: %w", err))
	case c.backends() == nil:
		err = errNotConfigured("importing tenant " + text)
	}
	addError(diags, step, err)
	return id, !diags.HasError()
}

// notImported tells an import of what is not there.
func notImported(id tenant.ID, what string, err error) error {
	if !errors.Is(err, tenant.ErrAbsent) {
		return err
	}
	return tenant.Fail(
		tenant.CodeNotFound,
		fmt.Sprintf("importing the %s of tenant %s", what, id),
		errors.New(
			"nothing carries the mark of this tenant in this installation; an object of another making is "+
				"taken over with claim = true, not by an import",
		),
	)
}
