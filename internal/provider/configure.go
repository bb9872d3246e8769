package provider

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	// keysVariable is the environment variable that holds the keys where the provider block has none.
	keysVariable = "TENANT_KEYS"
	// keyFile is the key file's name in the embedded folder.
	keyFile = "key"
	// embeddedPool is the name of the pool that embedded supplies.
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
}

type poolSettings struct {
	tenant.Pool

	folder string // of the SQLite files, resolved
}

func (p *tenantProvider) settings(_ context.Context, model configModel) (settings, diag.Diagnostics) {
	var diags diag.Diagnostics
	installation, err := tenant.ParseInstallation(model.Installation.ValueString())
	if err != nil {
		diags.Append(invalid(path.Root("installation"), "The installation can't be named so",
			"reading the provider's configuration", err))
		return settings{}, diags
	}
	if model.Embedded == nil {
		diags.Append(invalid(path.Root("embedded"), "The provider has no identity system, no DNS and no edge",
			"reading the provider's configuration", errors.New(
				"embedded is left out, and nothing else supplies them: add embedded = { path = \".tenant\", zone = … }")))
		return settings{}, diags
	}
	out := settings{folder: p.resolve(model.Embedded.Path.ValueString())}
	if diags.Append(p.checkEmbedded(model, &out)); diags.HasError() {
		return out, diags
	}
	keys, problem := p.keys(model)
	if problem == nil {
		out.keyring, err = tenant.NewKeyring(installation, keys)
		problem = keyProblem(model, err)
	}
	if problem != nil {
		diags.Append(problem)
		return out, diags
	}
	out.fingerprint = fingerprint(keys)
	out.pools = p.pools(model)
	if model.Edge != nil {
		out.upstreams = model.Edge.Upstreams
	}
	return out, diags
}

// checkEmbedded refuses what the embedded files can't be used for.
func (p *tenantProvider) checkEmbedded(model configModel, out *settings) diag.Diagnostic {
	at := path.Root("embedded")
	for _, name := range []string{"TFC_RUN_ID", "TFE_RUN_ID"} {
		if p.options.Getenv(name) != "" {
			return invalid(at, "Embedded files would be lost", "configuring embedded backends", fmt.Errorf(
				"%s is set: this runs remotely, on a machine whose files are gone after the run", name))
		}
	}
	out.zone = strings.TrimSuffix(model.Embedded.Zone.ValueString(), ".")
	// The rules of a hostname are those of a zone; no zone of ours is compared with, hence the dot.
	if err := tenant.CheckHostname(out.zone, "."); err != nil {
		return invalid(at.AtName("zone"), "The zone can't be named so", "checking the zone", bare(err))
	}
	return nil
}

func (p *tenantProvider) keys(model configModel) ([]tenant.Key, diag.Diagnostic) {
	if len(model.Keys) > 0 {
		return configuredKeys(model.Keys)
	}
	if text := p.options.Getenv(keysVariable); text != "" {
		keys, err := tenant.ParseKeys(text)
		if err != nil {
			return nil, invalid(path.Root("keys"), "The keys in "+keysVariable+" can't be read",
				"reading the environment variable "+keysVariable, err)
		}
		return keys, nil
	}
	name := filepath.Join(p.resolve(model.Embedded.Path.ValueString()), keyFile)
	keys, err := readKeyFile(name)
	if err != nil {
		return nil, invalid(path.Root("keys"), "There is no usable key", "reading the key file "+name, err)
	}
	return keys, nil
}

func configuredKeys(models []keyModel) ([]tenant.Key, diag.Diagnostic) {
	var keys []tenant.Key
	for n, model := range models {
		key, err := tenant.ParseKey(model.ID.ValueString(), model.Secret.ValueString())
		if err != nil {
			return nil, invalid(path.Root("keys").AtListIndex(n).AtName("secret"), "A key can't be read",
				"reading the configured keys", err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func keyProblem(_ configModel, err error) diag.Diagnostic {
	if err == nil {
		return nil
	}
	return invalid(path.Root("keys"), "The keys can't be used", "checking the keys", err)
}

// readKeyFile reads a file in the form of TENANT_KEYS, which nobody but its owner may read.
func readKeyFile(name string) ([]tenant.Key, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("it does not exist. `tenantctl init` makes one; if there was one before, put it back: " +
			"without it nothing that exists can be told from what is foreign")
	}
	if err != nil {
		return nil, err
	}
	if open := info.Mode().Perm() & 0o077; open != 0 {
		return nil, fmt.Errorf("its mode is %04o, so others may read it: make it 0600", info.Mode().Perm())
	}
	content, err := os.ReadFile(name) //nolint:gosec // the key file of the user's own configuration
	if err != nil {
		return nil, err
	}
	return tenant.ParseKeys(strings.TrimSpace(string(content)))
}

func fingerprint(keys []tenant.Key) string {
	var parts []string
	for _, key := range keys {
		parts = append(parts, key.ID+":"+tenant.NewSecret(string(key.Secret)).Hash())
	}
	return strings.Join(parts, ",")
}

// pools are the configured ones ordered by name, or the embedded one.
func (p *tenantProvider) pools(model configModel) []poolSettings {
	if len(model.Pools) == 0 {
		return []poolSettings{{
			Pool:   tenant.Pool{Name: embeddedPool, Isolation: tenant.IsolationDatabase},
			folder: filepath.Join(p.resolve(model.Embedded.Path.ValueString()), "databases"),
		}}
	}
	var pools []poolSettings
	for _, name := range slices.Sorted(maps.Keys(model.Pools)) {
		configured := model.Pools[name]
		isolation := tenant.Isolation(configured.Isolation.ValueString())
		if isolation == "" {
			isolation = tenant.IsolationDatabase
		}
		pools = append(pools, poolSettings{
			Pool: tenant.Pool{
				Name: name, Isolation: isolation, Plans: configured.Plans, MaxTenants: configured.MaxTenants.ValueInt64(),
			},
			folder: p.resolve(configured.SQLite.Path.ValueString()),
		})
	}
	return pools
}

// resolve returns where a path of the configuration lies.
func (p *tenantProvider) resolve(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.options.BaseDir, name)
}
