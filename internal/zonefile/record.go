package zonefile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	ownerLabel = "_tenantry"
	maxName    = 253             // bytes of a name in text without the trailing dot: 255 on the wire (RFC 1035, section 2.3.4)
	maxTTL     = 1 << 31         // TTLs are below it: RFC 2181, section 8
	markTTL    = 5 * time.Minute // one for all marks: a record set has one TTL (RFC 2181, section 5.2)
	maxText    = 64000           // bytes of one TXT record, which fits RDLENGTH (RFC 1035, section 3.2.1) with room to spare
)

func recordTypes() []string { return []string{"A", "AAAA", "CNAME", "TXT"} }

// plain is the form of a name that we compare: lower-case, without a trailing dot.
func plain(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// ownerName is where the marks of the record sets at a name stand. A name that leaves no room for one more label gets
// one made of its hash.
func ownerName(name, zone string) string {
	if owner := ownerLabel + "." + name; len(owner) <= maxName {
		return owner
	}
	sum := sha256.Sum256([]byte(name))
	return ownerLabel + "-" + hex.EncodeToString(sum[:16]) + "." + zone
}

// check returns the record in the form in which it is compared and written.
func (z *Zone) check(record tenant.Record) (tenant.Record, error) {
	if err := z.checkName(record.Name); err != nil {
		return record, err
	}
	seconds := record.TTL / time.Second
	switch {
	case record.TTL%time.Second != 0 || seconds < 0 || seconds >= maxTTL:
		return record, fmt.Errorf("the TTL %s is not of 0 to 2^31-1 whole seconds", record.TTL)
	case len(record.Values) == 0:
		return record, errors.New("it has no values")
	case record.Type == "CNAME" && len(record.Values) > 1:
		return record, errors.New("a CNAME has one value")
	}
	values := make([]string, 0, len(record.Values))
	for _, value := range record.Values {
		checked, err := checkValue(record.Type, value)
		if err != nil {
			return record, err
		}
		values = append(values, checked)
	}
	slices.Sort(values)
	record.Values = slices.Compact(values)
	return record, nil
}

func (z *Zone) checkName(name string) error {
	below, inside := strings.CutSuffix(name, "."+z.config.Zone)
	switch {
	case !inside:
		return fmt.Errorf("the name is not below the zone %s", z.config.Zone)
	case !isPlainName(name):
		return errors.New("the name is not made of labels of 1–63 lower-case letters, digits, '-' and '_'")
	case below == ownerLabel || strings.HasPrefix(below, ownerLabel+".") || strings.HasPrefix(below, ownerLabel+"-"):
		return errors.New("the name is kept for the marks of our records")
	case len(ownerName(name, z.config.Zone)) > maxName:
		return errors.New("the name of the zone is too long to leave room for marks")
	}
	return nil
}

// isPlainName reports whether the name needs no escapes and no folding: what our own records are called.
func isPlainName(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	label := 0
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '.':
			if label == 0 {
				return false
			}
			label = 0
			continue
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
			label++
		default:
			return false
		}
		if label > 63 {
			return false
		}
	}
	return label > 0
}

func checkValue(recordType, value string) (string, error) {
	switch recordType {
	case "A", "AAAA":
		address, err := netip.ParseAddr(value)
		if err != nil || address.Is4() != (recordType == "A") || address.Zone() != "" {
			return "", fmt.Errorf("%q is no address for a record of type %s", value, recordType)
		}
		return address.String(), nil
	case "CNAME":
		if name := plain(value); isPlainName(name) {
			return name, nil
		}
		return "", fmt.Errorf("%q is no name that a CNAME can point at", value)
	case "TXT":
		if len(value) > maxText {
			return "", fmt.Errorf("the text is %d bytes long; at most %d are allowed", len(value), maxText)
		}
		return value, nil
	default:
		return "", fmt.Errorf("type %q is none of A, AAAA, CNAME and TXT", recordType)
	}
}

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
		return &dns.TXT{Hdr: header, Txt: characterStrings(value)}
	}
}

// characterStrings cuts a text into strings of at most 255 bytes (RFC 1035, section 3.3), in the parser's escaped form.
func characterStrings(text string) []string {
	parts := make([]string, 0, len(text)/255+1)
	for chunk := range slices.Chunk([]byte(text), 255) {
		var part strings.Builder
		for _, c := range chunk {
			switch {
			case c == '"' || c == '\\':
				part.WriteByte('\\')
				part.WriteByte(c)
			case c < ' ' || c > '~':
				fmt.Fprintf(&part, "\\%03d", c)
			default:
				part.WriteByte(c)
			}
		}
		parts = append(parts, part.String())
	}
	if len(parts) == 0 {
		parts = append(parts, "")
	}
	return parts
}

// textOf joins character-strings and undoes their escapes (RFC 1035, section 5.1).
func textOf(parts []string) string {
	var text strings.Builder
	for _, part := range parts {
		for i := 0; i < len(part); i++ {
			c := part[i]
			if c != '\\' || i+1 == len(part) {
				text.WriteByte(c)
				continue
			}
			i++
			if code, ok := decimal(part[i:]); ok {
				text.WriteByte(code)
				i += 2
				continue
			}
			text.WriteByte(part[i])
		}
	}
	return text.String()
}

func decimal(s string) (byte, bool) {
	if len(s) < 3 {
		return 0, false
	}
	code := 0
	for _, c := range []byte(s[:3]) {
		if c < '0' || c > '9' {
			return 0, false
		}
		code = code*10 + int(c-'0')
	}
	return byte(code), code < 256
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
