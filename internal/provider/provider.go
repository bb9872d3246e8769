package provider

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/tenantry/terraform-provider-tenant/internal/functions"
	"github.com/tenantry/terraform-provider-tenant/internal/resources"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// tenantProvider is one provider value: one configuration, one run of Terraform.
type tenantProvider struct {
	options Options

	mu     sync.Mutex
	config *tftypes.Value  // the configuration that counts; nil before there is one
	meta   *resources.Meta // what it means for the resources
}

var (
	_ provider.ProviderWithFunctions          = (*tenantProvider)(nil)
	_ provider.ProviderWithEphemeralResources = (*tenantProvider)(nil)
	_ provider.ProviderWithListResources      = (*tenantProvider)(nil)
	_ provider.ProviderWithActions            = (*tenantProvider)(nil)
)

// New returns a provider value. Serve it by NewServer or Serve, which guard it against panics.
func New(options Options) provider.Provider { return newProvider(options) }

func newProvider(options Options) *tenantProvider {
	if options.Shared == nil {
		options.Shared = NewShared()
	}
	if options.Clock == nil {
		options.Clock = time.Now
	}
	if options.Getenv == nil {
		options.Getenv = os.Getenv
	}
	return &tenantProvider{options: options}
}

// Metadata names the provider.
func (p *tenantProvider) Metadata(
	_ context.Context,
	_ provider.MetadataRequest,
	resp *provider.MetadataResponse,
) {
	resp.TypeName = "tenant"
	resp.Version = p.options.Version
}

// Resources are the four parts of a tenant.
func (p *tenantProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		resources.NewDatabase, resources.NewDomain, resources.NewIdentity, resources.NewSeed,
	}
}

// DataSources tell of the configuration, and of what the systems hold.
func (p *tenantProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{resources.NewPools, resources.NewMigrations, resources.NewTenant}
}

// EphemeralResources derive credentials.
func (p *tenantProvider) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{
		resources.NewDatabaseCredentials, resources.NewIdentityCredentials,
	}
}

// Functions compute names.
func (p *tenantProvider) Functions(context.Context) []func() function.Function {
	return functions.All()
}

// ListResources are for Terraform 1.14 and newer.
func (p *tenantProvider) ListResources(context.Context) []func() list.ListResource {
	return []func() list.ListResource{
		resources.NewDatabaseList, resources.NewDomainList, resources.NewIdentityList,
	}
}

// Actions are for Terraform 1.14 and newer.
func (p *tenantProvider) Actions(context.Context) []func() action.Action {
	return []func() action.Action{resources.NewResendInvitation}
}

// Configure reads the configuration and names the backends. It connects to nothing. Terraform calls it for the plan
// and again for the apply; where one served instance answers both, two aliases would end up here as well, and are
// told apart by their configurations: the second is refused, the first goes on to count.
func (p *tenantProvider) Configure(
	ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse,
) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.config != nil && !mayBeSame(*p.config, req.Config.Raw) {
		p.handOver(resp, p.meta)
		resp.Diagnostics.Append(
			invalid(
				path.Empty(),
				"The provider is configured twice",
				"configuring the provider",
				errors.New(
					"the root module has two provider \"tenant\" blocks that differ, which one served provider can't "+
						"tell apart: keep one, and give each fleet a root module of its own",
				),
			),
		)
		return
	}
	meta := &resources.Meta{
		Journal: p.options.Journal, BaseDir: p.options.BaseDir, LiftProtection: p.options.LiftProtection,
		Now: p.options.Clock, Failpoint: p.options.Failpoint,
	}
	if p.read(ctx, req, resp, meta); resp.Diagnostics.HasError() {
		return
	}
	p.config, p.meta = &req.Config.Raw, meta
	p.handOver(resp, meta)
}

// handOver gives the configuration to all that Terraform may ask for.
func (p *tenantProvider) handOver(resp *provider.ConfigureResponse, meta *resources.Meta) {
	resp.ResourceData, resp.DataSourceData, resp.EphemeralResourceData = meta, meta, meta
	resp.ListResourceData, resp.ActionData = meta, meta
}

// read gives meta the backends that the configuration names; none if a part of it is unknown.
func (p *tenantProvider) read(
	ctx context.Context,
	req provider.ConfigureRequest,
	resp *provider.ConfigureResponse,
	meta *resources.Meta,
) {
	if !req.Config.Raw.IsFullyKnown() {
		resp.Diagnostics.AddWarning(
			"The provider's configuration is not known yet",
			"A value in the provider block is known only after an apply. This plan looks nothing up; what it would have "+
				"found stays unknown.",
		)
		return
	}
	var model configModel
	if resp.Diagnostics.Append(req.Config.Get(ctx, &model)...); resp.Diagnostics.HasError() {
		return
	}
	settings, diags := p.settings(model)
	if resp.Diagnostics.Append(diags...); resp.Diagnostics.HasError() {
		return
	}
	meta.Backends = p.wire(settings)
}

// backends are those of the configuration that counts; nil while it is not wholly known.
func (p *tenantProvider) backends() *tenant.Backends {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.meta == nil {
		return nil
	}
	return p.meta.Backends
}

// mayBeSame reports whether two values agree wherever both are known.
func mayBeSame(a, b tftypes.Value) bool {
	if !a.IsKnown() || !b.IsKnown() {
		return true
	}
	if a.IsNull() || b.IsNull() {
		return a.IsNull() == b.IsNull()
	}
	var listA, listB []tftypes.Value
	if a.As(&listA) == nil && b.As(&listB) == nil {
		return sameElements(listA, listB)
	}
	var mapA, mapB map[string]tftypes.Value
	if a.As(&mapA) == nil && b.As(&mapB) == nil {
		return sameEntries(mapA, mapB)
	}
	return a.Equal(b)
}

func sameElements(a, b []tftypes.Value) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !mayBeSame(a[i], b[i]) {
			return false
		}
	}
	return true
}

func sameEntries(a, b map[string]tftypes.Value) bool {
	if len(a) != len(b) {
		return false
	}
	for key, value := range a {
		if other, ok := b[key]; !ok || !mayBeSame(value, other) {
			return false
		}
	}
	return true
}
