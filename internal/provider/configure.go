package provider

import (
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/keycloak"
	"github.com/tenantry/terraform-provider-tenant/internal/postgres"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	// doingConfigure is what a failure here was doing.
	doingConfigure = "reading the provider's configuration"
	// zoneMaxLen leaves room below the zone for the longest tenant_id and for the names of owner records and claims
	// within the 253 bytes of a name (RFC 1035, section 2.3.4).
	zoneMaxLen = 160
	// databasesFolder is where embedded keeps its one pool.
	databasesFolder = "databases"
	// embeddedPool is the name of that pool.
	embeddedPool = "embedded"
)

// settings is a configuration that was checked: everything from which the backends are wired.
type settings struct {
	keyring     *tenant.Keyring
	fingerprint string // of the keys, in order: two configurations with other keys share nothing
	folder      string // of the embedded backends, resolved
	zone        string
	pools       []poolSettings
	upstreams   map[string]string
	target      string // where hostnames point at
	bindings    string // the edge's SQLite file, resolved
	identity    *keycloak.Config
	records     tenant.Records // nil: the embedded zone file
	resolvers   []string
}

type poolSettings struct {
	tenant.Pool

	folder   string           // of the SQLite files, resolved; "" for PostgreSQL
	postgres *postgres.Config // nil for SQLite
}

// settings checks everything that can be checked without asking anybody, and says all that is wrong at once.
func (p *tenantProvider) settings(model configModel) (settings, diag.Diagnostics) {
	var diags diag.Diagnostics
	var out settings
	if model.Embedded != nil {
		out.folder = p.resolve(model.Embedded.Path.ValueString())
	}
	for _, check := range []func(configModel, *settings) diag.Diagnostics{
		checkSupplied, p.checkEmbedded, p.checkZones, p.checkKeys, p.checkPools, checkUpstreams, p.checkSystems,
	} {
		diags.Append(check(model, &out)...)
	}
	return out, diags
}

func (p *tenantProvider) checkPools(model configModel, out *settings) diag.Diagnostics {
	if model.Pools == nil && model.Embedded == nil {
		return nil // told by checkSupplied
	}
	if model.Pools == nil {
		out.pools = []poolSettings{{
			Pool:   tenant.Pool{Name: embeddedPool, Isolation: tenant.IsolationDatabase},
			folder: filepath.Join(out.folder, databasesFolder),
		}}
		return nil
	}
	var diags diag.Diagnostics
	owner := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(model.Pools)) {
		pool := p.pool(name, model.Pools[name])
		diags.Append(pool.check(name)...)
		if other, taken := owner[pool.folder]; taken && pool.folder != "" {
			diags.Append(invalid(path.Root("pools").AtMapKey(name).AtName("sqlite").AtName("path"),
				"Two pools share one folder", doingConfigure,
				fmt.Errorf("the pools %q and %q both lie in %s", other, name, pool.folder)))
		}
		owner[pool.folder] = name
		out.pools = append(out.pools, pool)
	}
	return diags
}

func (p *tenantProvider) pool(name string, model poolModel) poolSettings {
	isolation := tenant.IsolationDatabase
	if chosen := model.Isolation.ValueString(); chosen != "" {
		isolation = tenant.Isolation(chosen)
	}
	out := poolSettings{Pool: tenant.Pool{
		Name: name, Isolation: isolation, Plans: model.Plans, MaxTenants: model.MaxTenants.ValueInt64(),
	}}
	if model.SQLite != nil {
		out.folder = p.resolve(model.SQLite.Path.ValueString())
	}
	if server := model.Postgres; server != nil {
		out.postgres = &postgres.Config{
			URL:              tenant.NewSecret(server.URL.ValueString()),
			Extensions:       server.Extensions,
			LockTimeout:      lengthOf(server.LockTimeout),
			StatementTimeout: lengthOf(server.StatementTimeout),
			MaxConnections:   int(server.MaxConnections.ValueInt64()),
		}
	}
	return out
}

// lengthOf reads a duration that the schema has checked; 0 if there is none.
func lengthOf(text types.String) time.Duration {
	length, err := time.ParseDuration(text.ValueString())
	if err != nil {
		return 0
	}
	return length
}

// check returns what can't be put together.
func (p poolSettings) check(name string) diag.Diagnostics {
	if p.postgres != nil || p.Isolation == tenant.IsolationDatabase {
		return nil
	}
	return diag.Diagnostics{invalid(path.Root("pools").AtMapKey(name).AtName("isolation"),
		"SQLite does not keep tenants apart so", doingConfigure,
		fmt.Errorf("the pool %q wants isolation %q; a SQLite file holds one tenant: only %q is offered",
			name, p.Isolation, tenant.IsolationDatabase))}
}

func checkUpstreams(model configModel, out *settings) diag.Diagnostics {
	if model.Edge == nil {
		return nil
	}
	var diags diag.Diagnostics
	for _, plan := range slices.Sorted(maps.Keys(model.Edge.Upstreams)) {
		if err := checkUpstream(model.Edge.Upstreams[plan]); err != nil {
			diags.Append(invalid(path.Root("edge").AtName("upstreams").AtMapKey(plan),
				"An upstream can't be reached so", doingConfigure, err))
		}
	}
	out.upstreams = model.Edge.Upstreams
	return diags
}

func checkUpstream(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" || strings.Contains(address, "/") {
		return fmt.Errorf("%q is not of the form host:port", address)
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return fmt.Errorf("%q has no port of 1 to 65535", address)
	}
	return nil
}

// resolve returns where a path of the configuration lies.
func (p *tenantProvider) resolve(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(p.options.BaseDir, name)
}
