package resources

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Terraform 1.14 and newer can invoke actions; older ones never ask.
var _ action.ActionWithConfigure = (*resendInvitation)(nil)

// NewResendInvitation returns the action tenant_resend_invitation.
func NewResendInvitation() action.Action { return &resendInvitation{} }

type resendInvitation struct{ configured }

type resendModel struct {
	TenantID types.String `tfsdk:"tenant_id"`
}

// Metadata names the action.
func (*resendInvitation) Metadata(
	_ context.Context,
	req action.MetadataRequest,
	resp *action.MetadataResponse,
) {
	resp.TypeName = req.ProviderTypeName + "_resend_invitation"
}

// Configure takes the provider's Meta.
func (a *resendInvitation) Configure(
	_ context.Context, req action.ConfigureRequest, resp *action.ConfigureResponse,
) {
	a.meta = metaOf(req.ProviderData, &resp.Diagnostics)
}

// Schema describes the action.
func (*resendInvitation) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Has the identity provider mail a tenant's first administrator a way in once more. It is for those " +
			"who never got in; the welcome mail itself is resent by `tenantctl mail --resend`.",
		Attributes: map[string]schema.Attribute{
			"tenant_id": schema.StringAttribute{Required: true, MarkdownDescription: "The tenant's id."},
		},
	}
}

// Invoke asks the identity system for its own mail: an action hands its caller nothing, least of all a link.
func (a *resendInvitation) Invoke(
	ctx context.Context,
	req action.InvokeRequest,
	resp *action.InvokeResponse,
) {
	var model resendModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	id, err := tenant.ParseID(model.TenantID.ValueString())
	if err == nil {
		err = a.mail(ctx, id)
	}
	addError(&resp.Diagnostics, tenant.StepIdentity, err)
}

func (a *resendInvitation) mail(ctx context.Context, id tenant.ID) error {
	doing := fmt.Sprintf("resending the invitation of tenant %s", id)
	if a.backends() == nil {
		return errNotConfigured(doing)
	}
	mailer, ok := a.backends().Identities.(tenant.InvitationMailer)
	if !ok {
		return tenant.Fail(
			tenant.CodeInvalidConfig,
			doing,
			errors.New(
				"this identity system sends no mail by itself; use tenantctl mail --resend "+string(id),
			),
		)
	}
	identity, err := a.findIdentity(ctx, id)
	if errors.Is(err, tenant.ErrAbsent) {
		return tenant.Fail(
			tenant.CodeNotFound,
			doing,
			errors.New("there is no such tenant in this installation"),
		)
	}
	if err != nil {
		return err
	}
	return mailer.MailInvitation(ctx, id, tenant.IdentityNames{
		Organization: identity.Organization, Application: identity.ClientID,
	})
}
