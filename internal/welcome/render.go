package welcome

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"io"
	"io/fs"
	"strings"
	texttemplate "text/template"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// The files of a folder of templates. One that is not there is taken from Defaults.
const (
	SubjectFile = "welcome.subject.tmpl"
	TextFile    = "welcome.txt.tmpl"
	HTMLFile    = "welcome.html.tmpl"
)

//go:embed templates/*.tmpl
var embedded embed.FS

// Defaults returns the templates that are used where the user has none: SubjectFile, TextFile and HTMLFile.
func Defaults() fs.FS {
	defaults, err := fs.Sub(embedded, "templates")
	if err != nil {
		return embedded // can't be: the name is a valid path
	}
	return defaults
}

// view is Data as templates see it. Only here is the link a plain text.
type view struct {
	Tenant     map[string]any
	Invitation struct {
		Link    string
		Expires time.Time
		Reset   bool
	}
	WaitingFor string
}

// Check parses the templates, so that a broken one is refused before there is anything to announce. It fails with
// CodeInvalidConfig.
func Check(templates fs.FS) error {
	var errs []error
	for _, file := range []string{SubjectFile, TextFile, HTMLFile} {
		source, err := read(templates, file)
		if err == nil {
			_, err = parse(file, string(source))
		}
		if err != nil {
			errs = append(errs, tenant.Fail(tenant.CodeInvalidConfig, "parsing the mail template "+file, err))
		}
	}
	return errors.Join(errs...)
}

// Render makes subject, text and HTML from the templates (Defaults where templates is nil or lacks a file) and
// addresses the mail to the administrator; Tenant, Kind, MessageID, From and Date are the caller's to fill in. It fails
// with CodeInvalidConfig for a template that can't be used, and CodeMailRefused for an address that is none.
func Render(templates fs.FS, data Data) (Message, error) {
	to, err := data.administrator()
	if err != nil {
		return Message{}, err
	}
	seen := view{Tenant: data.Tenant, WaitingFor: data.WaitingFor}
	seen.Invitation.Reset = data.Invitation.Reset
	seen.Invitation.Link, seen.Invitation.Expires = data.Invitation.Link.Reveal(), data.Invitation.Expires.UTC()
	message := Message{To: to}
	for file, text := range map[string]*string{
		SubjectFile: &message.Subject, TextFile: &message.Text, HTMLFile: &message.HTML,
	} {
		if *text, err = render(templates, file, seen); err != nil {
			return Message{}, err
		}
	}
	message.Subject = oneLine(message.Subject)
	if message.Subject == "" {
		return Message{}, tenant.Fail(
			tenant.CodeInvalidConfig,
			"rendering "+SubjectFile,
			errors.New("it gives no text"),
		)
	}
	return message, nil
}

// Preview renders the mail as a person reads it on a terminal, with a placeholder for the invitation's link: head lines,
// the text, then the HTML.
func Preview(templates fs.FS, data Data) (string, error) {
	data.Invitation.Link = tenant.NewSecret(placeholderLink)
	message, err := Render(templates, data)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(
		"To: %s\nSubject: %s\n\n%s\n----- as HTML -----\n\n%s",
		oneLine(
			message.To.Name+" <"+message.To.Address+">",
		),
		message.Subject,
		message.Text,
		message.HTML,
	), nil
}

type executable interface {
	Execute(to io.Writer, data any) error
}

func render(templates fs.FS, file string, seen view) (string, error) {
	source, err := read(templates, file)
	if err != nil {
		return "", tenant.Fail(tenant.CodeInvalidConfig, "reading the mail template "+file, err)
	}
	parsed, err := parse(file, string(source))
	if err != nil {
		return "", tenant.Fail(tenant.CodeInvalidConfig, "parsing the mail template "+file, err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, seen); err != nil {
		return "", tenant.Fail(
			tenant.CodeInvalidConfig,
			"rendering the mail template "+file,
			withoutLink(err, seen),
		)
	}
	return out.String(), nil
}

func read(templates fs.FS, file string) ([]byte, error) {
	if templates == nil {
		return fs.ReadFile(Defaults(), file)
	}
	source, err := fs.ReadFile(templates, file)
	if errors.Is(err, fs.ErrNotExist) {
		return fs.ReadFile(Defaults(), file)
	}
	return source, err
}

func parse(file, source string) (executable, error) {
	const missing = "missingkey=error"
	if file == HTMLFile {
		return htmltemplate.New(file).Option(missing).Parse(source)
	}
	return texttemplate.New(file).Option(missing).Parse(source)
}

// withoutLink keeps the invitation out of the error of a template that trips over it.
func withoutLink(err error, seen view) error {
	if seen.Invitation.Link == "" {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), seen.Invitation.Link, tenant.Secret{}.String()))
}
