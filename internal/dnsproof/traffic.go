package dnsproof

import (
	"slices"

	"github.com/miekg/dns"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// traffic follows the hostname to its addresses.
func (w *walk) traffic(hostname string) (tenant.Traffic, error) {
	var traffic tenant.Traffic
	hasSOA := func(s step) bool {
		return slices.ContainsFunc(s.reply.Answer, func(record dns.RR) bool {
			return record.Header().Rrtype == dns.TypeSOA && plain(record.Header().Name) == hostname
		})
	}
	steps, err := w.authorities(hostname, dns.TypeSOA, hasSOA)
	if err != nil {
		return traffic, err
	}
	traffic.Apex = slices.ContainsFunc(steps, hasSOA)
	for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA} {
		p, err := w.follow(hostname, qtype, hasAddress)
		if err != nil {
			return tenant.Traffic{}, err
		}
		if len(p.chain) > len(traffic.Chain) {
			traffic.Chain = p.chain
		}
		traffic.Addresses = append(traffic.Addresses, p.addresses()...)
	}
	slices.Sort(traffic.Addresses)
	return traffic, nil
}
