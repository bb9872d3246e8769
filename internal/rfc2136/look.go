package rfc2136

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// view is what the server holds at one name and at its owner name: sorted, and as it came.
type view struct {
	tenant.Holding

	name, ownerName string // fully qualified, with a trailing dot
	there, owners   []dns.RR
}

// look reads what stands at the name.
func (s *session) look(ring *tenant.Keyring, id tenant.ID, name string) (view, error) {
	owner := tenant.OwnerName(name, s.config.Zone)
	seen := view{name: dns.Fqdn(name), ownerName: dns.Fqdn(owner)}
	var err error
	if seen.there, err = s.at(seen.name); err != nil {
		return seen, err
	}
	if seen.owners, err = s.at(seen.ownerName); err != nil {
		return seen, err
	}
	if err := seen.hold(ring, id, name); err != nil {
		return seen, tenant.Fail(tenant.CodeInternal, s.doing, err)
	}
	// An owner record below the name proves that no wildcard made what is at the name (RFC 4592, section 2.2.2).
	if seen.Foreign == nil && strings.HasSuffix(owner, "."+name) {
		return seen, nil
	}
	if err := s.dropWildcards(&seen); err != nil {
		return seen, err
	}
	if err := seen.hold(ring, id, name); err != nil {
		return seen, tenant.Fail(tenant.CodeInternal, s.doing, err)
	}
	return seen, nil
}

func (v *view) hold(ring *tenant.Keyring, id tenant.ID, name string) (err error) {
	v.Holding, err = ring.Hold(id, name, recordsOf(v.there), recordsOf(v.owners))
	return err
}

// dropWildcards forgets records that a wildcard above the name answered with. A prerequisite tells: it looks at what the
// zone holds, not at what a query gets.
func (s *session) dropWildcards(seen *view) error {
	for name, records := range map[string]*[]dns.RR{seen.name: &seen.there, seen.ownerName: &seen.owners} {
		if len(*records) == 0 {
			continue
		}
		m := new(dns.Msg)
		m.SetUpdate(dns.Fqdn(s.config.Zone))
		m.NameUsed([]dns.RR{&dns.ANY{Hdr: dns.RR_Header{Name: name}}})
		answer, err := s.ask(m)
		switch {
		case err != nil:
			return err
		case answer.Rcode == dns.RcodeNameError:
			*records = nil
		case answer.Rcode != dns.RcodeSuccess:
			return s.refused(answer.Rcode)
		}
	}
	return nil
}

// fallbackTypes are asked for one by one where a server does not answer ANY in full (RFC 8482).
func fallbackTypes() []uint16 {
	return []uint16{
		dns.TypeCNAME,
		dns.TypeA,
		dns.TypeAAAA,
		dns.TypeTXT,
		dns.TypeMX,
		dns.TypeNS,
		dns.TypeDNAME,
		dns.TypeSRV,
		dns.TypeCAA,
		dns.TypeHTTPS,
		dns.TypeSVCB,
		dns.TypePTR,
		dns.TypeNAPTR,
		dns.TypeTLSA,
		dns.TypeSSHFP,
		dns.TypeDS,
	}
}

// at returns all records at the name, without what signing a zone adds.
func (s *session) at(name string) ([]dns.RR, error) {
	records, err := s.query(name, dns.TypeANY)
	if err != nil || !isMinimal(records) {
		return records, err
	}
	var all []dns.RR
	for _, rrtype := range fallbackTypes() {
		records, err := s.query(name, rrtype)
		if err != nil {
			return nil, err
		}
		for _, record := range records {
			if record.Header().Rrtype == rrtype {
				all = append(all, record)
			}
		}
	}
	return all, nil
}

// isMinimal reports whether the answer to ANY is the stand-in that RFC 8482, section 4.2, describes.
func isMinimal(records []dns.RR) bool {
	for _, record := range records {
		if info, ok := record.(*dns.HINFO); ok && info.Cpu == "RFC8482" {
			return true
		}
	}
	return false
}

func (s *session) query(name string, rrtype uint16) ([]dns.RR, error) {
	m := new(dns.Msg)
	m.SetQuestion(name, rrtype)
	m.RecursionDesired = false
	answer, err := s.ask(m)
	if err != nil {
		return nil, err
	}
	if answer.Rcode != dns.RcodeSuccess && answer.Rcode != dns.RcodeNameError {
		return nil, s.refused(answer.Rcode)
	}
	if err := s.cut(name, answer); err != nil {
		return nil, err
	}
	var records []dns.RR
	for _, record := range answer.Answer {
		if strings.EqualFold(record.Header().Name, name) && !isOfSigning(record.Header().Rrtype) {
			records = append(records, record)
		}
	}
	return records, nil
}

// isOfSigning reports whether records of the type come with a zone's signing, and belong to nobody.
func isOfSigning(rrtype uint16) bool {
	switch rrtype {
	case dns.TypeRRSIG, dns.TypeNSEC, dns.TypeNSEC3:
		return true
	default:
		return false
	}
}

// cut returns a failure if the name lies at or below one that is delegated or redirected as a whole, where nobody would see our
// record; or if the server is no authority.
func (s *session) cut(name string, answer *dns.Msg) error {
	foreign := func(by *dns.RR_Header) error {
		return tenant.Fail(
			tenant.CodeForeign,
			s.doing,
			fmt.Errorf("%w: %s/%s takes the names from there on down out of the zone",
				tenant.ErrForeign, tenant.PlainName(by.Name), dns.Type(by.Rrtype)),
		)
	}
	for _, record := range answer.Answer {
		if _, ok := record.(*dns.DNAME); ok && !strings.EqualFold(record.Header().Name, name) {
			return foreign(record.Header())
		}
	}
	if answer.Authoritative {
		return nil
	}
	for _, record := range answer.Ns {
		header := record.Header()
		if header.Rrtype == dns.TypeNS && dns.IsSubDomain(dns.Fqdn(s.config.Zone), header.Name) &&
			!strings.EqualFold(header.Name, dns.Fqdn(s.config.Zone)) {
			return foreign(header)
		}
	}
	return s.refused(dns.RcodeNotAuth)
}

// transfer returns all records of the zone (RFC 5936). Every message of it must be signed.
func (s *session) transfer(origin string) ([]dns.RR, error) {
	m := new(dns.Msg)
	m.SetAxfr(origin)
	mac, err := s.send(m)
	if err != nil {
		return nil, err
	}
	var all []dns.RR
	for first := true; ; first = false {
		if err := s.conn.SetDeadline(time.Now().Add(s.config.Timeout)); err != nil {
			return nil, s.unanswered(err)
		}
		var answer *dns.Msg
		if answer, mac, err = s.receive(m.Id, mac, !first); err != nil {
			return nil, err
		}
		if answer.Rcode != dns.RcodeSuccess {
			return nil, s.refused(answer.Rcode)
		}
		all = append(all, answer.Answer...)
		if len(all) == 0 || all[0].Header().Rrtype != dns.TypeSOA {
			return nil, tenant.Fail(
				tenant.CodeUnavailable,
				s.doing,
				fmt.Errorf("the transfer does not begin with the zone's SOA"),
			)
		}
		if len(all) > 1 && all[len(all)-1].Header().Rrtype == dns.TypeSOA {
			return all, nil
		}
	}
}

// recordsOf are the records in the domain's form, one each.
func recordsOf(records []dns.RR) []tenant.Record {
	out := make([]tenant.Record, 0, len(records))
	for _, record := range records {
		header := record.Header()
		out = append(out, tenant.Record{
			Name: tenant.PlainName(
				header.Name,
			),
			Type:   dns.Type(header.Rrtype).String(),
			Values: []string{valueOf(record)},
			TTL:    time.Duration(header.Ttl) * time.Second,
		})
	}
	return out
}

func valueOf(record dns.RR) string {
	switch record := record.(type) {
	case *dns.A:
		return addressOf(record.A)
	case *dns.AAAA:
		return addressOf(record.AAAA)
	case *dns.CNAME:
		return tenant.PlainName(record.Target)
	case *dns.TXT:
		return tenant.JoinCharacterStrings(record.Txt)
	default:
		return ""
	}
}

func addressOf(ip []byte) string {
	address, _ := netip.AddrFromSlice(ip)
	return address.Unmap().String()
}
