package acctest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/provider"
	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Config is a provider configuration as Terraform sends it, from JSON; what is left out is null.
func Config(text string) *tfprotov6.ConfigureProviderRequest {
	return &tfprotov6.ConfigureProviderRequest{Config: &tfprotov6.DynamicValue{JSON: []byte(text)}}
}

// Backends are the project's, seen with its key file.
func (p *Project) Backends(t *testing.T) *tenant.Backends {
	t.Helper()
	return p.configured(t, fmt.Sprintf(
		`{"installation": %q, "embedded": {"path": %q, "zone": %q}}`, Installation, EmbeddedFolder, Zone))
}

// Strangers are the same systems seen by somebody with another key: what they make is foreign to the project.
func (p *Project) Strangers(t *testing.T) *tenant.Backends {
	t.Helper()
	return p.configured(t, fmt.Sprintf(
		`{"installation": %q, "keys": [{"id": %q, "secret": %q}], "embedded": {"path": %q, "zone": %q}}`,
		Installation, KeyID, KeySecret(9), EmbeddedFolder, Zone))
}

func (p *Project) configured(t *testing.T, config string) *tenant.Backends {
	t.Helper()
	shared := provider.NewShared()
	t.Cleanup(func() { require.NoError(t, shared.Close()) })
	var backends *tenant.Backends
	server := provider.NewServer(provider.Options{
		BaseDir: p.Dir, Shared: shared, Getenv: func(string) string { return "" },
		Capture: func(captured provider.Captured) { backends = captured.Backends },
	})
	resp, err := server.ConfigureProvider(t.Context(), Config(config))
	require.NoError(t, err)
	require.Empty(t, resp.Diagnostics)
	return backends
}

// Inventory lists all objects with our mark, sorted: "database acme", "record acme acme.app.localhost/CNAME".
func Inventory(t *testing.T, backends *tenant.Backends) []string {
	t.Helper()
	var seen []string
	for _, list := range []func(context.Context, *tenant.Backends) ([]string, error){
		listDatabases, listIdentities, listRecords, listBindings,
	} {
		found, err := list(t.Context(), backends)
		require.NoError(t, err)
		seen = append(seen, found...)
	}
	slices.Sort(seen)
	return seen
}

var errNoLister = errors.New("a backend can't list its objects")

func listDatabases(ctx context.Context, backends *tenant.Backends) ([]string, error) {
	var seen []string
	for _, pool := range backends.Pools {
		lister, ok := pool.Databases.(tenant.DatabaseLister)
		if !ok {
			return nil, errNoLister
		}
		all, err := lister.ListDatabases(ctx)
		if err != nil {
			return nil, err
		}
		for id := range all {
			seen = append(seen, "database "+string(id))
		}
	}
	return seen, nil
}

func listIdentities(ctx context.Context, backends *tenant.Backends) ([]string, error) {
	lister, ok := backends.Identities.(tenant.IdentityLister)
	if !ok {
		return nil, errNoLister
	}
	all, err := lister.ListIdentities(ctx)
	var seen []string
	for id := range all {
		seen = append(seen, "organization "+string(id))
	}
	return seen, err
}

func listRecords(ctx context.Context, backends *tenant.Backends) ([]string, error) {
	lister, ok := backends.Domains.Records.(tenant.RecordLister)
	if !ok {
		return nil, errNoLister
	}
	all, err := lister.ListRecords(ctx)
	var seen []string
	for id, records := range all {
		for _, record := range records {
			seen = append(seen, "record "+string(id)+" "+record.Name+"/"+record.Type)
		}
	}
	return seen, err
}

func listBindings(ctx context.Context, backends *tenant.Backends) ([]string, error) {
	lister, ok := backends.Domains.Bindings.(tenant.BindingLister)
	if !ok {
		return nil, errNoLister
	}
	all, err := lister.ListBindings(ctx)
	var seen []string
	for id, bindings := range all {
		for _, binding := range bindings {
			seen = append(seen, "binding "+string(id)+" "+binding.Hostname)
		}
	}
	return seen, err
}

// Exec changes something in an SQLite file of the project, past all marks: drift.
func (p *Project) Exec(t *testing.T, name, statement string, args ...any) {
	t.Helper()
	db, err := sqlitefile.OpenExisting(p.Path(name))
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), statement, args...)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

// Prove publishes, as the customer would, the proof that a claim asks for.
func (p *Project) Prove(t *testing.T, claim tenant.Claim) {
	t.Helper()
	p.Write(t, EmbeddedFolder+"/proofs.zone", fmt.Sprintf("%s. 60 IN CNAME %s.\n",
		"_tenant-challenge."+claim.Hostname, strings.TrimSuffix(claim.Target, ".")))
}
