package provider_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/acctest"
	"github.com/tenantry/terraform-provider-tenant/internal/provider"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const embedded = `"embedded": {"path": ".tenant", "zone": "app.localhost"}`

// planted is recognisable wherever it should not be, in base64 and out of it.
const planted = "cGxhbnRlZC1zZWNyZXQtdGhhdC1tdXN0LW5vdC1iZS1zZWVu" // planted-secret-that-must-not-be-seen

type environment map[string]string

func (e environment) get(name string) string { return e[name] }

// configure configures a fresh provider in the project, and returns what was captured.
func configure(
	t *testing.T, p *acctest.Project, env environment, config *tfprotov6.ConfigureProviderRequest,
) ([]provider.Captured, []*tfprotov6.Diagnostic) {
	t.Helper()
	var captured []provider.Captured
	server := provider.NewServer(provider.Options{
		BaseDir: p.Dir,
		Getenv:  env.get,
		Capture: func(c provider.Captured) { captured = append(captured, c) },
	})
	resp, err := server.ConfigureProvider(t.Context(), config)
	require.NoError(t, err)
	return captured, resp.Diagnostics
}

func TestConfigurationThatCannotWork(t *testing.T) {
	t.Parallel()
	key := fmt.Sprintf(`"keys": [{"id": "k1", "secret": %q}]`, planted)
	for name, test := range map[string]struct {
		config  string
		env     environment
		prepare func(*testing.T, *acctest.Project)
		at      string
		says    string
	}{
		"no installation name": {config: `"installation": "Prod EU",` + embedded, at: `installation`, says: `contains 'P'`},
		"nothing for identity, DNS and edge": {
			config: `"installation": "test-eu",` + key, at: `embedded`, says: `embedded is left out, and nothing else supplies pools, identity, dns, edge.bindings`,
		},
		"a zone that is no name": {
			config: `"installation": "test-eu","embedded": {"path": ".tenant", "zone": "app_1.localhost"}`,
			at:     `embedded.zone`, says: `contains '_'`,
		},
		"a zone without a dot": {
			config: `"installation": "test-eu","embedded": {"path": ".tenant", "zone": "localhost"}`,
			at:     `embedded.zone`, says: `no dot`,
		},
		"a zone without room for tenants": {
			config: `"installation": "test-eu","embedded": {"path": ".tenant", "zone": "` +
				strings.Repeat("abcdefgh.", 20) + `example"}`,
			at: `embedded.zone`, says: `bytes long`,
		},
		"a short key": {
			config: `"installation": "test-eu","keys": [{"id": "k1", "secret": "cGxhbnRlZA=="}],` + embedded,
			at:     `keys`, says: `has 7 bytes; at least 32`,
		},
		"a key that is not base64": {
			config: `"installation": "test-eu","keys": [{"id": "k1", "secret": "` + planted + `!"}],` + embedded,
			at:     `keys[0].secret`, says: `not valid base64`,
		},
		"one key id twice": {
			config: fmt.Sprintf(`"installation": "test-eu","keys": [{"id": "k1", "secret": %q}, {"id": "k1", "secret": %q}],`,
				planted, planted) + embedded,
			at: `keys`, says: `used twice`,
		},
		"a key id that fits no mark": {
			config: fmt.Sprintf(`"installation": "test-eu","keys": [{"id": "k:1", "secret": %q}],`, planted) + embedded,
			at:     `keys`, says: `contains ':'`,
		},
		"keys in the environment without an id": {
			config: `"installation": "test-eu",` + embedded, env: environment{"TENANT_KEYS": planted},
			at: `keys`, says: `not of the form id:base64`,
		},
		"no key file": {
			config: `"installation": "test-eu",` + embedded,
			prepare: func(t *testing.T, p *acctest.Project) {
				t.Helper()
				require.NoError(t, os.Remove(p.Path(".tenant/key")))
			},
			at: `embedded.path`, says: `tenantctl init makes one`,
		},
		"a key file that the group may read": {
			config: `"installation": "test-eu",` + embedded,
			prepare: func(t *testing.T, p *acctest.Project) {
				t.Helper()
				require.NoError(t, os.Chmod(p.Path(".tenant/key"), 0o640))
			},
			at: `embedded.path`, says: `its mode is 0640`,
		},
		"a key file of another form": {
			config:  `"installation": "test-eu",` + embedded,
			prepare: func(t *testing.T, p *acctest.Project) { t.Helper(); p.WriteKeys(t, planted) },
			at:      `embedded.path`, says: `not of the form id:base64`,
		},
		"embedded files in HCP Terraform": {
			config: `"installation": "test-eu",` + embedded, env: environment{"TFC_RUN_ID": "run-1"},
			at: `embedded`, says: `TFC_RUN_ID is set`,
		},
		"embedded files in Terraform Enterprise": {
			config: `"installation": "test-eu",` + embedded, env: environment{"TFE_RUN_ID": "run-1"},
			at: `embedded`, says: `TFE_RUN_ID is set`,
		},
		"two pools in one folder": {
			config: `"installation": "test-eu","pools": {"a": {"sqlite": {"path": "x"}}, "b": {"sqlite": {"path": "./x/"}}},` +
				embedded,
			at: `pools["b"].sqlite.path`, says: `pools "a" and "b"`,
		},
		"an upstream that is a URL": {
			config: `"installation": "test-eu","edge": {"upstreams": {"pro": "http://app"}},` + embedded,
			at:     `edge.upstreams["pro"]`, says: `not of the form host:port`,
		},
		"an upstream without a port": {
			config: `"installation": "test-eu","edge": {"upstreams": {"pro": "app:0"}},` + embedded,
			at:     `edge.upstreams["pro"]`, says: `no port`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := acctest.NewProject(t)
			if test.prepare != nil {
				test.prepare(t, p)
			}
			before := p.Files(t)
			captured, diagnostics := configure(t, p, test.env, acctest.Config("{"+test.config+"}"))
			require.Empty(t, captured)
			require.Len(t, diagnostics, 1)
			found := diagnostics[0]
			require.Equal(t, tfprotov6.DiagnosticSeverityError, found.Severity)
			require.Equal(t, test.at, pathOf(found))
			require.Contains(t, found.Detail, test.says)
			failure, ok := tenant.ParseFailureLine(found.Detail)
			require.True(t, ok, found.Detail)
			require.Equal(t, tenant.Failure{Code: tenant.CodeInvalidConfig, Class: tenant.Terminal}, failure)
			require.NotContains(t, found.Summary+found.Detail, "lanted", "a secret")
			require.NotContains(t, found.Summary+found.Detail, planted[:12], "a secret")
			require.Equal(t, before, p.Files(t))
		})
	}
}

func pathOf(d *tfprotov6.Diagnostic) string {
	var text strings.Builder
	for _, step := range d.Attribute.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			if text.Len() > 0 {
				text.WriteByte('.')
			}
			text.WriteString(string(step))
		case tftypes.ElementKeyInt:
			fmt.Fprintf(&text, "[%d]", int64(step))
		case tftypes.ElementKeyString:
			fmt.Fprintf(&text, "[%q]", string(step))
		}
	}
	return text.String()
}

func TestAllThatIsWrongIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	_, diagnostics := configure(t, acctest.NewProject(t), nil, acctest.Config(`{
		"installation": "Test", "keys": [{"id": "k1", "secret": "c2hvcnQ="}],
		"edge": {"upstreams": {"pro": "nowhere"}}, "embedded": {"path": ".tenant", "zone": "x"}}`))
	var at []string
	for _, diagnostic := range diagnostics {
		at = append(at, pathOf(diagnostic))
	}
	require.Equal(t, []string{"embedded.zone", "installation", "edge.upstreams[\"pro\"]"}, at)
}

// TestKeysComeFromTheFirstPlaceThatHasThem: configuration, environment, key file.
func TestKeysComeFromTheFirstPlaceThatHasThem(t *testing.T) {
	t.Parallel()
	p := acctest.NewProject(t)
	env := environment{"TENANT_KEYS": acctest.KeyText("env", 2) + ", " + acctest.KeyText("old", 3)}
	configured := fmt.Sprintf(`{"installation": "test-eu", "keys": [{"id": "conf", "secret": %q}], %s}`,
		acctest.KeySecret(1), embedded)
	alone := `{"installation": "test-eu", ` + embedded + `}`
	for _, test := range []struct {
		env    environment
		config string
		key    string
	}{{env, configured, "conf"}, {env, alone, "env"}, {nil, alone, acctest.KeyID}} {
		captured, diagnostics := configure(t, p, test.env, acctest.Config(test.config))
		require.Empty(t, diagnostics)
		require.Len(t, captured, 1)
		require.Equal(t, test.key, captured[0].Backends.Keyring.CurrentKeyID())
	}
}

func TestWhatIsConfigured(t *testing.T) {
	t.Parallel()
	p := acctest.NewProject(t)
	before := p.Files(t)
	request := acctest.Config(`{"installation": "test-eu",
		"pools": {
			"small": {"sqlite": {"path": "small"}, "plans": ["trial", "pro"], "max_tenants": 2},
			"big": {"sqlite": {"path": "/nowhere/big"}, "isolation": "database"}},
		"edge": {"upstreams": {"pro": "app-pro:8080", "": "[::1]:80"}}, ` + embedded + `}`)
	captured, diagnostics := configure(t, p, nil, request)
	require.Empty(t, diagnostics)
	require.Len(t, captured, 1)
	require.Same(t, request, captured[0].Request)
	backends := captured[0].Backends
	require.Equal(t, "test-eu", backends.Keyring.Installation())
	require.Equal(t, "app.localhost", backends.Zone)
	require.Equal(t, "app.localhost", backends.Domains.Records.Zone())
	require.Equal(t, "edge.app.localhost", backends.Domains.Target)
	require.Equal(t, map[string]string{"pro": "app-pro:8080", "": "[::1]:80"}, backends.Upstreams)
	require.Len(t, backends.Pools, 2)
	require.Equal(t, "big", backends.Pools[0].Name)
	require.True(t, backends.Pools[0].Takes("enterprise"))
	require.Zero(t, backends.Pools[0].MaxTenants)
	require.Equal(t, "small", backends.Pools[1].Name)
	require.False(t, backends.Pools[1].Takes("enterprise"))
	require.Equal(t, int64(2), backends.Pools[1].MaxTenants)
	for _, pool := range backends.Pools {
		require.Equal(t, tenant.IsolationDatabase, pool.Isolation)
		require.NotNil(t, pool.Databases)
		require.NotNil(t, pool.Seeds)
	}
	require.Equal(t, before, p.Files(t), "configuring connects to nothing")
}

func TestTheEmbeddedPoolTakesEveryPlan(t *testing.T) {
	t.Parallel()
	backends := acctest.NewProject(t).Backends(t)
	require.Len(t, backends.Pools, 1)
	require.Equal(t, "embedded", backends.Pools[0].Name)
	require.True(t, backends.Pools[0].Takes("whatever"))
	require.Zero(t, backends.Pools[0].MaxTenants)
}

// partlyUnknown is a configuration whose installation is known only after an apply.
func partlyUnknown(t *testing.T, server tfprotov6.ProviderServer) *tfprotov6.ConfigureProviderRequest {
	t.Helper()
	schema, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	require.NoError(t, err)
	kind := schema.Provider.ValueType()
	known, err := (&tfprotov6.DynamicValue{JSON: []byte("{" + embedded + "}")}).Unmarshal(kind)
	require.NoError(t, err)
	var attributes map[string]tftypes.Value
	require.NoError(t, known.As(&attributes))
	attributes["installation"] = tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
	value, err := tfprotov6.NewDynamicValue(kind, tftypes.NewValue(kind, attributes))
	require.NoError(t, err)
	return &tfprotov6.ConfigureProviderRequest{Config: &value}
}

func TestUnknownConfigurationIsOneWarning(t *testing.T) {
	t.Parallel()
	p := acctest.NewProject(t)
	var captured []provider.Captured
	server := provider.NewServer(provider.Options{
		BaseDir: p.Dir, Capture: func(c provider.Captured) { captured = append(captured, c) },
	})
	resp, err := server.ConfigureProvider(t.Context(), partlyUnknown(t, server))
	require.NoError(t, err)
	require.Len(t, resp.Diagnostics, 1)
	require.Equal(t, tfprotov6.DiagnosticSeverityWarning, resp.Diagnostics[0].Severity)
	require.Empty(t, captured)

	// The apply knows it.
	resp, err = server.ConfigureProvider(
		t.Context(),
		acctest.Config(`{"installation": "test-eu", `+embedded+`}`),
	)
	require.NoError(t, err)
	require.Empty(t, resp.Diagnostics)
	require.Len(t, captured, 1)
}

func TestAnUnknownConfigurationCannotBeCaptured(t *testing.T) {
	t.Parallel()
	server := provider.NewServer(provider.Options{
		BaseDir: t.TempDir(), CaptureOnly: true, Capture: func(provider.Captured) { t.Error("captured") },
	})
	resp, err := server.ConfigureProvider(t.Context(), partlyUnknown(t, server))
	require.NoError(t, err)
	require.Len(t, resp.Diagnostics, 2)
	failure, ok := tenant.ParseFailureLine(resp.Diagnostics[1].Detail)
	require.True(t, ok)
	require.Equal(t, tenant.CodeInvalidConfig, failure.Code)
	require.NotEqual(t, provider.CapturedSummary, resp.Diagnostics[1].Summary)
}

func TestTwoConfigurationsReachOneInstance(t *testing.T) {
	t.Parallel()
	p := acctest.NewProject(t)
	var captured []provider.Captured
	server := provider.NewServer(provider.Options{
		BaseDir: p.Dir, Capture: func(c provider.Captured) { captured = append(captured, c) },
	})
	first := `{"installation": "test-eu", ` + embedded + `}`
	for range 2 { // Terraform configures for the plan and again for the apply
		resp, err := server.ConfigureProvider(t.Context(), acctest.Config(first))
		require.NoError(t, err)
		require.Empty(t, resp.Diagnostics)
	}
	resp, err := server.ConfigureProvider(
		t.Context(),
		acctest.Config(`{"installation": "test-us", `+embedded+`}`),
	)
	require.NoError(t, err)
	require.Len(t, resp.Diagnostics, 1)
	require.Equal(t, "The provider is configured twice", resp.Diagnostics[0].Summary)
	require.Len(t, captured, 2)
	require.Equal(t, "test-eu", captured[1].Backends.Keyring.Installation())
}
