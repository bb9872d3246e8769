package serve

import (
	"slices"
	"strings"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Where a view comes from.
const (
	fromNothing = "nothing"
	fromCopy    = "copy"
	fromTable   = "table"
)

// view is one state of the copy. It never changes.
type view struct {
	bindings map[string]binding
	custom   []string
	unusable int // rows that can't be routed
	source   string
	read     time.Time // when the rows were read from the table
}

// binding is what the edge knows of a hostname.
type binding struct {
	tenant, upstream string
	state            tenant.BindingState
}

// newView indexes rows by hostname. Equal strings share their bytes: ten thousand rows name few upstreams.
func (c *Config) newView(rows []tenant.Binding, source string, read time.Time) *view {
	v := &view{bindings: make(map[string]binding, len(rows)), source: source, read: read}
	upstreams := map[string]string{"": c.Upstream}
	for _, row := range rows {
		upstream, known := upstreams[row.Upstream]
		if !known {
			if isUpstream(row.Upstream) {
				upstream = row.Upstream
			}
			upstreams[row.Upstream] = upstream
		}
		if upstream == "" {
			v.unusable++
		}
		name := tenant.PlainName(row.Hostname)
		v.bindings[name] = binding{tenant: string(row.Tenant), upstream: upstream, state: row.State}
		if !below(name, c.Zone) {
			v.custom = append(v.custom, name)
		}
	}
	slices.Sort(v.custom)
	return v
}

// below reports whether the name is in the zone.
func below(name, zone string) bool { return name == zone || strings.HasSuffix(name, "."+zone) }
