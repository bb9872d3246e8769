package provider

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/objectvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

type configModel struct {
	Installation types.String         `tfsdk:"installation"`
	Keys         []keyModel           `tfsdk:"keys"`
	Pools        map[string]poolModel `tfsdk:"pools"`
	Identity     *identityModel       `tfsdk:"identity"`
	DNS          *dnsModel            `tfsdk:"dns"`
	Edge         *edgeModel           `tfsdk:"edge"`
	Embedded     *embeddedModel       `tfsdk:"embedded"`
}

type keyModel struct {
	ID     types.String `tfsdk:"id"`
	Secret types.String `tfsdk:"secret"`
}

type poolModel struct {
	SQLite     *sqliteModel   `tfsdk:"sqlite"`
	Postgres   *postgresModel `tfsdk:"postgres"`
	Isolation  types.String   `tfsdk:"isolation"`
	Plans      []string       `tfsdk:"plans"`
	MaxTenants types.Int64    `tfsdk:"max_tenants"`
}

type postgresModel struct {
	URL              types.String `tfsdk:"url"`
	Extensions       []string     `tfsdk:"extensions"`
	LockTimeout      types.String `tfsdk:"lock_timeout"`
	StatementTimeout types.String `tfsdk:"statement_timeout"`
	MaxConnections   types.Int64  `tfsdk:"max_connections"`
}

type sqliteModel struct {
	Path types.String `tfsdk:"path"`
}

type edgeModel struct {
	Bindings  types.String      `tfsdk:"bindings"`
	Upstreams map[string]string `tfsdk:"upstreams"`
}

type embeddedModel struct {
	Path types.String `tfsdk:"path"`
	Zone types.String `tfsdk:"zone"`
}

// Schema describes the provider block.
func (p *tenantProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	notEmpty := stringvalidator.LengthAtLeast(1)
	resp.Schema = schema.Schema{
		MarkdownDescription: "Creates what a tenant of a multi-tenant product needs (a database, an identity, hostnames and " +
			"first rows), marks each of these as its own, and changes or deletes nothing that does not carry its mark.",
		Attributes: map[string]schema.Attribute{
			"installation": schema.StringAttribute{
				Required: true,
				MarkdownDescription: "The name of this fleet of tenants, such as `prod-eu`: 1–32 of a-z, 0-9 and '-'. It is part of " +
					"every name and mark, so that several installations may share a server. It never changes.",
			},
			"keys": keysAttribute(notEmpty),
			"pools": schema.MapNestedAttribute{
				Optional:   true,
				Validators: []validator.Map{mapvalidator.SizeAtLeast(1), mapvalidator.NoNullValues()},
				MarkdownDescription: "The places where tenants' databases live, by name. Without them `embedded` supplies one, " +
					"named `embedded`, that takes every plan.",
				NestedObject: schema.NestedAttributeObject{Attributes: poolAttributes(notEmpty)},
			},
			"identity": identityAttribute(notEmpty),
			"dns":      dnsAttribute(notEmpty),
			"edge": schema.SingleNestedAttribute{
				Optional:            true,
				MarkdownDescription: "The proxy in front of the application.",
				Attributes: map[string]schema.Attribute{
					"bindings": schema.StringAttribute{
						Optional:   true,
						Validators: []validator.String{notEmpty},
						MarkdownDescription: "The SQLite file with the table that the edge reads, relative to the root module. Left " +
							"out, `embedded` supplies it.",
					},
					"upstreams": schema.MapAttribute{
						Optional:    true,
						ElementType: types.StringType,
						Validators:  []validator.Map{mapvalidator.NoNullValues()},
						MarkdownDescription: "The `host:port` that serves the tenants of a plan, by plan; the plan `\"\"` stands for " +
							"all others.",
					},
				},
			},
			"embedded": schema.SingleNestedAttribute{
				Optional: true,
				MarkdownDescription: "Supplies whatever else is left out, as files in one folder: for a first try, for development and " +
					"for tests. It cannot be used where Terraform runs remotely.",
				Attributes: map[string]schema.Attribute{
					"path": schema.StringAttribute{
						Required:            true,
						Validators:          []validator.String{notEmpty},
						MarkdownDescription: "The folder, relative to the root module. `tenantctl init` makes the file `key` in it.",
					},
					"zone": schema.StringAttribute{
						Required:            true,
						Validators:          []validator.String{notEmpty},
						MarkdownDescription: "The DNS zone under which every tenant has its default hostname, such as `app.localhost`.",
					},
				},
			},
		},
	}
}

func keysAttribute(notEmpty validator.String) schema.Attribute {
	return schema.ListNestedAttribute{
		Optional:   true,
		Sensitive:  true,
		Validators: []validator.List{listvalidator.SizeAtLeast(1), listvalidator.NoNullValues()},
		MarkdownDescription: "The keys that mark objects and derive secrets. The first one is current; the others still verify " +
			"what they once marked. Left out, they come from the environment variable `TENANT_KEYS` (`id:base64`, separated " +
			"by commas), then from the key file of `embedded`. Use an ephemeral variable: nothing of it is stored.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Required:            true,
				Validators:          []validator.String{notEmpty},
				MarkdownDescription: "The name by which marks and states refer to the key: 1–16 of a-z, 0-9 and '-'.",
			},
			"secret": schema.StringAttribute{
				Required: true, Sensitive: true, Validators: []validator.String{notEmpty},
				MarkdownDescription: "At least 32 random bytes in base64.",
			},
		}},
	}
}

func poolAttributes(notEmpty validator.String) map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"postgres": postgresAttribute(notEmpty),
		"sqlite": schema.SingleNestedAttribute{
			Optional: true,
			Validators: []validator.Object{
				objectvalidator.ExactlyOneOf(
					path.MatchRelative(),
					path.MatchRelative().AtParent().AtName("postgres"),
				),
			},
			MarkdownDescription: "A folder with one SQLite file for each tenant.",
			Attributes: map[string]schema.Attribute{
				"path": schema.StringAttribute{
					Required: true, Validators: []validator.String{notEmpty},
					MarkdownDescription: "The folder, relative to the root module.",
				},
			},
		},
		"isolation": schema.StringAttribute{
			Optional: true,
			Validators: []validator.String{
				stringvalidator.OneOf(
					string(
						tenant.IsolationDatabase,
					),
					string(tenant.IsolationSchema),
					string(tenant.IsolationRow),
				),
			},
			MarkdownDescription: "How tenants are kept apart: `database` (the default), a database each; `schema`, a schema each in " +
				"the database of the URL; `row`, rows in its shared tables, behind row-level security. SQLite offers `database` only.",
		},
		"plans": schema.ListAttribute{
			Optional: true, ElementType: types.StringType,
			Validators: []validator.List{
				listvalidator.SizeAtLeast(
					1,
				),
				listvalidator.UniqueValues(),
				listvalidator.ValueStringsAre(notEmpty),
				listvalidator.NoNullValues(),
			},
			MarkdownDescription: "The plans whose tenants may live here; left out, all of them.",
		},
		"max_tenants": schema.Int64Attribute{
			Optional: true, Validators: []validator.Int64{int64validator.AtLeast(1)},
			MarkdownDescription: "How many tenants may live here; left out, any number.",
		},
	}
}

func postgresAttribute(notEmpty validator.String) schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "A PostgreSQL server, 15 or newer, and an administrator on it.",
		Attributes: map[string]schema.Attribute{
			"url": schema.StringAttribute{
				Required:   true,
				Sensitive:  true,
				Validators: []validator.String{notEmpty},
				MarkdownDescription: "The URL of an administrator with CREATEROLE and CREATEDB, no superuser; its database is the " +
					"shared one under `schema` and `row`. Use an ephemeral variable: nothing of it is stored.",
			},
			"extensions": schema.ListAttribute{
				Optional:    true,
				ElementType: types.StringType,
				Validators: []validator.List{
					listvalidator.ValueStringsAre(notEmpty),
					listvalidator.NoNullValues(),
				},
				MarkdownDescription: "The extensions that a tenant's `extensions` may ask for.",
			},
			"lock_timeout": schema.StringAttribute{
				Optional:   true,
				Validators: []validator.String{duration{}},
				MarkdownDescription: "How long a statement of a migration waits for a lock, like `10s` (the default): longer, and " +
					"everybody who comes after it waits, too.",
			},
			"statement_timeout": schema.StringAttribute{
				Optional:            true,
				Validators:          []validator.String{duration{}},
				MarkdownDescription: "How long a statement of a migration or seed may run, like `5m`. Left out, there is no limit.",
			},
			"max_connections": schema.Int64Attribute{
				Optional:   true,
				Validators: []validator.Int64{int64validator.AtLeast(minConnections)},
				MarkdownDescription: "How many connections are open at once, for all tenants together; work beyond that waits. " +
					"Defaults to 10.",
			},
		},
	}
}

// minConnections is one as administrator and one as a tenant's owner.
const minConnections = 2

// duration is a validator of texts like "90s".
type duration struct{}

// Description says what is allowed.
func (duration) Description(context.Context) string { return "a duration above zero, like 90s" }

// MarkdownDescription is Description.
func (d duration) MarkdownDescription(ctx context.Context) string { return d.Description(ctx) }

// ValidateString checks a known text.
func (d duration) ValidateString(
	ctx context.Context, req validator.StringRequest, resp *validator.StringResponse,
) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if length, err := time.ParseDuration(req.ConfigValue.ValueString()); err != nil || length <= 0 {
		resp.Diagnostics.Append(invalid(req.Path, "This is no duration", doingConfigure,
			fmt.Errorf("%q is not %s", req.ConfigValue.ValueString(), d.Description(ctx))))
	}
}
