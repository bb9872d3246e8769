// Package provider is the Terraform provider: its configuration, the backends that it names, and how it is served, as
// a plugin of its own or inside the driver's process.
package provider

import (
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Address is the provider's source address, under which Terraform finds it.
const Address = "registry.terraform.io/tenantry/tenant"

// CapturedSummary is the summary of the error that ends a CaptureOnly run: it says that the run did what it was for.
const CapturedSummary = "Provider configuration captured"

// Options is all that whoever serves the provider can ask of it. The zero value is what an installed plugin uses.
type Options struct {
	// Version is shown to Terraform.
	Version string
	// BaseDir is the folder of the root module, against which relative paths in the configuration are resolved; ""
	// is the process' working folder, which is the root module's in an installed plugin.
	BaseDir string
	// Journal records what is created; nil records nothing.
	Journal tenant.Journal
	// Shared keeps opened backends for other provider values too; nil gives this one its own.
	Shared *Shared
	// Capture, if not nil, is called each time a fully known configuration was accepted.
	Capture func(Captured)
	// CaptureOnly makes a run stop at the provider's configuration, with an error whose summary is CapturedSummary.
	CaptureOnly bool
	// LiftProtection makes resources ignore deletion_protection: for taking down what a run itself created.
	LiftProtection bool
	// RefuseDestroy fails the plan, and the apply, of whatever would delete or replace an object (CodeDestroyRefused).
	RefuseDestroy bool
	// Clock tells the time; nil is time.Now. Provider values with one Shared have one Clock.
	Clock func() time.Time
	// Getenv reads the environment; nil is os.Getenv.
	Getenv func(string) string
	// Failpoint is called at every named point between two writes, in a binary built with the tag failpoints.
	Failpoint func(name string)
}

// Captured is a provider configuration as it came from Terraform. It holds secrets: it is kept in memory, never
// stored.
type Captured struct {
	Request  *tfprotov6.ConfigureProviderRequest
	Backends *tenant.Backends
}
