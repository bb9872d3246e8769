package tenant

import (
	"fmt"
	"slices"
	"strings"
)

// Pool is a named place where tenant databases live: a server, an isolation, the plans it takes, a capacity.
type Pool struct {
	Name       string
	Isolation  Isolation
	Plans      []string // empty takes every plan
	MaxTenants int64    // 0 is unlimited
	Databases  Databases
	Seeds      Seeds
}

// Takes reports whether tenants of that plan may live here.
func (p Pool) Takes(plan string) bool { return len(p.Plans) == 0 || slices.Contains(p.Plans, plan) }

// Pools is the configured pools, ordered by name.
type Pools []Pool

// Find returns the pool of that name, or a failure with CodeNoPool that lists those there are.
func (ps Pools) Find(name string) (Pool, error) {
	for _, pool := range ps {
		if pool.Name == name {
			return pool, nil
		}
	}
	return Pool{}, Fail(CodeNoPool, fmt.Sprintf("looking for pool %q", name),
		fmt.Errorf("configured are %s", ps.names()))
}

// For returns the pools that take the plan, or a failure with CodeNoPool.
func (ps Pools) For(plan string) (Pools, error) {
	var taking Pools
	for _, pool := range ps {
		if pool.Takes(plan) {
			taking = append(taking, pool)
		}
	}
	if len(taking) == 0 {
		return nil, Fail(CodeNoPool, fmt.Sprintf("choosing a pool for plan %q", plan),
			fmt.Errorf("none of the configured pools (%s) takes it", ps.names()))
	}
	return taking, nil
}

func (ps Pools) names() string {
	names := make([]string, 0, len(ps))
	for _, pool := range ps {
		names = append(names, pool.Name)
	}
	return strings.Join(names, ", ")
}
