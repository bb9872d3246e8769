package tenant

import (
	"errors"
	"fmt"
	"strings"
)

// DefaultHostname is the hostname that every tenant has at once: its id under the installation's zone.
func DefaultHostname(id ID, zone string) string { return string(id) + "." + zone }

// CheckHostname returns a failure with CodeHostnameForbidden unless s can be a custom hostname: a fully qualified name of
// at least two lower-case LDH labels without a trailing dot, at most 253 bytes (RFC 1123, section 2.1; RFC 1035,
// section 2.3.4), not at, below or above zone. Internationalised names are given as A-labels (RFC 5890).
func CheckHostname(s, zone string) error {
	if err := checkHostname(s, zone); err != nil {
		return Fail(CodeHostnameForbidden, fmt.Sprintf("checking hostname %q", s), err)
	}
	return nil
}

func checkHostname(s, zone string) error {
	if len(s) > 253 {
		return fmt.Errorf("it is %d bytes long; DNS allows 253", len(s))
	}
	labels := strings.Split(s, ".")
	if len(labels) < 2 {
		return errors.New("it has no dot; a fully qualified name is needed")
	}
	for _, label := range labels {
		if err := checkLabel(strings.TrimPrefix(label, "xn--"), 63); err != nil {
			return fmt.Errorf("the label %q %w", label, err)
		}
	}
	if last := labels[len(labels)-1]; strings.Trim(last, "0123456789") == "" {
		return fmt.Errorf(
			"its last label %q is a number, as in an IP address: no top-level domain is (RFC 3696, section 2)",
			last,
		)
	}
	switch {
	case s == zone:
		return errors.New("it is our own zone")
	case strings.HasSuffix(s, "."+zone):
		return fmt.Errorf("it lies below our own zone %s, where hostnames are given by tenant_id", zone)
	case strings.HasSuffix(zone, "."+s):
		return fmt.Errorf("our own zone %s lies below it", zone)
	}
	return nil
}
