package resources

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// maxTTL is what a TTL can be at most, in seconds: RFC 2181, section 8.
const maxTTL = 1<<31 - 1

// defaultWindow is tenant.DefaultVerificationWindow as it is configured.
const defaultWindow = "72h"

// verificationNone is what verification says of a tenant without a custom hostname.
const verificationNone = "none"

// Schema describes the resource.
func (r *domainResource) Schema(
	ctx context.Context,
	_ resource.SchemaRequest,
	resp *resource.SchemaResponse,
) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The tenant's hostnames: one under the installation's zone at once, and optionally one of the " +
			"customer's own, which counts from the moment its proof of ownership was seen.",
		Attributes: map[string]schema.Attribute{
			"id":        idAttribute(),
			"tenant_id": tenantIDAttribute(tenant.StepDomain),
			"plan": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "The tenant's plan; it picks the upstream that the edge sends the traffic to.",
			},
			"custom_hostname": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "A hostname of the customer's own, in lower-case ASCII (A-label) form, outside our zone. " +
					"Waiting for its proof never blocks an apply.",
				Validators: []validator.String{check(tenant.StepDomain, tenant.CodeHostnameForbidden,
					"checking custom_hostname", func(s string) error {
						// No zone is a label of this one, so that the form alone is checked: the zone is known at plan time.
						return errors.Unwrap(tenant.CheckHostname(s, "-"))
					})},
			},
			"claim": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Whether a DNS record of the default hostname that nobody has marked is taken over: it is " +
					"marked, and then changed to point at the edge. Has no effect once the record is the tenant's.",
			},
			"timeouts": timeoutsAttribute(ctx),
			"ttl": schema.Int64Attribute{
				Optional: true, Computed: true,
				Default:             int64default.StaticInt64(int64(tenant.DefaultTTL.Seconds())),
				MarkdownDescription: "The TTL of our records, in seconds. Defaults to 300.",
				Validators:          []validator.Int64{between{tenant.StepDomain, "ttl", 1, maxTTL}},
			},
			"verification_window": schema.StringAttribute{
				Optional: true,
				Computed: true,
				Default:  stringdefault.StaticString(defaultWindow),
				MarkdownDescription: "How long a proof is waited for before the hostname counts as expired, like `72h` (the " +
					"default). A later proof still verifies it.",
				Validators: []validator.String{check(tenant.StepDomain, tenant.CodeInvalidConfig,
					"checking verification_window", checkWindow)},
			},
			"default_hostname": schema.StringAttribute{
				Computed: true, MarkdownDescription: "The hostname under the installation's zone.",
			},
			"verification": schema.StringAttribute{
				Computed: true,
				MarkdownDescription: "How far the custom hostname is proved: `none` without one, `pending`, `verified` or " +
					"`expired`. Only a planned change moves it.",
			},
			"proof_seen": schema.BoolAttribute{
				Computed:            true,
				MarkdownDescription: "Whether the last refresh saw the proof. The next apply then verifies the hostname.",
			},
			"window_passed": schema.BoolAttribute{
				Computed: true,
				MarkdownDescription: "Whether the last refresh found an unproved hostname past its window. The next apply then " +
					"counts it as expired.",
			},
			"usable_hostnames": schema.ListAttribute{
				Computed:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "The hostnames that are proved to be the tenant's: the default one first.",
			},
			"active_hostname": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "The hostname to show to people: the custom one once it is verified, else the default one.",
			},
			"required_records": schema.ListNestedAttribute{
				Computed: true,
				MarkdownDescription: "The DNS records that the customer has to publish for the custom hostname; none without " +
					"one.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"purpose": schema.StringAttribute{
						Computed:            true,
						MarkdownDescription: "What the record is for.",
					},
					"name": schema.StringAttribute{
						Computed:            true,
						MarkdownDescription: "Its fully qualified name.",
					},
					"type":  schema.StringAttribute{Computed: true, MarkdownDescription: "Its type."},
					"value": schema.StringAttribute{Computed: true, MarkdownDescription: "Its value."},
				}},
			},
			"upstream": schema.StringAttribute{
				Computed: true,
				MarkdownDescription: "Where the edge sends the traffic, as `host:port`: what the provider's edge has for the " +
					"plan; empty where the edge has one for all.",
			},
			"missing": schema.SetAttribute{
				Computed:    true,
				ElementType: types.StringType,
				MarkdownDescription: "What the last refresh missed of the objects that should be there. A plan empties it: the " +
					"apply makes them again.",
			},
			"altered": schema.SetAttribute{
				Computed:    true,
				ElementType: types.StringType,
				MarkdownDescription: "Which of our objects the last refresh found changed by somebody else. A plan empties it: " +
					"the apply puts them right.",
			},
		},
	}
}

func requiredRecordType() types.ObjectType {
	return types.ObjectType{AttrTypes: map[string]attr.Type{
		"purpose": types.StringType,
		"name":    types.StringType,
		"type":    types.StringType,
		"value":   types.StringType,
	}}
}
