package resources

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

var _ ephemeral.EphemeralResourceWithConfigure = (*credentials)(nil)

// credentials derives one secret of a tenant from what the state tells of it. Opening it asks no system: it only
// computes, so it works wherever the keys are, and hands out nothing that is not configured.
type credentials struct {
	configured

	name        string // of the ephemeral resource, without the provider's
	step        tenant.Step
	purpose     string
	login       string // the attribute that tells who logs in
	secret      string // the attribute that holds the secret
	description string
	within      bool // whether credentials itself tells who logs in
}

// NewDatabaseCredentials returns the ephemeral resource tenant_database_credentials.
func NewDatabaseCredentials() ephemeral.EphemeralResource {
	return &credentials{
		name:    "database_credentials",
		step:    tenant.StepDatabase,
		purpose: tenant.DatabasePassword,
		login:   "username",
		secret:  "password",
		within:  true,
		description: "What the tenant's application logs in to its database with. Nothing of it is kept in a state or a plan: " +
			"pass it on by a write-only attribute, to a secret store for instance.",
	}
}

// NewIdentityCredentials returns the ephemeral resource tenant_identity_credentials.
func NewIdentityCredentials() ephemeral.EphemeralResource {
	return &credentials{
		name:    "identity_credentials",
		step:    tenant.StepIdentity,
		purpose: tenant.ApplicationSecret,
		login:   "client_id",
		secret:  "client_secret",
		description: "What the tenant's application authenticates with at the identity provider. Nothing of it is kept in a " +
			"state or a plan: pass it on by a write-only attribute, to a secret store for instance.",
	}
}

// Metadata names the ephemeral resource.
func (c *credentials) Metadata(
	_ context.Context, req ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse,
) {
	resp.TypeName = req.ProviderTypeName + "_" + c.name
}

// Configure takes the provider's Meta.
func (c *credentials) Configure(
	_ context.Context, req ephemeral.ConfigureRequest, resp *ephemeral.ConfigureResponse,
) {
	c.meta = metaOf(req.ProviderData, &resp.Diagnostics)
}

// Schema describes the ephemeral resource.
func (c *credentials) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	reference := map[string]schema.Attribute{
		"key_id": schema.StringAttribute{
			Required:            true,
			MarkdownDescription: "The key it is derived with.",
		},
		"version":     schema.Int64Attribute{Required: true, MarkdownDescription: "Its version."},
		"incarnation": schema.StringAttribute{Required: true, MarkdownDescription: "The object's random id."},
		"fingerprint": schema.StringAttribute{
			Required:            true,
			MarkdownDescription: "The first 16 digits of its SHA-256: what is derived must have it.",
		},
	}
	login := schema.StringAttribute{Required: true, MarkdownDescription: "Who logs in."}
	if c.within {
		reference[c.login] = login
		login = schema.StringAttribute{Computed: true, MarkdownDescription: login.MarkdownDescription}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: c.description,
		Attributes: map[string]schema.Attribute{
			"tenant_id": schema.StringAttribute{
				Required: true, MarkdownDescription: "The tenant's id.",
			},
			"credentials": schema.SingleNestedAttribute{
				Required:   true,
				Attributes: reference,
				MarkdownDescription: "The attribute `credentials` of the tenant's `tenant_" + string(
					c.step,
				) + "`.",
			},
			c.login: login,
			c.secret: schema.StringAttribute{
				Computed: true, Sensitive: true, MarkdownDescription: "The secret.",
			},
		},
	}
}

// Open derives the secret. It fails with CodeUnknownKey if the key is not configured, or is another one of that id.
func (c *credentials) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	var id types.String
	var reference types.Object
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("tenant_id"), &id)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("credentials"), &reference)...)
	if resp.Diagnostics.HasError() {
		return
	}
	secret, err := c.derive(id, reference)
	if err != nil {
		addError(&resp.Diagnostics, c.step, err)
		return
	}
	if c.within {
		resp.Diagnostics.Append(
			resp.Result.SetAttribute(ctx, path.Root(c.login), textOf(reference, c.login))...)
	}
	resp.Diagnostics.Append(resp.Result.SetAttribute(ctx, path.Root(c.secret), secret.Reveal())...)
}

func (c *credentials) derive(id types.String, reference types.Object) (tenant.Secret, error) {
	doing := fmt.Sprintf("deriving the %s's secret of tenant %s", c.purpose, id.ValueString())
	if c.backends() == nil {
		return tenant.Secret{}, errNotConfigured(doing)
	}
	secret, err := c.backends().Keyring.Derive(secretRef(id, reference, c.purpose))
	if err != nil {
		return tenant.Secret{}, err
	}
	if secret.Fingerprint() != fingerprintOf(reference).ValueString() {
		return tenant.Secret{}, tenant.Fail(tenant.CodeUnknownKey, doing, fmt.Errorf(
			"the key %q is not the one that it was derived with", textOf(reference, "key_id").ValueString()))
	}
	return secret, nil
}

// metaOf returns what the provider's configuration hands over; nil before there is one.
func metaOf(data any, diags *diag.Diagnostics) *Meta {
	if data == nil {
		return nil
	}
	meta, ok := data.(*Meta)
	if !ok {
		addError(diags, "", tenant.Fail(tenant.CodeInternal, "taking the provider's configuration",
			fmt.Errorf("the provider handed over %T", data)))
	}
	return meta
}
