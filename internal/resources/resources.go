// Package resources holds the provider's four resources: tenant_database, tenant_domain, tenant_identity and
// tenant_seed. Each plans what can be known beforehand, adopts what is the tenant's own, refuses what is not, and tells
// every failure in one form.
package resources

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Meta is what the provider's configuration hands to every resource, as ProviderData.
type Meta struct {
	// Backends is the outside world. It is nil while a part of the provider's configuration is unknown: then plans look
	// nothing up, and leave unknown what they would have found.
	Backends *tenant.Backends
	// Journal records what is created; nil records nothing.
	Journal tenant.Journal
	// BaseDir is the folder that relative paths in the configuration start from: the root module's. "" is the working
	// folder.
	BaseDir string
	// LiftProtection lets a protected tenant be destroyed: an offboarding was confirmed by other means.
	LiftProtection bool
	// Now is the time by which verification windows pass; nil is time.Now.
	Now func() time.Time
	// Failpoint is called between any two outside writes; nil does nothing. The provider puts it into each context.
	Failpoint func(string)
}

func (m *Meta) journal() tenant.Journal {
	if m.Journal == nil {
		return tenant.NoJournal{}
	}
	return m.Journal
}

func (m *Meta) now() time.Time {
	if m.Now == nil {
		return time.Now()
	}
	return m.Now()
}

// resolve returns where a path of the configuration lies.
func (m *Meta) resolve(path string) string {
	if filepath.IsAbs(path) || m.BaseDir == "" {
		return path
	}
	return filepath.Join(m.BaseDir, path)
}

// configured is the part of each resource that the provider's configuration fills in.
type configured struct{ meta *Meta }

// Configure takes the provider's Meta. Before the provider is configured there is none, and nothing is asked of the
// resource but its schema and the validation of a configuration.
func (c *configured) Configure(
	_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse,
) {
	c.meta = metaOf(req.ProviderData, &resp.Diagnostics)
}

// errNotConfigured is for what has nothing to answer while the provider's configuration is not wholly known.
func errNotConfigured(doing string) error {
	return tenant.Fail(tenant.CodeInvalidConfig, doing,
		errors.New("a part of the provider's configuration is not known before an apply"))
}

// backends is nil while the provider's configuration is not wholly known.
func (c *configured) backends() *tenant.Backends {
	if c.meta == nil {
		return nil
	}
	return c.meta.Backends
}
