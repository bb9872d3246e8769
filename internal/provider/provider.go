package provider

import (
	"context"
	"os"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/tenantry/terraform-provider-tenant/internal/resources"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// tenantProvider is one provider value: one configuration, one run of Terraform.
type tenantProvider struct {
	options  Options
	backends *tenant.Backends // nil before a fully known configuration was accepted
}

var _ provider.Provider = (*tenantProvider)(nil)

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
func (p *tenantProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "tenant"
	resp.Version = p.options.Version
}

// Resources are the four parts of a tenant.
func (p *tenantProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		resources.NewDatabase, resources.NewDomain, resources.NewIdentity, resources.NewSeed,
	}
}

// DataSources is empty.
func (p *tenantProvider) DataSources(context.Context) []func() datasource.DataSource { return nil }

// Configure reads the configuration and names the backends. It connects to nothing.
func (p *tenantProvider) Configure(
	ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse,
) {
	meta := &resources.Meta{
		Journal: p.options.Journal, BaseDir: p.options.BaseDir, LiftProtection: p.options.LiftProtection,
		Now: p.options.Clock, Failpoint: p.options.Failpoint,
	}
	resp.ResourceData = meta
	if !req.Config.Raw.IsFullyKnown() {
		resp.Diagnostics.AddWarning("The provider's configuration is not known yet",
			"A value in the provider block is known only after an apply. This plan looks nothing up; what it would have "+
				"found stays unknown.")
		return
	}
	var model configModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	settings, diags := p.settings(ctx, model)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	p.backends = p.wire(settings)
	meta.Backends = p.backends
}
