package resources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var _ datasource.DataSourceWithConfigure = (*poolsData)(nil)

// NewPools returns the data source tenant_pools.
func NewPools() datasource.DataSource { return &poolsData{} }

type poolsData struct{ configuredData }

type poolsModel struct {
	Plan  types.String         `tfsdk:"plan"`
	Pools map[string]poolModel `tfsdk:"pools"`
}

type poolModel struct {
	Isolation  types.String   `tfsdk:"isolation"`
	Plans      []types.String `tfsdk:"plans"`
	MaxTenants types.Int64    `tfsdk:"max_tenants"`
}

// Metadata names the data source.
func (*poolsData) Metadata(
	_ context.Context,
	req datasource.MetadataRequest,
	resp *datasource.MetadataResponse,
) {
	resp.TypeName = req.ProviderTypeName + "_pools"
}

// Schema describes the data source.
func (*poolsData) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The pools that the provider is configured with. It asks no system.",
		Attributes: map[string]schema.Attribute{
			"plan": schema.StringAttribute{
				Optional: true, MarkdownDescription: "Only pools that take this plan.",
			},
			"pools": schema.MapNestedAttribute{
				Computed: true, MarkdownDescription: "The pools, by name.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"isolation": schema.StringAttribute{
						Computed: true, MarkdownDescription: "How tenants are kept apart.",
					},
					"plans": schema.ListAttribute{
						Computed: true, ElementType: types.StringType,
						MarkdownDescription: "The plans that it takes; empty takes all.",
					},
					"max_tenants": schema.Int64Attribute{
						Computed: true, MarkdownDescription: "How many tenants it takes; 0 is any number.",
					},
				}},
			},
		},
	}
}

// Read tells the configuration.
func (d *poolsData) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var model poolsModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() || !d.ready(&resp.Diagnostics, "listing the pools") {
		return
	}
	model.Pools = map[string]poolModel{}
	for _, pool := range d.backends().Pools {
		if !model.Plan.IsNull() && !pool.Takes(model.Plan.ValueString()) {
			continue
		}
		told := poolModel{
			Isolation:  types.StringValue(string(pool.Isolation)),
			MaxTenants: types.Int64Value(pool.MaxTenants),
			Plans:      []types.String{},
		}
		for _, plan := range pool.Plans {
			told.Plans = append(told.Plans, types.StringValue(plan))
		}
		model.Pools[pool.Name] = told
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, model)...)
}
