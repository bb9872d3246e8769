package zonefile

import (
	"net/netip"
	"slices"
	"time"

	"github.com/miekg/dns"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// lines are the record set as it stands in the file, one line a record, each complete in itself.
func lines(record tenant.Record) []string {
	out := make([]string, 0, len(record.Values))
	for _, value := range record.Values {
		header := dns.RR_Header{
			Name: dns.Fqdn(record.Name), Class: dns.ClassINET, Rrtype: dns.StringToType[record.Type],
			Ttl: uint32(record.TTL / time.Second), //nolint:gosec // check keeps it below 2^31
		}
		out = append(out, rrOf(header, value).String()+"\n")
	}
	return out
}

func rrOf(header dns.RR_Header, value string) dns.RR {
	switch header.Rrtype {
	case dns.TypeA:
		return &dns.A{Hdr: header, A: netip.MustParseAddr(value).AsSlice()}
	case dns.TypeAAAA:
		return &dns.AAAA{Hdr: header, AAAA: netip.MustParseAddr(value).AsSlice()}
	case dns.TypeCNAME:
		return &dns.CNAME{Hdr: header, Target: dns.Fqdn(value)}
	default:
		return &dns.TXT{Hdr: header, Txt: tenant.CharacterStrings(value)}
	}
}

func recordOf(name, recordType string, own []sighting) tenant.Record {
	record := tenant.Record{Name: name, Type: recordType}
	for _, seen := range own {
		record.Values = append(record.Values, seen.rr.value)
		record.TTL = time.Duration(seen.rr.ttl) * time.Second
	}
	slices.Sort(record.Values)
	return record
}
