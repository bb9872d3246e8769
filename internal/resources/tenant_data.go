package resources

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

var _ datasource.DataSourceWithConfigure = (*tenantData)(nil)

// NewTenant returns the data source tenant_tenant.
func NewTenant() datasource.DataSource { return &tenantData{} }

type tenantData struct{ configuredData }

type tenantModel struct {
	TenantID        types.String `tfsdk:"tenant_id"`
	Pool            types.String `tfsdk:"pool"`
	Isolation       types.String `tfsdk:"isolation"`
	DatabaseName    types.String `tfsdk:"database_name"`
	DefaultHostname types.String `tfsdk:"default_hostname"`
	CustomHostname  types.String `tfsdk:"custom_hostname"`
	Verification    types.String `tfsdk:"verification"`
	OrganizationID  types.String `tfsdk:"organization_id"`
	ClientID        types.String `tfsdk:"client_id"`
	AdministratorID types.String `tfsdk:"administrator_id"`
	Enabled         types.Bool   `tfsdk:"enabled"`
}

// configuredData is configured for data sources.
type configuredData struct{ configured }

// Configure takes the provider's Meta.
func (c *configuredData) Configure(
	_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse,
) {
	c.meta = metaOf(req.ProviderData, &resp.Diagnostics)
}

// ready adds an error while the provider's configuration is not wholly known: a data source has nothing to tell then.
func (c *configuredData) ready(diags *diag.Diagnostics, doing string) bool {
	if c.backends() == nil {
		addError(diags, "", errNotConfigured(doing))
	}
	return !diags.HasError()
}

// Metadata names the data source.
func (*tenantData) Metadata(
	_ context.Context,
	req datasource.MetadataRequest,
	resp *datasource.MetadataResponse,
) {
	resp.TypeName = req.ProviderTypeName + "_tenant"
}

// Schema describes the data source.
func (*tenantData) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	computed := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "What the installation's systems hold of a tenant now, whoever applied it. What is not there is null.",
		Attributes: map[string]schema.Attribute{
			"tenant_id": schema.StringAttribute{
				Required: true, MarkdownDescription: "The tenant's id.",
				Validators: []validator.String{check("", tenant.CodeInvalidTenantID, "checking the tenant_id",
					func(s string) error {
						_, err := tenant.ParseID(s)
						return err
					})},
			},
			"pool":             computed("The pool that holds the tenant's database."),
			"isolation":        computed("How its data is kept apart there."),
			"database_name":    computed("The name of its database or schema."),
			"default_hostname": computed("Its hostname under the installation's zone."),
			"custom_hostname":  computed("The hostname of its own that it claims."),
			"verification": computed(
				"How far that one is proved: `none`, `pending`, `verified` or `expired`.",
			),
			"organization_id":  computed("The id of its organization."),
			"client_id":        computed("The client id of its application."),
			"administrator_id": computed("The id of its first administrator."),
			"enabled": schema.BoolAttribute{
				Computed: true, MarkdownDescription: "Whether its people can sign in.",
			},
		},
	}
}

// Read asks each system by the marks.
func (d *tenantData) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var model tenantModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() || !d.ready(&resp.Diagnostics, "looking at a tenant") {
		return
	}
	id := tenant.ID(model.TenantID.ValueString())
	for step, look := range map[tenant.Step]func(context.Context, tenant.ID, *tenantModel) error{
		tenant.StepDatabase: d.lookAtDatabase,
		tenant.StepDomain:   d.lookAtDomain,
		tenant.StepIdentity: d.lookAtIdentity,
	} {
		if err := look(ctx, id, &model); !errors.Is(err, tenant.ErrAbsent) {
			addError(&resp.Diagnostics, step, err)
		}
	}
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, model)...)
	}
}

func (d *tenantData) lookAtDatabase(ctx context.Context, id tenant.ID, model *tenantModel) error {
	database, err := d.findDatabase(ctx, id)
	if err != nil {
		return err
	}
	model.Pool = types.StringValue(database.Place.Pool)
	model.Isolation = types.StringValue(string(database.Place.Isolation))
	model.DatabaseName = types.StringValue(database.Place.Name)
	return nil
}

func (d *tenantData) lookAtDomain(ctx context.Context, id tenant.ID, model *tenantModel) error {
	domain, err := d.findDomain(ctx, id)
	if err != nil {
		return err
	}
	model.DefaultHostname = types.StringValue(domain.DefaultHostname)
	model.Verification = types.StringValue(verificationNone)
	if domain.CustomHostname != "" {
		model.CustomHostname = types.StringValue(domain.CustomHostname)
		model.Verification = types.StringValue(string(domain.Claim.State))
	}
	return nil
}

func (d *tenantData) lookAtIdentity(ctx context.Context, id tenant.ID, model *tenantModel) error {
	identity, err := d.findIdentity(ctx, id)
	if err != nil {
		return err
	}
	model.OrganizationID = types.StringValue(identity.OrganizationID)
	model.ClientID = types.StringValue(identity.ClientID)
	model.AdministratorID = types.StringValue(identity.AdministratorID)
	model.Enabled = types.BoolValue(identity.Enabled)
	return nil
}
