package resources

import (
	"context"
	"math"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Schema describes the resource.
func (r *databaseResource) Schema(
	ctx context.Context,
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
				Optional: true,
				Validators: []validator.String{
					check(tenant.StepDatabase, tenant.CodeInvalidConfig, "checking plan", checkName),
				},
				MarkdownDescription: "The tenant's plan. It can change as long as the database's pool takes the new one; " +
					"a change that would move the data is refused at plan time. It can be left out where `pool` is given.",
			},
			"pool": schema.StringAttribute{
				Optional: true,
				Computed: true,
				MarkdownDescription: "The pool to place the database in. Left out, it is the only one that takes the plan, " +
					"or the first (by name) with room. Then it is kept.",
			},
			"name": schema.StringAttribute{
				Optional: true,
				Computed: true,
				Validators: []validator.String{
					check(tenant.StepDatabase, tenant.CodeInvalidConfig, "checking name", checkName),
				},
				MarkdownDescription: "The name of the database (or schema) in its pool. Left out, it follows from installation " +
					"and tenant_id; give one only to a database that existed before. It never changes.",
			},
			"claim": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Whether a database of that name that carries nobody's mark is taken over: it is marked, and " +
					"then managed like any other. One that carries another's mark stays foreign. Has no effect once the database " +
					"is the tenant's.",
			},
			"baseline_version": schema.Int64Attribute{
				Optional: true,
				Validators: []validator.Int64{
					between{tenant.StepDatabase, "baseline_version", 1, math.MaxInt64},
				},
				MarkdownDescription: "For a claimed database without a record of migrations: the version up to which it has them " +
					"already. These files are recorded as applied without being run.",
			},
			"migrations_path": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "A folder of goose migrations (`00001_name.sql`), relative to the root module. Left out, " +
					"migrations are not managed here. " +
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
			"retention": schema.StringAttribute{
				Optional: true,
				Validators: []validator.String{check(tenant.StepDatabase, tenant.CodeInvalidConfig,
					"checking retention", checkWindow)},
				MarkdownDescription: "For how long an archive is kept at least, like `2160h`. Left out, for ever.",
			},
			"force_destroy": schema.BoolAttribute{
				Optional: true,
				Computed: true,
				Default:  booldefault.StaticBool(false),
				MarkdownDescription: "Whether a destroy ends the sessions that others have open. Defaults to `false`: a database " +
					"in use is not touched.",
			},
			"read_only": schema.BoolAttribute{
				Optional: true,
				Computed: true,
				MarkdownDescription: "Whether the tenant's data can only be read. Left out, it stays as it is; a new database " +
					"is writable.",
			},
			"extensions": schema.SetAttribute{
				Optional:    true,
				ElementType: types.StringType,
				Validators: []validator.Set{
					setvalidator.NoNullValues(),
					setvalidator.ValueStringsAre(stringvalidator.LengthAtLeast(1)),
				},
				MarkdownDescription: "The extensions of the database system that the migrations need. The pool says which " +
					"ones it allows.",
			},
			"credentials_version": schema.Int64Attribute{
				Optional: true,
				Computed: true,
				Default:  int64default.StaticInt64(1),
				Validators: []validator.Int64{
					between{tenant.StepDatabase, "credentials_version", 1, math.MaxInt32},
				},
				MarkdownDescription: "Raised by one to give the application a new password, derived with the provider's " +
					"current key. The one before stays valid until the next time. Defaults to 1.",
			},
			"on_drift": schema.StringAttribute{
				Optional: true,
				Computed: true,
				Default:  stringdefault.StaticString(onDriftError),
				Validators: []validator.String{
					oneOf(tenant.StepDatabase, "on_drift", onDriftError, onDriftKeep),
				},
				MarkdownDescription: "What becomes of changes by hand whose repair would lose something, such as a column " +
					"that somebody added: `error` (the default) refuses to plan and names them, `keep` leaves them and warns.",
			},
			"isolation": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "How the data is kept apart in its pool: `database`, `schema` or `row`.",
			},
			"migrations": schema.MapAttribute{
				Computed:    true,
				ElementType: types.StringType,
				MarkdownDescription: "The migrations, by file name, with the SHA-256 of their contents. A plan shows the files " +
					"that will be applied as additions; an applied file that was edited is an error.",
			},
			"credentials": schema.SingleNestedAttribute{
				Computed: true,
				MarkdownDescription: "What the application logs in with, without the password: hand it to the ephemeral " +
					"resource `tenant_database_credentials`, which derives it. Null where nobody logs in, as with SQLite.",
				Attributes: withUsername(secretAttribute().Attributes),
			},
			"drift": schema.SetAttribute{
				Computed:    true,
				ElementType: types.StringType,
				MarkdownDescription: "What the last refresh found changed by hand, by name. A plan empties it of all that the " +
					"apply repairs.",
			},
			"timeouts": timeoutsAttribute(ctx),
		},
	}
}

func withUsername(attributes map[string]schema.Attribute) map[string]schema.Attribute {
	attributes["username"] = schema.StringAttribute{
		Computed: true, MarkdownDescription: "What the application logs in as.",
	}
	return attributes
}
