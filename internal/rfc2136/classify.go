package rfc2136

import (
	"errors"
	"fmt"
	"time"

	"github.com/miekg/dns"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// refused is the failure that a signed answer's RCODE stands for (RFC 2136, section 2.2).
func (s *session) refused(rcode int) error {
	code, why := tenant.CodeInvalidConfig, "the server answered %s"
	switch rcode {
	case dns.RcodeServerFailure:
		code = tenant.CodeUnavailable
	case dns.RcodeRefused:
		why = "the server answered %s: its policy does not allow this to the key " + s.config.TSIGName
	case dns.RcodeNotAuth, dns.RcodeNotZone:
		why = "the server answered %s: it is not an authority for the zone " + s.config.Zone
	case dns.RcodeNotImplemented:
		why = "the server answered %s: it takes no dynamic updates"
	case dns.RcodeFormatError:
		code = tenant.CodeInternal
	}
	return tenant.Fail(code, s.doing, fmt.Errorf(why, rcodeName(rcode)))
}

// isUnmet reports whether the RCODE says that a prerequisite did not hold: the world is no longer what was seen.
func isUnmet(rcode int) bool {
	switch rcode {
	case dns.RcodeYXDomain, dns.RcodeYXRrset, dns.RcodeNXRrset, dns.RcodeNameError:
		return true
	default:
		return false
	}
}

// unsigned is the failure of an answer without a signature. A server that is in trouble may be unable to sign; anything
// else is a server that does not know the key, or not the server.
func (s *session) unsigned(answer *dns.Msg) error {
	if answer.Rcode == dns.RcodeServerFailure {
		return tenant.Fail(tenant.CodeUnavailable, s.doing, errors.New("the server answered SERVFAIL"))
	}
	return tenant.Fail(tenant.CodeInvalidConfig, s.doing, fmt.Errorf(
		"the answer %s is not signed, so it does not count: does the server know the key %s?",
		rcodeName(answer.Rcode), s.config.TSIGName))
}

// keyRefused is the failure of a signature that the server did not accept (RFC 8945, section 5.2).
func (s *session) keyRefused(signature *dns.TSIG) error {
	why := "the server answered TSIG error %s for the key %s"
	switch signature.Error {
	case dns.RcodeBadSig:
		why += ": its secret is another one there"
	case dns.RcodeBadKey:
		why += ": it has no key of that name and algorithm"
	case dns.RcodeBadTime:
		ours, theirs := s.config.Now(), time.Unix(int64(signature.TimeSigned), 0) //nolint:gosec // 48 bits
		if data := signature.OtherData; len(data) == 12 {
			var seconds int64
			if _, err := fmt.Sscanf(data, "%x", &seconds); err == nil {
				theirs = time.Unix(seconds, 0)
			}
		}
		why += fmt.Sprintf(
			": the clocks differ, here it is %s, there %s",
			ours.UTC().Format(time.RFC3339),
			theirs.UTC().Format(time.RFC3339),
		)
	}
	return tenant.Fail(tenant.CodeInvalidConfig, s.doing,
		fmt.Errorf(why, rcodeName(int(signature.Error)), s.config.TSIGName))
}

func rcodeName(rcode int) string {
	switch name, ok := dns.RcodeToString[rcode]; {
	case rcode == dns.RcodeBadSig:
		return "BADSIG" // the number is also BADVERS
	case ok:
		return name
	default:
		return fmt.Sprintf("RCODE %d", rcode)
	}
}
