package rfc2136

import (
	"net/netip"
	"slices"
	"time"

	"github.com/miekg/dns"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// put is the update that makes the record set as wanted, together with its mark; nil if there is nothing to do.
func (b *Backend) put(seen view, id tenant.ID, want tenant.Record) (*dns.Msg, error) {
	if err := seen.Admit(want); err != nil {
		return nil, err
	}
	if seen.Is(want) {
		return nil, nil //nolint:nilnil // nothing to do, no message
	}
	m := b.onlyIf(seen)
	m.Remove(copies(ofType(seen.there, dns.StringToType[want.Type])))
	if len(seen.Marks[want.Type]) == 0 {
		m.Insert(rrs(b.ownerOf(id, want)))
	}
	m.Insert(rrs(want))
	return m, nil
}

// drop is the update that removes the record set and its marks, each by its value.
func (b *Backend) drop(seen view, recordType string) (*dns.Msg, error) {
	left, err := seen.AdmitDelete(recordType)
	if err != nil || !left {
		return nil, err
	}
	m := b.onlyIf(seen)
	m.Remove(copies(ofType(seen.there, dns.StringToType[recordType])))
	m.Remove(copies(slices.DeleteFunc(slices.Clone(seen.owners), func(owner dns.RR) bool {
		return !slices.Contains(seen.Marks[recordType], valueOf(owner))
	})))
	return m, nil
}

// mark is the update that adds the owner record of a record set that has none.
func (b *Backend) mark(seen view, id tenant.ID, want tenant.Record) (*dns.Msg, error) {
	unmarked, err := seen.AdmitClaim(want.Type)
	if err != nil || !unmarked {
		return nil, err
	}
	m := b.onlyIf(seen)
	m.Insert(rrs(b.ownerOf(id, want)))
	return m, nil
}

// onlyIf is an update that is made only if both names hold exactly what was seen (RFC 2136, section 2.4).
func (b *Backend) onlyIf(seen view) *dns.Msg {
	m := new(dns.Msg)
	m.SetUpdate(b.origin)
	for name, records := range map[string][]dns.RR{seen.name: seen.there, seen.ownerName: seen.owners} {
		if len(records) == 0 {
			m.NameNotUsed([]dns.RR{&dns.ANY{Hdr: dns.RR_Header{Name: name}}})
			continue
		}
		m.Used(copies(records))
		for _, rrtype := range fallbackTypes() {
			if len(ofType(records, rrtype)) == 0 {
				m.RRsetNotUsed([]dns.RR{&dns.ANY{Hdr: dns.RR_Header{Name: name, Rrtype: rrtype}}})
			}
		}
	}
	return m
}

func (b *Backend) ownerOf(id tenant.ID, record tenant.Record) tenant.Record {
	return tenant.Record{
		Name: tenant.OwnerName(record.Name, b.config.Zone), Type: "TXT", TTL: tenant.OwnerTTL,
		Values: []string{b.config.Keyring.Mark(record.Object(id))},
	}
}

func ofType(records []dns.RR, rrtype uint16) []dns.RR {
	var out []dns.RR
	for _, record := range records {
		if record.Header().Rrtype == rrtype {
			out = append(out, record)
		}
	}
	return out
}

// copies lets a message change the records' headers.
func copies(records []dns.RR) []dns.RR {
	out := make([]dns.RR, 0, len(records))
	for _, record := range records {
		out = append(out, dns.Copy(record))
	}
	return out
}

func rrs(record tenant.Record) []dns.RR {
	out := make([]dns.RR, 0, len(record.Values))
	for _, value := range record.Values {
		out = append(out, rrOf(dns.RR_Header{
			Name: dns.Fqdn(record.Name), Class: dns.ClassINET, Rrtype: dns.StringToType[record.Type],
			Ttl: uint32(record.TTL / time.Second), //nolint:gosec // Check keeps it below 2^31
		}, value))
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
