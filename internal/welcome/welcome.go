// Package welcome makes the mail that tells a tenant's first administrator how to begin, and hands it over.
//
// The mail claims only what the apply has recorded: its data is the module's output, an invitation that is minted for
// this very delivery, and nothing else.
package welcome

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Kind is the kind of this mail in the ledger, in its file's name and in its Message-ID.
const Kind = "welcome"

// placeholderLink stands for the invitation in a preview. Nothing ever answers there (RFC 2606, section 2).
const placeholderLink = "https://invitation.invalid/made-when-the-mail-is-delivered"

// Data is what a mail is made of. Templates see it as
//
//	.Tenant              all of the module's output "tenant", by the names it has there: .Tenant.display_name,
//	                     .Tenant.url, .Tenant.administrator.name, .Tenant.required_records, …
//	.Invitation.Link     where the administrator begins; "" if the identity system gives no links
//	.Invitation.Expires  until when the link works, a time.Time in UTC; zero if it always does
//	.Invitation.Reset    whether the link is the plain address, where a new administrator chooses "Forgot password?"
//	.WaitingFor          the custom hostname that is not verified yet; "" if there is none
//
// A name that the output does not have is an error, not an empty place in the mail; write index .Tenant "name" for what
// may be missing.
type Data struct {
	Tenant     map[string]any
	Invitation tenant.Invitation
	WaitingFor string
}

// NewData reads the module's output. It fails with CodeInvalidConfig if that is no object.
func NewData(output json.RawMessage) (Data, error) {
	const doing = "reading what the welcome mail may say"
	decoder := json.NewDecoder(strings.NewReader(string(output)))
	decoder.UseNumber()
	var values map[string]any
	if err := decoder.Decode(&values); err != nil {
		return Data{}, tenant.Fail(tenant.CodeInvalidConfig, doing, err)
	}
	if values == nil {
		return Data{}, tenant.Fail(tenant.CodeInvalidConfig, doing, errors.New("the output is null"))
	}
	for name, value := range values {
		values[name] = plainNumbers(value)
	}
	data := Data{Tenant: values}
	custom, _ := values["custom_hostname"].(string)
	if state, _ := values["verification"].(string); custom != "" && state != string(tenant.ClaimVerified) {
		data.WaitingFor = custom
	}
	return data, nil
}

// plainNumbers makes whole numbers int64 and others float64, so that templates can compare them and print 1000000 as
// people write it.
func plainNumbers(value any) any {
	switch value := value.(type) {
	case json.Number:
		if whole, err := value.Int64(); err == nil {
			return whole
		}
		if fraction, err := value.Float64(); err == nil {
			return fraction
		}
		return value.String()
	case map[string]any:
		for name, inner := range value {
			value[name] = plainNumbers(inner)
		}
	case []any:
		for i, inner := range value {
			value[i] = plainNumbers(inner)
		}
	}
	return value
}

// administrator is whom the mail goes to.
func (d Data) administrator() (mail.Address, error) {
	administrator, _ := d.Tenant["administrator"].(map[string]any)
	email, _ := administrator["email"].(string)
	name, _ := administrator["name"].(string)
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email {
		return mail.Address{}, tenant.Fail(tenant.CodeMailRefused, "addressing the welcome mail",
			fmt.Errorf("the administrator's address %q is not an e-mail address", email))
	}
	return mail.Address{Name: oneLine(name), Address: email}, nil
}

// oneLine makes text fit for a head line: white space of every kind becomes a single space, control characters go, and
// nothing is left that a mail program would decode (RFC 2047, section 2), for it could decode to a line's end.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))), " ")
	return strings.ReplaceAll(text, "=?", "= ?")
}

// Message is a mail that is ready to be sent. Its texts hold the invitation: it is never stored but by a Sender, and
// prints without them.
type Message struct {
	Tenant    tenant.ID
	Kind      string
	MessageID string // without angle brackets
	From      string // an address, or Name <address>
	To        mail.Address
	Subject   string
	Text      string
	HTML      string
	Date      time.Time
}

// String names the mail without its texts.
func (m Message) String() string {
	return fmt.Sprintf("%s mail of tenant %s, Message-ID <%s>", m.Kind, m.Tenant, m.MessageID)
}

// GoString keeps %#v from showing the texts.
func (m Message) GoString() string { return m.String() }

// MessageID returns the one Message-ID (RFC 5322, section 3.6.4) of a mail: the same for each attempt to deliver it, so
// that a mail program shows one mail only. onboarding counts the onboardings of a tenant_id that is used again.
func MessageID(installation string, id tenant.ID, kind string, onboarding int64, domain string) string {
	whole := strings.Join([]string{installation, string(id), kind, strconv.FormatInt(onboarding, 10)}, "_")
	sum := sha256.Sum256([]byte(whole))
	return fmt.Sprintf("%s.%s.%s@%s", kind, id, hex.EncodeToString(sum[:16]), domain)
}
