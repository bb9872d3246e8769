package resources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Schema describes the resource.
func (r *databaseResource) Schema(
	_ context.Context,
	_ resource.SchemaRequest,
	resp *resource.SchemaResponse,
) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The tenant's database: placed in a pool that takes the tenant's plan, and migrated. " +
			"Where it lives is decided once and never changes.",
		Attributes: map[string]schema.Attribute{
			"id":        idAttribute(),
			"tenant_id": tenantIDAttribute(tenant.StepDatabase),
			"plan": schema.StringAttribute{
				Required: true,
				Validators: []validator.String{
					check(tenant.StepDatabase, tenant.CodeInvalidConfig, "checking plan", checkName),
				},
				MarkdownDescription: "The tenant's plan. It can change as long as the database's pool takes the new one; " +
					"a change that would move the data is refused at plan time.",
			},
			"pool": schema.StringAttribute{
				Optional: true,
				Computed: true,
				MarkdownDescription: "The pool to place the database in. Left out, it is the only one that takes the plan, " +
					"or the first (by name) with room. Then it is kept.",
			},
			"migrations_path": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "A folder of goose migrations (`00001_name.sql`), relative to the root module. " +
					"A destroy does not read it, though Terraform plans once before one unless it is run with `-refresh=false`.",
			},
			"deletion_protection": schema.BoolAttribute{
				Optional:            true,
				Computed:            true,
				Default:             booldefault.StaticBool(true),
				MarkdownDescription: "Whether a destroy is refused, at plan time already. Defaults to `true`.",
			},
			"on_destroy": schema.StringAttribute{
				Optional: true,
				Computed: true,
				Default:  stringdefault.StaticString(string(tenant.Archive)),
				Validators: []validator.String{oneOf(tenant.StepDatabase, "on_destroy",
					string(tenant.Drop), string(tenant.Archive), string(tenant.Retain))},
				MarkdownDescription: "What a destroy does with the data: `drop` deletes it, `archive` (the default) keeps it " +
					"under another name and closed, `retain` leaves it as it is, to be adopted again.",
			},
			"read_only": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(false),
				MarkdownDescription: "Whether the tenant's data can only be read. Defaults to `false`.",
			},
			"isolation": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "How the data is kept apart in its pool: `database`, `schema` or `row`.",
			},
			"name": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "The name of the database (or schema) in its pool.",
			},
			"migrations": schema.MapAttribute{
				Computed:    true,
				ElementType: types.StringType,
				MarkdownDescription: "The migrations, by file name, with the SHA-256 of their contents. A plan shows the files " +
					"that will be applied as additions; an applied file that was edited is an error.",
			},
		},
	}
}
