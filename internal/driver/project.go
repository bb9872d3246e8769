package driver

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// OutputName is the root output from which the driver judges a tenant and the mail makes its claims.
const OutputName = "tenant"

// Project is the user's own root module, as far as the driver has to understand it.
type Project struct {
	Dir string // absolute
	// Fingerprint changes when Terraform has to be initialised again.
	Fingerprint string
	// RemoteState is true if the state lies in another place than beside the root module.
	RemoteState bool
	// ProviderVaries is true if the provider block may depend on a tenant's variables.
	ProviderVaries bool
	variables      map[string]variable
}

type variable struct{ secret bool }

// OpenProject reads the root module in dir. It refuses, before anything runs, a folder without Terraform files, one
// whose files have syntax errors, and one without the variable tenant_id or the output tenant.
func OpenProject(dir string) (*Project, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, "finding the root module "+dir, err)
	}
	project := &Project{Dir: abs, variables: map[string]variable{}}
	hasOutput, err := project.read()
	if err != nil {
		return nil, tenant.Fail(tenant.CodeInvalidConfig, "reading the root module in "+abs, err)
	}
	if _, ok := project.variables["tenant_id"]; !ok {
		return nil, tenant.Fail(tenant.CodeInvalidConfig, "reading the root module in "+abs,
			errors.New(`it has no variable "tenant_id"; declare one and pass it to the tenant module`))
	}
	if !hasOutput {
		return nil, tenant.Fail(tenant.CodeInvalidConfig, "reading the root module in "+abs,
			errors.New(`it has no output "tenant"; declare one with the value module.NAME.tenant`))
	}
	return project, nil
}

func (p *Project) read() (hasOutput bool, err error) {
	files, err := moduleFiles(p.Dir)
	if err != nil {
		return false, err
	}
	if len(files) == 0 {
		return false, errors.New("there is no .tf file; `tenantctl init` makes a starter folder")
	}
	sum := sha256.New()
	for _, file := range files {
		content, err := os.ReadFile(file) //nolint:gosec // the user's own root module
		if err != nil {
			return false, err
		}
		sum.Write(fmt.Appendf(nil, "%s %d\n%s", filepath.Base(file), len(content), content))
		found, err := p.readFile(file, content)
		if err != nil {
			return false, err
		}
		hasOutput = hasOutput || found
	}
	p.Fingerprint = hex.EncodeToString(sum.Sum(nil))
	return hasOutput, nil
}

func moduleFiles(dir string) ([]string, error) {
	var files []string
	for _, pattern := range []string{"*.tf", "*.tf.json"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	return files, nil
}

func rootSchema() *hcl.BodySchema {
	return &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "variable", LabelNames: []string{"name"}},
		{Type: "output", LabelNames: []string{"name"}},
		{Type: "provider", LabelNames: []string{"name"}},
		{Type: "terraform"},
	}}
}

func (p *Project) readFile(name string, content []byte) (hasOutput bool, err error) {
	body, err := parseHCL(name, content)
	if err != nil {
		return false, err
	}
	blocks, _, diags := body.PartialContent(rootSchema())
	if diags.HasErrors() {
		return false, diags
	}
	for _, block := range blocks.Blocks {
		switch block.Type {
		case "variable":
			p.variables[block.Labels[0]] = variable{secret: isSecret(block.Body)}
		case "output":
			hasOutput = hasOutput || block.Labels[0] == OutputName
		case "terraform":
			p.RemoteState = p.RemoteState || hasBackend(block.Body)
		case "provider":
			p.ProviderVaries = p.ProviderVaries || block.Labels[0] == "tenant" && refersToInput(block.Body)
		}
	}
	return hasOutput, nil
}

// hasBackend reports whether a terraform block says where the state lies.
func hasBackend(body hcl.Body) bool {
	content, _, diags := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "backend", LabelNames: []string{"type"}}, {Type: "cloud"},
	}})
	return diags.HasErrors() || len(content.Blocks) > 0
}

func parseHCL(name string, content []byte) (hcl.Body, error) {
	parser := hclparse.NewParser()
	parse := parser.ParseHCL
	if strings.HasSuffix(name, ".json") {
		parse = parser.ParseJSON
	}
	file, diags := parse(content, name)
	if diags.HasErrors() {
		return nil, diags
	}
	return file.Body, nil
}

// isSecret reports whether a variable's value must not be stored: it is declared sensitive or ephemeral, or in a way
// that only Terraform can evaluate.
func isSecret(body hcl.Body) bool {
	content, _, diags := body.PartialContent(&hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "sensitive"}, {Name: "ephemeral"}},
	})
	if diags.HasErrors() {
		return true
	}
	for _, attribute := range content.Attributes {
		value, diags := attribute.Expr.Value(nil)
		if diags.HasErrors() || !value.RawEquals(cty.False) {
			return true
		}
	}
	return false
}

// refersToInput reports whether anything in the provider block may depend on a tenant's variables. Only path.* and
// literals certainly do not.
func refersToInput(body hcl.Body) bool {
	attributes, diags := body.JustAttributes()
	if diags.HasErrors() {
		return true
	}
	for _, attribute := range attributes {
		for _, traversal := range attribute.Expr.Variables() {
			if traversal.RootName() != "path" {
				return true
			}
		}
	}
	return false
}
