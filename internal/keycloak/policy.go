package keycloak

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	// textMaxLen is the longest text that an attribute, a name or a redirect URI can be on the server, in characters. It
	// answers a longer one with 500.
	textMaxLen = 255
	// emailMaxLen is the longest address that fits the path of RFC 5321, section 4.5.3.1.3, in bytes; localMaxLen is
	// section 4.5.3.1.1.
	emailMaxLen = 254
	localMaxLen = 64
)

// checkSpec refuses what the server could only keep wrongly, before anything is written.
func checkSpec(spec tenant.IdentitySpec) error {
	doing := fmt.Sprintf("checking the identity of tenant %q", spec.Tenant)
	if _, err := tenant.ParseID(string(spec.Tenant)); err != nil {
		return tenant.Fail(tenant.CodeInvalidTenantID, doing, err)
	}
	errs := []error{checkText("display name", spec.DisplayName)}
	for _, role := range spec.Roles {
		errs = append(errs, checkText("role", role))
	}
	for _, uri := range spec.RedirectURIs {
		errs = append(errs, checkRedirect(uri))
	}
	for _, domain := range spec.Domains {
		errs = append(errs, checkDomain(domain.Name))
	}
	if spec.SingleSignOn != nil {
		errs = append(errs, checkIssuer(spec.SingleSignOn.Issuer),
			checkText("client id of single sign-on", spec.SingleSignOn.ClientID))
	}
	if err := errors.Join(errs...); err != nil {
		return tenant.Fail(tenant.CodeInvalidConfig, doing, err)
	}
	return checkAdministrator(spec.Tenant, spec.Administrator)
}

func checkAdministrator(id tenant.ID, administrator tenant.Administrator) error {
	err := errors.Join(checkEmail(administrator.Email), checkText("name", administrator.Name))
	if err == nil {
		return nil
	}
	return tenant.Fail(
		tenant.CodeAdminRefused, fmt.Sprintf("checking the administrator of tenant %q", id), err)
}

// checkEmail wants a bare address (RFC 5322, section 3.4.1, addr-spec without quotes or comments).
func checkEmail(email string) error {
	local, _, _ := strings.Cut(email, "@")
	if len(email) > emailMaxLen || len(local) > localMaxLen {
		return fmt.Errorf(
			"the e-mail address has %d bytes, %d of them before the @; at most %d and %d are allowed",
			len(email),
			len(local),
			emailMaxLen,
			localMaxLen,
		)
	}
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email || parsed.Name != "" ||
		strings.ContainsFunc(email, unicode.IsSpace) {
		return fmt.Errorf("%q is not an e-mail address such as ada@example.com", email)
	}
	return nil
}

func checkText(what, text string) error {
	switch length := utf8.RuneCountInString(text); {
	case !utf8.ValidString(text):
		return fmt.Errorf("the %s is not valid UTF-8", what)
	case strings.TrimSpace(text) == "":
		return fmt.Errorf("the %s is empty", what)
	case length > textMaxLen:
		return fmt.Errorf("the %s is %d characters long; at most %d are allowed", what, length, textMaxLen)
	case strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Errorf("the %s %q contains a control character", what, text)
	}
	return nil
}

// checkRedirect wants an absolute https URI without a fragment (RFC 6749, section 3.1.2), and without a wildcard: the
// server would take a final "*" for one.
func checkRedirect(text string) error {
	if err := checkText("redirect URI", text); err != nil {
		return err
	}
	uri, err := url.Parse(text)
	if err != nil || uri.Scheme != "https" || uri.Host == "" || strings.ContainsAny(text, "#*") {
		return fmt.Errorf("%q is not an absolute https URI without a fragment or a wildcard", text)
	}
	return nil
}

// checkIssuer wants an https URL; on this machine itself http will do.
func checkIssuer(text string) error {
	uri, err := url.Parse(text)
	if err == nil && uri.Host != "" && !strings.ContainsAny(text, "?#") {
		if uri.Scheme == "https" || uri.Scheme == "http" && net.ParseIP(uri.Hostname()).IsLoopback() {
			return checkText("issuer", text)
		}
	}
	return fmt.Errorf("the issuer %q of single sign-on is not an https URL without query and fragment", text)
}

func checkDomain(name string) error {
	if name == "" || name != strings.ToLower(name) || len(name) > textMaxLen ||
		!strings.Contains(name, ".") ||
		strings.ContainsFunc(name, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.'
		}) {
		return fmt.Errorf("%q is not a domain in lower-case ASCII (A-label) form, such as example.com", name)
	}
	return nil
}
