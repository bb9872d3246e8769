package localid

import (
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	// textMaxLen is the longest name, display name, role or URI, in characters.
	textMaxLen = 255
	// emailMaxLen is the longest address that fits the path of RFC 5321, section 4.5.3.1.3, in bytes.
	emailMaxLen = 254
	// PasswordMinLen and PasswordMaxLen are in characters. There are no rules on what a password consists of: they
	// make passwords weaker (NIST SP 800-63B, section 3.1.1.2).
	PasswordMinLen = 12
	// PasswordMaxLen keeps the work of hashing bounded.
	PasswordMaxLen = 256
)

// checkSpec refuses what the store could only keep wrongly, before anything is written.
func checkSpec(spec tenant.IdentitySpec) error {
	doing := fmt.Sprintf("checking the identity of tenant %q", spec.Tenant)
	if _, err := tenant.ParseID(string(spec.Tenant)); err != nil {
		return tenant.Fail(tenant.CodeInvalidTenantID, doing, err)
	}
	if err := checkText("display name", spec.DisplayName); err != nil {
		return tenant.Fail(tenant.CodeInvalidConfig, doing, err)
	}
	for _, role := range spec.Roles {
		if err := checkText("role", role); err != nil {
			return tenant.Fail(tenant.CodeInvalidConfig, doing, err)
		}
	}
	for _, uri := range spec.RedirectURIs {
		if err := checkRedirect(uri); err != nil {
			return tenant.Fail(tenant.CodeInvalidConfig, doing, err)
		}
	}
	return checkAdministrator(spec.Tenant, spec.Administrator)
}

func checkAdministrator(id tenant.ID, administrator tenant.Administrator) error {
	doing := fmt.Sprintf("checking the administrator of tenant %q", id)
	if err := checkEmail(administrator.Email); err != nil {
		return tenant.Fail(tenant.CodeAdminRefused, doing, err)
	}
	if err := checkText("name", administrator.Name); err != nil {
		return tenant.Fail(tenant.CodeAdminRefused, doing, err)
	}
	return nil
}

// checkEmail wants a bare address (RFC 5322, section 3.4.1, addr-spec without quotes or comments).
func checkEmail(email string) error {
	if len(email) > emailMaxLen {
		return fmt.Errorf(
			"the e-mail address is %d bytes long; at most %d are allowed",
			len(email),
			emailMaxLen,
		)
	}
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email || parsed.Name != "" {
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

// checkRedirect wants an absolute https URI without a fragment (RFC 6749, section 3.1.2).
func checkRedirect(text string) error {
	if err := checkText("redirect URI", text); err != nil {
		return err
	}
	uri, err := url.Parse(text)
	if err != nil || uri.Scheme != "https" || uri.Host == "" || strings.Contains(text, "#") {
		return fmt.Errorf("%q is not an absolute https URI without a fragment", text)
	}
	return nil
}

func checkPassword(password tenant.Secret) error {
	const doing = "checking the new password"
	switch length := utf8.RuneCountInString(password.Reveal()); {
	case !utf8.ValidString(password.Reveal()):
		return tenant.Fail(tenant.CodeAdminRefused, doing, errors.New("it is not valid UTF-8"))
	case length < PasswordMinLen, length > PasswordMaxLen:
		return tenant.Fail(
			tenant.CodeAdminRefused,
			doing,
			fmt.Errorf("it has %d characters; between %d and %d are "+
				"needed", length, PasswordMinLen, PasswordMaxLen),
		)
	}
	return nil
}
