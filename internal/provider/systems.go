package provider

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/tenantry/terraform-provider-tenant/internal/keycloak"
	"github.com/tenantry/terraform-provider-tenant/internal/powerdns"
	"github.com/tenantry/terraform-provider-tenant/internal/rfc2136"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// checkSupplied names what nothing supplies where embedded is left out.
func checkSupplied(model configModel, _ *settings) diag.Diagnostics {
	if model.Embedded != nil {
		return nil
	}
	var missing []string
	for _, part := range []struct {
		name  string
		given bool
	}{
		{"pools", model.Pools != nil},
		{"identity", model.Identity != nil},
		{"dns", model.DNS != nil},
		{"edge.bindings", model.Edge != nil && !model.Edge.Bindings.IsNull()},
	} {
		if !part.given {
			missing = append(missing, part.name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return diag.Diagnostics{
		invalid(path.Root("embedded"), "A part of the provider's configuration is missing",
			doingConfigure, fmt.Errorf("embedded is left out, and nothing else supplies %s: add them, or "+
				"embedded = { path = \".tenant\", zone = \"app.localhost\" }", strings.Join(missing, ", "))),
	}
}

// checkZones takes the zone from dns, or from embedded.
func (p *tenantProvider) checkZones(model configModel, out *settings) diag.Diagnostics {
	at := path.Root("embedded").AtName("zone")
	if model.Embedded != nil {
		out.zone = strings.TrimSuffix(model.Embedded.Zone.ValueString(), ".")
	}
	if model.DNS != nil {
		zone := strings.TrimSuffix(model.DNS.Zone.ValueString(), ".")
		if model.Embedded != nil && zone != out.zone {
			return diag.Diagnostics{invalid(at, "There are two zones", doingConfigure,
				fmt.Errorf("dns has %q and embedded has %q: tenants have one", zone, out.zone))}
		}
		out.zone, at = zone, path.Root("dns").AtName("zone")
	}
	if out.zone == "" {
		return nil // told by checkSupplied
	}
	if err := checkZone(out.zone); err != nil {
		return diag.Diagnostics{invalid(at, "The zone can't be named so", doingConfigure, err)}
	}
	out.target = "edge." + out.zone
	return nil
}

// checkSystems reads what names real systems. It comes after the keys, which sign for them.
func (p *tenantProvider) checkSystems(model configModel, out *settings) diag.Diagnostics {
	var diags diag.Diagnostics
	if model.Identity != nil {
		server := model.Identity.Keycloak
		out.identity = &keycloak.Config{
			URL:               server.URL.ValueString(),
			Realm:             server.Realm.ValueString(),
			ClientID:          server.ClientID.ValueString(),
			ClientSecret:      tenant.NewSecret(server.ClientSecret.ValueString()),
			Isolation:         keycloak.Isolation(server.Isolation.ValueString()),
			RequestsPerSecond: server.RequestsPerSecond.ValueFloat64(),
			MaxInFlight:       int(server.MaxInFlight.ValueInt64()),
		}
	}
	if model.Edge != nil && !model.Edge.Bindings.IsNull() {
		out.bindings = p.resolve(model.Edge.Bindings.ValueString())
	} else if model.Embedded != nil {
		out.bindings = filepath.Join(out.folder, "edge.db")
	}
	if model.DNS == nil || out.keyring == nil {
		return diags
	}
	out.resolvers = model.DNS.Resolvers
	if target := strings.TrimSuffix(model.DNS.Target.ValueString(), "."); target != "" {
		out.target = target
	}
	records, at, err := p.zoneServer(*model.DNS, *out)
	if err != nil {
		diags.Append(
			invalid(path.Root("dns").AtName(at), "The zone's server can't be used so", doingConfigure,
				errors.Unwrap(err)),
		)
	}
	out.records = records
	return diags
}

// zoneServer returns the server that dns names, and the attribute that does.
func (p *tenantProvider) zoneServer(model dnsModel, s settings) (tenant.Records, string, error) {
	if server := model.PowerDNS; server != nil {
		// All that write the zone from this process take turns.
		turns := sharedBackend(p.options.Shared, powerdns.NewTurns, server.URL.ValueString(), s.zone)
		records, err := powerdns.New(powerdns.Config{
			URL: server.URL.ValueString(), APIKey: tenant.NewSecret(server.APIKey.ValueString()),
			Server: server.Server.ValueString(), Zone: s.zone, Keyring: s.keyring, Turns: turns,
		})
		return records, "powerdns", err
	}
	server := model.RFC2136
	records, err := rfc2136.New(rfc2136.Config{
		Server: server.Server.ValueString(), Zone: s.zone, TSIGName: server.TSIGName.ValueString(),
		TSIGSecret:    tenant.NewSecret(server.TSIGSecret.ValueString()),
		TSIGAlgorithm: server.TSIGAlgorithm.ValueString(), Keyring: s.keyring, Now: p.options.Clock,
	})
	return records, "rfc2136", err
}
