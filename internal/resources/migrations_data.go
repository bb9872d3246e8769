package resources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/migrations"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

var _ datasource.DataSourceWithConfigure = (*migrationsData)(nil)

// NewMigrations returns the data source tenant_migrations.
func NewMigrations() datasource.DataSource { return &migrationsData{folder: migrations.Load} }

type migrationsData struct {
	configuredData

	folder func(path string) (tenant.Migrations, error)
}

type migrationsModel struct {
	Path    types.String `tfsdk:"path"`
	Files   types.Map    `tfsdk:"files"`
	Version types.Int64  `tfsdk:"version"`
}

// Metadata names the data source.
func (*migrationsData) Metadata(
	_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse,
) {
	resp.TypeName = req.ProviderTypeName + "_migrations"
}

// Schema describes the data source.
func (*migrationsData) Schema(
	_ context.Context,
	_ datasource.SchemaRequest,
	resp *datasource.SchemaResponse,
) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "A folder of goose migrations, as `tenant_database` reads it. It asks no system.",
		Attributes: map[string]schema.Attribute{
			"path": schema.StringAttribute{
				Required: true, MarkdownDescription: "The folder, relative to the root module.",
			},
			"files": schema.MapAttribute{
				Computed: true, ElementType: types.StringType,
				MarkdownDescription: "The files, by name, with the SHA-256 of their contents.",
			},
			"version": schema.Int64Attribute{
				Computed: true, MarkdownDescription: "The version of the newest file.",
			},
		},
	}
}

// Read reads the folder.
func (d *migrationsData) Read(
	ctx context.Context,
	req datasource.ReadRequest,
	resp *datasource.ReadResponse,
) {
	var model migrationsModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() || !d.ready(&resp.Diagnostics, "reading a folder of migrations") {
		return
	}
	files, err := d.folder(d.meta.resolve(model.Path.ValueString()))
	if err != nil {
		addAttributeError(&resp.Diagnostics, path.Root("path"), tenant.StepDatabase, err)
		return
	}
	model.Files = sumsValue(sumsOf(files))
	model.Version = types.Int64Value(files.Files[len(files.Files)-1].Version)
	resp.Diagnostics.Append(resp.State.Set(ctx, model)...)
}
