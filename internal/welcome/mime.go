package welcome

import (
	"bytes"
	"errors"
	"fmt"
	"net/mail"
	"regexp"

	gomail "github.com/wneessen/go-mail"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Build returns the mail as multipart/alternative (RFC 2046, section 5.1.4). It fails with CodeMailRefused if an address
// is none, and CodeInternal if the caller has left MessageID or Date out.
func (m Message) Build() (*gomail.Msg, error) {
	doing := "composing the " + m.String()
	from, err := mail.ParseAddress(m.From)
	if err != nil {
		return nil, tenant.Fail(tenant.CodeMailRefused, doing, fmt.Errorf("the sender's address: %w", err))
	}
	if parsed, err := mail.ParseAddress(m.To.Address); err != nil || parsed.Address != m.To.Address {
		return nil, tenant.Fail(
			tenant.CodeMailRefused,
			doing,
			fmt.Errorf("%q is not an e-mail address", m.To.Address),
		)
	}
	// dot-atom "@" dot-atom (RFC 5322, section 3.6.4), in the letters that ours are made of.
	if !regexp.MustCompile(`^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$`).
		MatchString(m.MessageID) {
		return nil, tenant.Fail(tenant.CodeInternal, doing, errors.New("its Message-ID is none"))
	}
	if m.Date.IsZero() {
		return nil, tenant.Fail(tenant.CodeInternal, doing, errors.New("it has no date"))
	}
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.SetMessageIDWithValue(m.MessageID)
	msg.SetDateWithValue(m.Date)
	msg.FromMailAddress(&mail.Address{Name: oneLine(from.Name), Address: from.Address})
	msg.ToMailAddress(&mail.Address{Name: oneLine(m.To.Name), Address: m.To.Address})
	msg.Subject(oneLine(m.Subject))
	// Out-of-office notices stay away from a mail that says so (RFC 3834, section 5).
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	msg.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	return msg, nil
}

// MIME returns the mail as it is sent (RFC 5322), with lines that end in CR LF.
func (m Message) MIME() ([]byte, error) {
	msg, err := m.Build()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if _, err := msg.WriteTo(&out); err != nil {
		return nil, tenant.Fail(tenant.CodeInternal, "composing the "+m.String(), err)
	}
	return out.Bytes(), nil
}
