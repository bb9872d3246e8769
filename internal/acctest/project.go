package acctest

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	// Installation is the installation of a Project.
	Installation = "test-eu"
	// Zone is the zone of a Project.
	Zone = "app.localhost"
	// KeyID is the id of a Project's key.
	KeyID = "k1"
	// EmbeddedFolder is the folder of a Project's embedded backends.
	EmbeddedFolder = ".tenant"
	// ProviderBlock configures a Project's provider. The key comes from the key file.
	ProviderBlock = `
provider "tenant" {
  installation = "` + Installation + `"
  embedded     = { path = "` + EmbeddedFolder + `", zone = "` + Zone + `" }
}
`
	// required names the provider where Terraform itself reads the configuration.
	required = `
terraform {
  required_providers {
    tenant = { source = "registry.terraform.io/tenantry/tenant" }
  }
}
`
)

// Project is a root module in a scratch folder, with an embedded folder that has its key.
type Project struct {
	Dir string
}

// NewProject makes a project whose main.tf has the given blocks, and the one that names the provider.
func NewProject(t *testing.T, blocks ...string) *Project {
	t.Helper()
	p := &Project{Dir: t.TempDir()}
	p.Write(t, "main.tf", required+strings.Join(blocks, "\n"))
	p.WriteKeys(t, KeyText(KeyID, 7))
	return p
}

// Example makes a project from a copy of a folder of examples/, with the modules that it refers to.
func Example(t *testing.T, name string) *Project {
	t.Helper()
	root := t.TempDir()
	p := &Project{Dir: filepath.Join(root, "examples", name)}
	require.NoError(t, os.CopyFS(p.Dir, os.DirFS(filepath.Join(Repository(), "examples", name))))
	require.NoError(t, os.CopyFS(
		filepath.Join(root, "modules"), os.DirFS(filepath.Join(Repository(), "modules"))))
	p.WriteKeys(t, KeyText(KeyID, 7))
	return p
}

// KeyText is a key in the form of TENANT_KEYS; fill is every byte of its secret.
func KeyText(id string, fill byte) string { return id + ":" + KeySecret(fill) }

// KeySecret is the secret of a key in base64.
func KeySecret(fill byte) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{fill}, tenant.MinKeyLen))
}

// Path is where a file of the project lies.
func (p *Project) Path(name string) string { return filepath.Join(p.Dir, name) }

// Write writes a file of the project.
func (p *Project) Write(t *testing.T, name, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(p.Path(name)), 0o700))
	require.NoError(t, os.WriteFile(p.Path(name), []byte(content), 0o600))
}

// WriteKeys replaces the project's key file.
func (p *Project) WriteKeys(t *testing.T, keys ...string) {
	t.Helper()
	p.Write(t, filepath.Join(EmbeddedFolder, "key"), strings.Join(keys, ",")+"\n")
}

// Files returns the contents of all files of the project, by path.
func (p *Project) Files(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(p.Dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path) //nolint:gosec // a file of the test's own folder
		name, _ := filepath.Rel(p.Dir, path)
		files[name] = string(content)
		return err
	}))
	return files
}
