package resources

import (
	"context"
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Schema describes the resource.
func (r *identityResource) Schema(
	_ context.Context,
	_ resource.SchemaRequest,
	resp *resource.SchemaResponse,
) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The tenant's organization, application, roles and first administrator. The administrator is " +
			"created, but told nothing.",
		Attributes: map[string]schema.Attribute{
			"id":        idAttribute(),
			"tenant_id": tenantIDAttribute(tenant.StepIdentity),
			"display_name": schema.StringAttribute{
				Required: true, MarkdownDescription: "The tenant's name as people read it.",
				Validators: []validator.String{identityCheck("display_name", checkName)},
			},
			"hostnames": schema.ListAttribute{
				Required:    true,
				ElementType: types.StringType,
				MarkdownDescription: "The hostnames that people may sign in from: `usable_hostnames` of the tenant's domain. " +
					"A hostname that is not proved to be the tenant's must not be among them.",
				Validators: []validator.List{listvalidator.SizeAtLeast(1)},
			},
			"redirect_path": schema.StringAttribute{
				Optional: true,
				Computed: true,
				Default:  stringdefault.StaticString("/auth/callback"),
				MarkdownDescription: "The path, on each hostname, that people come back to after signing in. Defaults to " +
					"`/auth/callback`.",
				Validators: []validator.String{identityCheck("redirect_path", checkRedirectPath)},
			},
			"roles": schema.SetAttribute{
				Optional:            true,
				Computed:            true,
				ElementType:         types.StringType,
				Default:             setdefault.StaticValue(textSet(nil)),
				MarkdownDescription: "The roles that the tenant's people can have. Left out, there are none.",
				Validators: []validator.Set{
					setvalidator.NoNullValues(),
					setvalidator.ValueStringsAre(identityCheck("roles", checkName)),
				},
			},
			"administrator": schema.SingleNestedAttribute{
				Required: true, MarkdownDescription: "The first person who may administer the tenant.",
				Attributes: map[string]schema.Attribute{
					"email": schema.StringAttribute{
						Required: true, MarkdownDescription: "The mail address; the user name, too.",
						Validators: []validator.String{identityCheck("administrator.email", checkEmail)},
					},
					"name": schema.StringAttribute{
						Required: true, MarkdownDescription: "The full name.",
						Validators: []validator.String{identityCheck("administrator.name", checkName)},
					},
				},
			},
			"enabled": schema.BoolAttribute{
				Optional:            true,
				Computed:            true,
				MarkdownDescription: "Whether people can sign in. Left out, it stays as it is; a new identity is enabled.",
			},
			"secret_version": schema.Int64Attribute{
				Optional: true,
				Computed: true,
				Default:  int64default.StaticInt64(1),
				MarkdownDescription: "Raised to give the application a new secret, derived with the provider's current key. A " +
					"new current key alone plans nothing; the identity's next change may use it. Defaults to 1.",
				Validators: []validator.Int64{
					between{tenant.StepIdentity, "secret_version", 1, math.MaxInt32},
				},
			},
			"organization_id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "The organization's id.",
			},
			"application_id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "The application's id.",
			},
			"client_id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "The application's OAuth client id.",
			},
			"administrator_id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "The administrator's user id.",
			},
			"redirect_uris": schema.SetAttribute{
				Computed:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "The redirect URIs of the application: `redirect_path` on each of `hostnames`.",
			},
			"secret": secretAttribute(),
			"missing": schema.SetAttribute{
				Computed:    true,
				ElementType: types.StringType,
				MarkdownDescription: "Which parts of the identity the last refresh missed. A plan empties it: the apply makes " +
					"them again.",
			},
			"altered": schema.SetAttribute{
				Computed:    true,
				ElementType: types.StringType,
				MarkdownDescription: "Which parts the last refresh found replaced by somebody else. A plan empties it: the apply " +
					"puts them right.",
			},
		},
	}
}

func secretAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		Computed:            true,
		MarkdownDescription: "What there is to know of the application's secret without knowing it.",
		Attributes: map[string]schema.Attribute{
			"key_id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "The key it is derived with.",
			},
			"version": schema.Int64Attribute{Computed: true, MarkdownDescription: "Its version."},
			"fingerprint": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "The first 16 digits of its SHA-256.",
			},
		},
	}
}

func secretType() map[string]attr.Type {
	return map[string]attr.Type{
		"key_id": types.StringType, "version": types.Int64Type, "fingerprint": types.StringType,
	}
}

func identityCheck(attribute string, holds func(string) error) validator.String {
	return check(tenant.StepIdentity, tenant.CodeInvalidConfig, "checking "+attribute, holds)
}

// checkRedirectPath accepts what makes an absolute URI behind a hostname, without a fragment (RFC 6749, section 3.1.2)
// and without a wildcard.
func checkRedirectPath(s string) error {
	if !strings.HasPrefix(s, "/") || strings.HasPrefix(s, "//") {
		return fmt.Errorf("%q does not begin with one slash", s)
	}
	if strings.ContainsAny(s, "*#") {
		return fmt.Errorf("%q contains a wildcard or a fragment", s)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("%q contains a character that a URI can't have as it is", s)
	}
	if _, err := url.ParseRequestURI("https://a.example" + s); err != nil {
		return fmt.Errorf("%q makes no valid URI", s)
	}
	return nil
}

// checkEmail accepts a bare address (RFC 5322, addr-spec).
func checkEmail(s string) error {
	address, err := mail.ParseAddress(s)
	if err != nil || address.Address != s || address.Name != "" {
		return fmt.Errorf("%q is no mail address", s)
	}
	return nil
}
