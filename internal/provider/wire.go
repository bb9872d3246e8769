package provider

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/dnsproof"
	"github.com/tenantry/terraform-provider-tenant/internal/edge"
	"github.com/tenantry/terraform-provider-tenant/internal/keycloak"
	"github.com/tenantry/terraform-provider-tenant/internal/localid"
	"github.com/tenantry/terraform-provider-tenant/internal/postgres"
	"github.com/tenantry/terraform-provider-tenant/internal/sqlite"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/zonefile"
)

// wire makes the backends that the settings name, or finds those that another run has made. This is the one place
// where backends and resources meet.
func (p *tenantProvider) wire(s settings) *tenant.Backends {
	table := sharedBackend(p.options.Shared, func() *edge.Store {
		return edge.New(edge.Config{Path: s.bindings, Zone: s.zone, Keyring: s.keyring, Now: p.options.Clock})
	}, s.keyring.Installation(), s.fingerprint, s.bindings, s.zone)
	records, proofs := p.wireDNS(s)
	return &tenant.Backends{
		Keyring:    s.keyring,
		Pools:      p.wirePools(s),
		Identities: p.wireIdentities(s),
		Gate:       table,
		Zone:       s.zone,
		Upstreams:  s.upstreams,
		Domains: tenant.Domains{
			Records:  records,
			Claims:   table,
			Proofs:   proofs,
			Bindings: table,
			Target:   s.target,
			Now:      p.options.Clock,
		},
	}
}

// wireDNS returns our zone, and the DNS in which customers prove their hostnames: both real, or both files.
func (p *tenantProvider) wireDNS(s settings) (tenant.Records, tenant.Proofs) {
	if s.records != nil {
		return s.records, sharedBackend(p.options.Shared, func() *dnsproof.DNS {
			return dnsproof.New(dnsproof.Config{Resolvers: s.resolvers})
		}, s.resolvers...)
	}
	zone := sharedBackend(p.options.Shared, func() *zonefile.Zone {
		return zonefile.New(zonefile.Config{
			Path: filepath.Join(s.folder, s.zone+".zone"), Zone: s.zone, Target: s.target,
			Keyring: s.keyring, Now: p.options.Clock,
		})
	}, s.keyring.Installation(), s.fingerprint, s.folder, s.zone)
	return zone, sharedBackend(p.options.Shared, func() *zonefile.Proofs {
		return zonefile.NewProofs(filepath.Join(s.folder, "proofs.zone"))
	}, s.folder)
}

func (p *tenantProvider) wireIdentities(s settings) tenant.Identities {
	shared, zone := p.options.Shared, s.zone
	if s.identity != nil {
		config := *s.identity
		config.Keyring, config.Now = s.keyring, p.options.Clock
		config.ApplicationURL = func(id tenant.ID) string { return "https://" + tenant.DefaultHostname(id, zone) + "/" }
		return sharedBackend(shared, func() *keycloak.Backend { return keycloak.New(config) },
			s.keyring.Installation(), s.fingerprint, zone, config.URL, config.Realm, config.ClientID,
			config.ClientSecret.Reveal(), string(config.Isolation),
			strconv.FormatFloat(config.RequestsPerSecond, 'g', -1, 64), strconv.Itoa(config.MaxInFlight))
	}
	return sharedBackend(shared, func() *localid.Store {
		return localid.New(localid.Config{
			Path:     filepath.Join(s.folder, "identity.db"),
			Keyring:  s.keyring,
			Now:      p.options.Clock,
			LoginURL: func(id tenant.ID) string { return "https://" + tenant.DefaultHostname(id, zone) + "/login" },
		})
	}, s.keyring.Installation(), s.fingerprint, s.folder, zone)
}

func (p *tenantProvider) wirePools(s settings) tenant.Pools {
	var pools tenant.Pools
	for _, configured := range s.pools {
		pool := configured.Pool
		if configured.postgres != nil {
			pools = append(pools, p.wirePostgres(s, configured))
			continue
		}
		files := sharedBackend(p.options.Shared, func() *sqlite.Backend {
			return sqlite.New(sqlite.Config{Dir: configured.folder, Keyring: s.keyring, Now: p.options.Clock})
		}, s.keyring.Installation(), s.fingerprint, configured.folder)
		pool.Databases, pool.Seeds = files, files.Seeds()
		pools = append(pools, pool)
	}
	return pools
}

func (p *tenantProvider) wirePostgres(s settings, configured poolSettings) tenant.Pool {
	pool, config := configured.Pool, *configured.postgres
	config.Pool, config.Isolation, config.Keyring, config.Now = pool.Name, pool.Isolation, s.keyring, p.options.Clock
	server := sharedBackend(p.options.Shared, func() *postgres.Backend { return postgres.New(config) },
		s.keyring.Installation(), s.fingerprint, config.URL.Reveal(), pool.Name, string(pool.Isolation),
		strings.Join(config.Extensions, ","), config.LockTimeout.String(), config.StatementTimeout.String(),
		strconv.Itoa(config.MaxConnections))
	pool.Databases, pool.Seeds = server, server.Seeds()
	return pool
}
