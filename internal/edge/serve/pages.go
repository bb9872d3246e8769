package serve

import (
	"bytes"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// The files of a folder of pages. One that is not there is taken from the defaults.
const (
	holdingFile   = "holding.html.tmpl"
	suspendedFile = "suspended.html.tmpl"
)

//go:embed pages/*.tmpl
var embedded embed.FS

// Page is what the templates of pages see.
type Page struct {
	Hostname   string
	Tenant     string
	RetryAfter time.Duration
}

// Pages are the parsed templates of what visitors see who can't come in.
type Pages struct{ holding, suspended *template.Template }

// LoadPages parses the pages of the folder, and the defaults for what it lacks; a nil folder has nothing. It fails with
// CodeInvalidConfig for a template that can't be used.
func LoadPages(folder fs.FS) (Pages, error) {
	holding, err := loadPage(folder, holdingFile)
	if err != nil {
		return Pages{}, err
	}
	suspended, err := loadPage(folder, suspendedFile)
	return Pages{holding, suspended}, err
}

func loadPage(folder fs.FS, file string) (*template.Template, error) {
	source, err := readPage(folder, file)
	if err != nil {
		return nil, tenant.Fail(tenant.CodeInvalidConfig, "reading the page "+file, err)
	}
	page, err := template.New(file).Option("missingkey=error").Parse(string(source))
	if err == nil {
		// A field that is not there shows only now.
		err = page.Execute(
			new(bytes.Buffer),
			Page{Hostname: "a.example", Tenant: "a", RetryAfter: time.Second},
		)
	}
	if err != nil {
		return nil, tenant.Fail(tenant.CodeInvalidConfig, "parsing the page "+file, err)
	}
	return page, nil
}

func readPage(folder fs.FS, file string) ([]byte, error) {
	if folder != nil {
		source, err := fs.ReadFile(folder, file)
		if !errors.Is(err, fs.ErrNotExist) {
			return source, err
		}
	}
	return fs.ReadFile(embedded, "pages/"+file)
}

func (p Pages) check() error {
	if p.holding == nil || p.suspended == nil {
		return errors.New("the pages are not loaded")
	}
	return nil
}

func (p Pages) render(file string, page Page) ([]byte, error) {
	parsed := p.holding
	if file == suspendedFile {
		parsed = p.suspended
	}
	var out bytes.Buffer
	err := parsed.Execute(&out, page)
	return out.Bytes(), err
}
