package provider

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/edge"
	"github.com/tenantry/terraform-provider-tenant/internal/localid"
	"github.com/tenantry/terraform-provider-tenant/internal/postgres"
	"github.com/tenantry/terraform-provider-tenant/internal/sqlite"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/zonefile"
)

// wire makes the backends that the settings name, or finds those that another run has made. This is the one place
// where backends and resources meet.
func (p *tenantProvider) wire(s settings) *tenant.Backends {
	shared, now := p.options.Shared, p.options.Clock
	ring := s.keyring
	key := []string{ring.Installation(), s.fingerprint, s.folder, s.zone}
	target := "edge." + s.zone
	table := sharedBackend(shared, func() *edge.Store {
		return edge.New(
			edge.Config{Path: filepath.Join(s.folder, "edge.db"), Zone: s.zone, Keyring: ring, Now: now},
		)
	}, key...)
	zone := sharedBackend(shared, func() *zonefile.Zone {
		return zonefile.New(zonefile.Config{
			Path: filepath.Join(
				s.folder,
				s.zone+".zone",
			),
			Zone:    s.zone,
			Target:  target,
			Keyring: ring,
			Now:     now,
		})
	}, key...)
	proofs := sharedBackend(shared, func() *zonefile.Proofs {
		return zonefile.NewProofs(filepath.Join(s.folder, "proofs.zone"))
	}, key...)
	identities := sharedBackend(shared, func() *localid.Store {
		return localid.New(localid.Config{
			Path:     filepath.Join(s.folder, "identity.db"),
			Keyring:  ring,
			Now:      now,
			LoginURL: func(id tenant.ID) string { return "https://" + tenant.DefaultHostname(id, s.zone) + "/login" },
		})
	}, key...)
	return &tenant.Backends{
		Keyring:    ring,
		Pools:      p.wirePools(s),
		Identities: identities,
		Gate:       table,
		Zone:       s.zone,
		Upstreams:  s.upstreams,
		Domains: tenant.Domains{
			Records: zone, Claims: table, Proofs: proofs, Bindings: table, Target: target, Now: now,
		},
	}
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
