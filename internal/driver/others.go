package driver

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// HasOthers reports whether a run for the tenant may delete something that is not this provider's, which refuses that by
// itself: something of another provider, terraform_data included, in the configuration or in the tenant's state. In
// doubt it is true.
func (t *Terraform) HasOthers(id tenant.ID) bool {
	entries, err := os.ReadDir(filepath.Join(t.sharedDir(), "providers"))
	if err == nil && len(entries) > 0 || t.project.RemoteState {
		return true
	}
	return t.othersInModules() || t.othersInState(id)
}

func ours(resourceType string) bool {
	_, ok := stepOf(resourceType)
	return ok
}

// othersInModules reads the root module and the modules that terraform init has found.
func (t *Terraform) othersInModules() bool {
	var manifest struct {
		Modules []struct{ Dir string }
	}
	manifest.Modules = append(manifest.Modules, struct{ Dir string }{"."})
	content, err := os.ReadFile(filepath.Join(t.sharedDir(), "modules", "modules.json"))
	if err == nil {
		err = json.Unmarshal(content, &manifest)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true
	}
	for _, module := range manifest.Modules {
		dir := module.Dir
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(t.project.Dir, dir)
		}
		if othersIn(dir) {
			return true
		}
	}
	return false
}

func othersIn(dir string) bool {
	files, err := moduleFiles(dir)
	if err != nil {
		return true
	}
	schema := &hcl.BodySchema{
		Blocks: []hcl.BlockHeaderSchema{{Type: "resource", LabelNames: []string{"type", "name"}}},
	}
	for _, file := range files {
		content, err := os.ReadFile(file) //nolint:gosec // a module of the user's own
		if err != nil {
			return true
		}
		body, err := parseHCL(file, content)
		if err != nil {
			return true
		}
		blocks, _, diags := body.PartialContent(schema)
		if diags.HasErrors() {
			return true
		}
		for _, block := range blocks.Blocks {
			if !ours(block.Labels[0]) {
				return true
			}
		}
	}
	return false
}

// othersInState looks into the local backend's state: a resource that has left the configuration is deleted, too.
func (t *Terraform) othersInState(id tenant.ID) bool {
	content, err := os.ReadFile(
		filepath.Join(t.project.Dir, "terraform.tfstate.d", string(id), "terraform.tfstate"),
	)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	var state struct {
		Resources []struct{ Mode, Type string }
	}
	if len(strings.TrimSpace(string(content))) == 0 {
		return false
	}
	if err := json.Unmarshal(content, &state); err != nil {
		return true
	}
	for _, resource := range state.Resources {
		if resource.Mode == "managed" && !ours(resource.Type) {
			return true
		}
	}
	return false
}
