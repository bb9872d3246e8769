package provider

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/float64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/objectvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/keycloak"
)

type identityModel struct {
	Keycloak *keycloakModel `tfsdk:"keycloak"`
}

type keycloakModel struct {
	URL               types.String  `tfsdk:"url"`
	Realm             types.String  `tfsdk:"realm"`
	ClientID          types.String  `tfsdk:"client_id"`
	ClientSecret      types.String  `tfsdk:"client_secret"`
	Isolation         types.String  `tfsdk:"isolation"`
	RequestsPerSecond types.Float64 `tfsdk:"requests_per_second"`
	MaxInFlight       types.Int64   `tfsdk:"max_in_flight"`
}

type dnsModel struct {
	Zone      types.String   `tfsdk:"zone"`
	Target    types.String   `tfsdk:"target"`
	Resolvers []string       `tfsdk:"resolvers"`
	RFC2136   *rfc2136Model  `tfsdk:"rfc2136"`
	PowerDNS  *powerdnsModel `tfsdk:"powerdns"`
}

type powerdnsModel struct {
	URL    types.String `tfsdk:"url"`
	APIKey types.String `tfsdk:"api_key"`
	Server types.String `tfsdk:"server"`
}

type rfc2136Model struct {
	Server        types.String `tfsdk:"server"`
	TSIGName      types.String `tfsdk:"tsig_name"`
	TSIGSecret    types.String `tfsdk:"tsig_secret"`
	TSIGAlgorithm types.String `tfsdk:"tsig_algorithm"`
}

func identityAttribute(notEmpty validator.String) schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "The identity provider. Left out, `embedded` supplies a store of its own.",
		Attributes: map[string]schema.Attribute{
			"keycloak": schema.SingleNestedAttribute{
				Required:            true,
				MarkdownDescription: "A Keycloak server, 26.7 or newer, and a service account on it.",
				Attributes: map[string]schema.Attribute{
					"url": schema.StringAttribute{
						Required: true, Validators: []validator.String{notEmpty},
						MarkdownDescription: "The server's address, without `/realms`.",
					},
					"realm": schema.StringAttribute{
						Required:            true,
						Validators:          []validator.String{notEmpty},
						MarkdownDescription: "The realm of the service account; under `organization` also that of the tenants.",
					},
					"client_id": schema.StringAttribute{
						Required:   true,
						Validators: []validator.String{notEmpty},
						MarkdownDescription: "The service account's client. It needs the roles `manage-organizations`, " +
							"`manage-clients`, `manage-users` and `view-realm`; a plan names those that are missing.",
					},
					"client_secret": schema.StringAttribute{
						Required:            true,
						Sensitive:           true,
						Validators:          []validator.String{notEmpty},
						MarkdownDescription: "Its secret. Use an ephemeral variable: nothing of it is stored.",
					},
					"isolation": schema.StringAttribute{
						Optional: true,
						Validators: []validator.String{
							stringvalidator.OneOf(string(keycloak.Organization)),
						},
						MarkdownDescription: "How tenants are kept apart: `organization`, an organization each in one realm.",
					},
					"requests_per_second": schema.Float64Attribute{
						Optional:            true,
						Validators:          []validator.Float64{float64validator.AtLeast(1)},
						MarkdownDescription: "How many requests the server gets a second, from all tenants together.",
					},
					"max_in_flight": schema.Int64Attribute{
						Optional: true, Validators: []validator.Int64{int64validator.AtLeast(1)},
						MarkdownDescription: "How many requests it gets at once.",
					},
				},
			},
		},
	}
}

func dnsAttribute(notEmpty validator.String) schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "The zone of the tenants' default hostnames, and the DNS in which customers prove their own ones.",
		Attributes: map[string]schema.Attribute{
			"zone": schema.StringAttribute{
				Required: true, Validators: []validator.String{notEmpty},
				MarkdownDescription: "The zone, such as `app.example.com`.",
			},
			"target": schema.StringAttribute{
				Optional:   true,
				Validators: []validator.String{notEmpty},
				MarkdownDescription: "The name that all hostnames point at: that of the edge. Defaults to `edge.` and the zone; its " +
					"address records are yours to make.",
			},
			"resolvers": schema.ListAttribute{
				Optional:    true,
				ElementType: types.StringType,
				Validators: []validator.List{
					listvalidator.ValueStringsAre(notEmpty),
					listvalidator.NoNullValues(),
				},
				MarkdownDescription: "The resolvers (`host:port`) that are asked which servers are authoritative for a customer's " +
					"zone. Left out, that is found from the public root. The proof itself is always looked for at the customer's " +
					"authoritative servers.",
			},
			"powerdns": schema.SingleNestedAttribute{
				Optional:            true,
				MarkdownDescription: "A PowerDNS server, by its HTTP API.",
				Attributes: map[string]schema.Attribute{
					"url": schema.StringAttribute{
						Required: true, Validators: []validator.String{notEmpty},
						MarkdownDescription: "The API's address; https unless the server is on this machine.",
					},
					"api_key": schema.StringAttribute{
						Required:            true,
						Sensitive:           true,
						Validators:          []validator.String{notEmpty},
						MarkdownDescription: "The API's key. Use an ephemeral variable: nothing of it is stored.",
					},
					"server": schema.StringAttribute{
						Optional:            true,
						MarkdownDescription: "The server's id in the API, `localhost` by default.",
					},
				},
			},
			"rfc2136": schema.SingleNestedAttribute{
				Optional: true,
				Validators: []validator.Object{objectvalidator.ExactlyOneOf(
					path.MatchRelative(), path.MatchRelative().AtParent().AtName("powerdns"))},
				MarkdownDescription: "A server that takes signed dynamic updates: BIND, Knot, PowerDNS and others.",
				Attributes: map[string]schema.Attribute{
					"server": schema.StringAttribute{
						Required: true, Validators: []validator.String{notEmpty},
						MarkdownDescription: "The primary server, `host` or `host:port`.",
					},
					"tsig_name": schema.StringAttribute{
						Required:            true,
						Validators:          []validator.String{notEmpty},
						MarkdownDescription: "The key's name. It must be allowed to update and to transfer the zone.",
					},
					"tsig_secret": schema.StringAttribute{
						Required:            true,
						Sensitive:           true,
						Validators:          []validator.String{notEmpty},
						MarkdownDescription: "The key in base64. Use an ephemeral variable: nothing of it is stored.",
					},
					"tsig_algorithm": schema.StringAttribute{
						Optional:            true,
						MarkdownDescription: "Its algorithm, `hmac-sha256` by default.",
					},
				},
			},
		},
	}
}
