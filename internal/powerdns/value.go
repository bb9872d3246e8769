package powerdns

import (
	"net/netip"
	"strings"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// recordsOf are the record sets in the domain's form, without what somebody has switched off: only a look at all of a zone
// shows that.
func recordsOf(sets []rrset) []tenant.Record {
	var out []tenant.Record
	for _, set := range sets {
		for _, record := range set.Records {
			if record.Disabled {
				continue
			}
			out = append(out, tenant.Record{
				Name: tenant.PlainName(
					set.Name,
				),
				Type:   set.Type,
				Values: []string{valueOf(set.Type, record.Content)},
				TTL:    time.Duration(set.TTL) * time.Second,
			})
		}
	}
	return out
}

func valueOf(recordType, content string) string {
	switch recordType {
	case "A", "AAAA":
		if address, err := netip.ParseAddr(content); err == nil {
			return address.String()
		}
		return content
	case "CNAME":
		return tenant.PlainName(content)
	case "TXT":
		return textOf(content)
	default:
		return content
	}
}

// textOf joins the character-strings of a TXT record, which stand in quotes or without (RFC 1035, section 5.1).
func textOf(content string) string {
	var parts []string
	var part strings.Builder
	quoted, inside := false, false
	end := func() {
		if inside {
			parts = append(parts, part.String())
		}
		part.Reset()
		inside = false
	}
	for i := 0; i < len(content); i++ {
		switch c := content[i]; {
		case c == '\\' && i+1 < len(content):
			part.WriteString(content[i : i+2])
			inside = true
			i++
		case c == '"':
			if quoted {
				inside = true
			}
			end()
			quoted = !quoted
			inside = quoted
		case (c == ' ' || c == '\t') && !quoted:
			end()
		default:
			part.WriteByte(c)
			inside = true
		}
	}
	end()
	return tenant.JoinCharacterStrings(parts)
}
