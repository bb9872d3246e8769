package resources_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	acc "github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/edge"
	"github.com/tenantry/terraform-provider-tenant/internal/localid"
	"github.com/tenantry/terraform-provider-tenant/internal/resources"
	"github.com/tenantry/terraform-provider-tenant/internal/sqlite"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/zonefile"
)

const (
	installation = "test-eu"
	zone         = "app.localhost"
)

// world is the outside of one test: real backends in a folder of its own, seen with one keyring.
type world struct {
	dir        string
	meta       *resources.Meta
	databases  *sqlite.Backend
	identities *localid.Store
	records    *zonefile.Zone
	bindings   *edge.Store

	mu       sync.Mutex
	now      time.Time
	warnings []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	ring := keyring(t, key("k1", 7))
	w.open(t, ring)
	w.meta = &resources.Meta{Backends: w.backends(ring), BaseDir: w.dir, Now: w.clock}
	return w
}

func key(id string, fill byte) tenant.Key {
	return tenant.Key{ID: id, Secret: bytes.Repeat([]byte{fill}, tenant.MinKeyLen)}
}

func keyring(t *testing.T, keys ...tenant.Key) *tenant.Keyring {
	t.Helper()
	ring, err := tenant.NewKeyring(installation, keys)
	require.NoError(t, err)
	return ring
}

// rogue is the same outside seen by somebody with another key: what it makes is foreign to w.
func (w *world) rogue(t *testing.T) *world {
	t.Helper()
	ring := keyring(t, key("k1", 9))
	other := &world{dir: w.dir, now: w.now}
	other.open(t, ring)
	other.meta = &resources.Meta{Backends: other.backends(ring), BaseDir: w.dir, Now: other.clock}
	return other
}

func (w *world) open(t *testing.T, ring *tenant.Keyring) {
	t.Helper()
	w.databases = w.pool(t, "databases", ring)
	w.identities = localid.New(localid.Config{
		Path: w.path("identity.db"), Keyring: ring, Now: w.clock,
		LoginURL: func(id tenant.ID) string { return "https://" + tenant.DefaultHostname(id, zone) },
	})
	w.records = zonefile.New(
		zonefile.Config{Path: w.path(zone + ".zone"), Zone: zone, Keyring: ring, Now: w.clock},
	)
	w.bindings = edge.New(edge.Config{Path: w.path("edge.db"), Zone: zone, Keyring: ring, Now: w.clock})
	t.Cleanup(func() {
		require.NoError(t, w.identities.Close())
		require.NoError(t, w.records.Close())
		require.NoError(t, w.bindings.Close())
	})
}

func (w *world) pool(t *testing.T, folder string, ring *tenant.Keyring) *sqlite.Backend {
	t.Helper()
	return sqlite.New(sqlite.Config{Dir: w.path(folder), Keyring: ring, Now: w.clock})
}

func (w *world) backends(ring *tenant.Keyring) *tenant.Backends {
	return &tenant.Backends{
		Keyring: ring,
		Pools: tenant.Pools{
			{
				Name:      "embedded",
				Isolation: tenant.IsolationDatabase,
				Databases: w.databases,
				Seeds:     w.databases.Seeds(),
			},
		},
		Identities: w.identities,
		Domains: tenant.Domains{
			Records:  w.records,
			Claims:   w.bindings,
			Bindings: w.bindings,
			Proofs:   zonefile.NewProofs(w.path("proofs.zone")),
			Target:   "edge." + zone,
			Now:      w.clock,
		},
		Gate: w.bindings, Zone: zone,
	}
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// run runs steps with the real Terraform. After each applied step Terraform plans again, and that plan must be empty.
func (w *world) run(t *testing.T, steps ...acc.TestStep) {
	t.Helper()
	acc.Test(t, acc.TestCase{
		ProtoV6ProviderFactories: map[string]func() (tfprotov6.ProviderServer, error){
			"tenant": func() (tfprotov6.ProviderServer, error) {
				served, err := providerserver.NewProtocol6WithError(testProvider{w.meta})()
				require.NoError(t, err)
				inner, ok := served.(resources.Server)
				require.True(t, ok)
				return listener{resources.Sealed(inner), w}, nil
			},
		},
		Steps: steps,
	})
}

// warned returns the warnings since the last call.
func (w *world) warned() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := strings.Join(w.warnings, "\n")
	w.warnings = nil
	return all
}

// testProvider has the four resources and a configuration that was made beforehand.
type testProvider struct{ meta *resources.Meta }

func (testProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "tenant"
}

func (testProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"wait_for": schema.StringAttribute{Optional: true},
	}}
}

// Configure hands over no backends while wait_for is unknown, as the real provider does with its configuration.
func (p testProvider) Configure(
	_ context.Context,
	req provider.ConfigureRequest,
	resp *provider.ConfigureResponse,
) {
	meta := *p.meta
	if !req.Config.Raw.IsFullyKnown() {
		meta.Backends = nil
	}
	resp.ResourceData = &meta
}

func (testProvider) DataSources(context.Context) []func() datasource.DataSource { return nil }

func (testProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		resources.NewDatabase, resources.NewDomain, resources.NewIdentity, resources.NewSeed,
	}
}

// listener keeps the warnings, which Terraform's test framework does not show.
type listener struct {
	tfprotov6.ProviderServer

	world *world
}

func (l listener) hear(diagnostics []*tfprotov6.Diagnostic) {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	for _, diagnostic := range diagnostics {
		if diagnostic.Severity == tfprotov6.DiagnosticSeverityWarning {
			l.world.warnings = append(l.world.warnings, diagnostic.Summary+"\n"+diagnostic.Detail)
		}
	}
}

func (l listener) PlanResourceChange(
	ctx context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	resp, err := l.ProviderServer.PlanResourceChange(ctx, req)
	if resp != nil {
		l.hear(resp.Diagnostics)
	}
	return resp, err
}

func (l listener) ApplyResourceChange(
	ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	resp, err := l.ProviderServer.ApplyResourceChange(ctx, req)
	if resp != nil {
		l.hear(resp.Diagnostics)
	}
	return resp, err
}

// failsWith expects an error of that code whose text contains all of the words. Terraform wraps its text at any blank.
func failsWith(code tenant.Code, words ...string) *regexp.Regexp {
	parts := make([]string, 0, len(words)+1)
	for _, word := range words {
		parts = append(parts, strings.ReplaceAll(regexp.QuoteMeta(word), " ", `[\s│]+`))
	}
	return regexp.MustCompile(`(?s)` + strings.Join(append(parts, "code="+string(code)+" "), ".*"))
}

// forget is a step that takes a resource out of the state and leaves the outside as it is: a lost state.
func forget(address string) acc.TestStep { return acc.TestStep{Config: forgotten(address)} }

func forgotten(address string) string {
	return fmt.Sprintf("removed {\n  from = %s\n  lifecycle {\n    destroy = false\n  }\n}\n", address)
}

func planned(checks ...plancheck.PlanCheck) acc.ConfigPlanChecks {
	return acc.ConfigPlanChecks{PreApply: checks}
}

func write(t *testing.T, path string, lines ...string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}
