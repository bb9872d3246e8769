// Package tenant is the domain: what a tenant is called, how its objects are marked, which ports the outside
// systems stand behind, and how a failure is told. It knows no technology and imports the standard library only.
package tenant

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ID names one customer of the product within an installation. It is a DNS label of lower-case letters, digits and
// hyphens (RFC 1123, section 2.1), 1–63 bytes long, never changes, and is also the slug in the default hostname.
type ID string

// InstallationMaxLen is the longest installation name, in bytes: a mark has to fit one DNS character-string of
// 255 bytes (RFC 1035, section 3.3) whatever the tenant is called.
const InstallationMaxLen = 32

// ParseID returns s as an ID, or an error that says which rule s breaks. It never repairs: an id is a contract.
func ParseID(s string) (ID, error) {
	if err := checkLabel(s, 63); err != nil {
		return "", fmt.Errorf("tenant_id %q %w", s, err)
	}
	if slices.Contains(reservedIDs(), s) || strings.HasPrefix(s, "ns") {
		return "", fmt.Errorf(
			"tenant_id %q is reserved: its hostname would pass for one of the product's own "+
				"(reserved are %s, and all that begin with ns or xn--)",
			s,
			strings.Join(reservedIDs(), ", "),
		)
	}
	return ID(s), nil
}

// ParseInstallation returns s if it can name an installation: a label like an ID, at most InstallationMaxLen bytes.
func ParseInstallation(s string) (string, error) {
	if err := checkLabel(s, InstallationMaxLen); err != nil {
		return "", fmt.Errorf("installation %q %w", s, err)
	}
	return s, nil
}

// reservedIDs are the labels that the product, its mail and its edge need under the zone.
func reservedIDs() []string {
	return []string{"admin", "api", "auth", "claims", "edge", "login", "mail", "www"}
}

func checkLabel(s string, maxLen int) error {
	switch {
	case s == "":
		return errors.New("is empty")
	case len(s) > maxLen:
		return fmt.Errorf("is %d bytes long; at most %d are allowed", len(s), maxLen)
	case strings.HasPrefix(s, "-") || strings.HasSuffix(s, "-"):
		return errors.New("begins or ends with a hyphen")
	case strings.HasPrefix(s, "xn--"):
		return errors.New(
			"begins with xn--, which is kept for internationalised names (RFC 5890, section 2.3.1)",
		)
	}
	for _, r := range s {
		if !isLabelRune(r) {
			return fmt.Errorf("contains %q; only a-z, 0-9 and '-' are allowed", r)
		}
	}
	return nil
}

func isLabelRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-'
}

// Step is one part of a tenant that the catalog reports on. The names are a contract.
type Step string

// The steps, in the order of work.
const (
	StepDatabase Step = "database"
	StepDomain   Step = "domain"
	StepIdentity Step = "identity"
	StepSeed     Step = "seed"
)

// Steps returns all steps in the order of work.
func Steps() []Step { return []Step{StepDatabase, StepDomain, StepIdentity, StepSeed} }

// Kind is the kind of an external object; it is part of the object's mark.
type Kind string

// The kinds of external objects.
const (
	KindDatabase     Kind = "database"
	KindSeed         Kind = "seed"
	KindOrganization Kind = "organization"
	KindApplication  Kind = "application"
	KindUser         Kind = "user"
	KindRecord       Kind = "record"
	KindClaim        Kind = "claim"
	KindBinding      Kind = "binding"
)

// Object names one external object of a tenant: unique within an installation by kind and name.
type Object struct {
	Tenant ID
	Kind   Kind
	Name   string
}

func (o Object) String() string { return string(o.Kind) + " " + o.Name }
