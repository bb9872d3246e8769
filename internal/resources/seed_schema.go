package resources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Schema describes the resource.
func (r *seedResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The rows that a tenant can't work without, written in one transaction. A destroy forgets the " +
			"seed and leaves the rows: they are the tenant's data.",
		Attributes: map[string]schema.Attribute{
			"id":        idAttribute(),
			"tenant_id": tenantIDAttribute(tenant.StepSeed),
			"database": schema.SingleNestedAttribute{
				Required:            true,
				MarkdownDescription: "Where the rows go: `pool`, `isolation` and `name` of the tenant's `tenant_database`.",
				Attributes: map[string]schema.Attribute{
					"pool": schema.StringAttribute{Required: true, MarkdownDescription: "The pool."},
					"isolation": schema.StringAttribute{
						Required:            true,
						MarkdownDescription: "The isolation.",
					},
					"name": schema.StringAttribute{
						Required:            true,
						MarkdownDescription: "The database or schema.",
					},
				},
			},
			// What Terraform sees in its place is tablesAttribute.
			tablesName: schema.StringAttribute{Required: true},
			"timeouts": timeoutsAttribute(ctx),
			"on_edit": schema.StringAttribute{
				Optional: true,
				Computed: true,
				Default:  stringdefault.StaticString(string(tenant.KeepEdits)),
				Validators: []validator.String{oneOf(tenant.StepSeed, "on_edit",
					string(tenant.KeepEdits), string(tenant.RestoreEdits), string(tenant.RefuseEdits))},
				MarkdownDescription: "What becomes of seeded rows that somebody has edited: `keep` (the default) leaves them and " +
					"warns, `restore` plans to put the seed's values back, `error` refuses to plan.",
			},
			"edited_rows": schema.ListAttribute{
				Computed:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "The seeded rows that were edited or deleted since, with the changed columns.",
			},
			"kept_rows": schema.ListAttribute{
				Computed:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "Rows that the seed no longer has, kept because they were edited or are referenced.",
			},
		},
	}
}

// tablesAttribute is the schema of the tables as Terraform sees it: see Sealed.
func tablesAttribute() *tfprotov6.SchemaAttribute {
	texts := tftypes.List{ElementType: tftypes.String}
	rows := tftypes.List{ElementType: tftypes.Map{ElementType: tftypes.String}}
	return &tfprotov6.SchemaAttribute{
		Name:            tablesName,
		Required:        true,
		DescriptionKind: tfprotov6.StringKindMarkdown,
		Description: "The tables, in the order in which they are written; rows that the seed no longer has are " +
			"removed in the reverse order.",
		NestedType: &tfprotov6.SchemaObject{
			Nesting: tfprotov6.SchemaObjectNestingModeList,
			Attributes: []*tfprotov6.SchemaAttribute{
				requiredAttribute("key", texts, "The columns that identify a row. Every row has them."),
				requiredAttribute("name", tftypes.String, "The table."),
				requiredAttribute("rows", rows,
					"The rows: column to value, as the database reads its text form; `null` is NULL."),
			},
		},
	}
}

func requiredAttribute(name string, typ tftypes.Type, description string) *tfprotov6.SchemaAttribute {
	return &tfprotov6.SchemaAttribute{
		Name: name, Type: typ, Required: true,
		Description: description, DescriptionKind: tfprotov6.StringKindMarkdown,
	}
}
