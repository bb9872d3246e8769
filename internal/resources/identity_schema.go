package resources

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Schema describes the resource.
func (r *identityResource) Schema(
	ctx context.Context,
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
			"organization_name": schema.StringAttribute{
				Optional: true,
				Computed: true,
				MarkdownDescription: "The organization's name in the identity system. Left out, it follows from installation " +
					"and tenant_id; give one only to an organization that existed before. It never changes.",
				Validators: []validator.String{identityCheck("organization_name", checkName)},
			},
			"claim": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Whether an organization and an application of these names that carry nobody's mark are taken " +
					"over: they are marked, and then managed like any other. Has no effect once they are the tenant's.",
			},
			"public": schema.BoolAttribute{
				Optional: true,
				Computed: true,
				Default:  booldefault.StaticBool(false),
				MarkdownDescription: "Whether the application is a public client without a secret, such as a single-page " +
					"application. Defaults to `false`.",
			},
			"domains": schema.SetAttribute{
				Optional:    true,
				ElementType: types.StringType,
				MarkdownDescription: "Domains by which the organization's people are recognised. One counts as verified if it is " +
					"among `hostnames`.",
				Validators: []validator.Set{
					setvalidator.NoNullValues(),
					setvalidator.ValueStringsAre(identityCheck("domains", checkDomain)),
				},
			},
			"single_sign_on": schema.SingleNestedAttribute{
				Optional:            true,
				MarkdownDescription: "The tenant's own OpenID Connect provider, at which its people sign in.",
				Attributes: map[string]schema.Attribute{
					"issuer": schema.StringAttribute{
						Required: true, MarkdownDescription: "Its issuer, an https URL.",
						Validators: []validator.String{identityCheck("single_sign_on.issuer", checkIssuer)},
					},
					"client_id": schema.StringAttribute{
						Required: true, MarkdownDescription: "The client id that it has given us.",
						Validators: []validator.String{identityCheck("single_sign_on.client_id", checkName)},
					},
					"client_secret": schema.StringAttribute{
						Optional:            true,
						WriteOnly:           true,
						Sensitive:           true,
						MarkdownDescription: "The client secret that it has given us. Write-only: it is in no state and no plan.",
					},
					"client_secret_version": schema.Int64Attribute{
						Optional:            true,
						MarkdownDescription: "Raised by one to hand over another client_secret, which Terraform can't compare.",
					},
				},
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
			"credentials_version": schema.Int64Attribute{
				Optional: true,
				Computed: true,
				Default:  int64default.StaticInt64(1),
				MarkdownDescription: "Raised by one to give the application a new secret, derived with the provider's " +
					"current key. A new current key alone changes nothing. Defaults to 1.",
				Validators: []validator.Int64{
					between{tenant.StepIdentity, "credentials_version", 1, math.MaxInt32},
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
				Optional: true,
				Computed: true,
				MarkdownDescription: "The application's OAuth client id. Left out, it follows from installation and " +
					"tenant_id; give one only to an application that existed before. It never changes.",
				Validators: []validator.String{identityCheck("client_id", checkName)},
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
			"credentials": schema.SingleNestedAttribute{
				Computed:   true,
				Attributes: secretAttribute().Attributes,
				MarkdownDescription: "What there is to know of the application's secret without knowing it: hand it to the " +
					"ephemeral resource `tenant_identity_credentials`, which derives the secret.",
			},
			"timeouts": timeoutsAttribute(ctx),
			"drift": schema.SetAttribute{
				Computed:    true,
				ElementType: types.StringType,
				MarkdownDescription: "What else the last refresh found changed by hand, by name. A plan empties it of all that " +
					"the apply repairs.",
			},
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

// checkDomain accepts a domain name in lower-case ASCII form.
func checkDomain(s string) error {
	if err := errors.Unwrap(tenant.CheckHostname(s, "-")); err != nil {
		return fmt.Errorf("%q is no domain: %w", s, err)
	}
	return nil
}

// checkIssuer accepts what OpenID Connect Discovery 1.0, section 2, calls an issuer. Plain http is for tests on one
// machine.
func checkIssuer(s string) error {
	issuer, err := url.Parse(s)
	local := err == nil && issuer.Scheme == "http" && issuer.Hostname() == "127.0.0.1"
	if err != nil || issuer.Host == "" || issuer.RawQuery != "" || issuer.Fragment != "" ||
		issuer.Scheme != "https" && !local {
		return fmt.Errorf("%q is no https URL without query and fragment", s)
	}
	return nil
}
