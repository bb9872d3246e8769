package driver

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// TenantsFolder is where a project keeps one variables file for each tenant; the stem is the tenant_id.
const TenantsFolder = "tenants"

// TenantFile is one tenant's variables.
type TenantFile struct {
	ID   tenant.ID
	Path string // absolute
	// Values are the variables without those declared sensitive or ephemeral, as JSON.
	Values map[string]json.RawMessage
	sum    [sha256.Size]byte // of the content that was read
	// Err says why the file can't be used. Other tenants go on.
	Err error
}

// Spec is what the catalog stores of the file: a JSON object with sorted keys.
func (f TenantFile) Spec() (json.RawMessage, error) { return json.Marshal(f.Values) }

// Text returns a variable of type string, or "".
func (f TenantFile) Text(name string) string {
	var text string
	if err := json.Unmarshal(f.Values[name], &text); err != nil {
		return ""
	}
	return text
}

// Tenants returns the tenants in the project's folder, ordered by id; with ids given, those only, and a TenantFile
// with an error for each that has no file.
func (p *Project) Tenants(ids []string) ([]TenantFile, error) {
	folder := filepath.Join(p.Dir, TenantsFolder)
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, tenant.Fail(tenant.CodeStorage, "reading "+folder, err)
	}
	paths := map[string]string{}
	twice := map[string]bool{}
	for _, entry := range entries {
		stem, ok := tenantStem(entry.Name())
		if !ok || entry.IsDir() {
			continue
		}
		_, seen := paths[stem]
		twice[stem] = twice[stem] || seen
		paths[stem] = filepath.Join(folder, entry.Name())
	}
	if len(ids) == 0 {
		for stem := range paths {
			ids = append(ids, stem)
		}
	}
	slices.Sort(ids)
	files := make([]TenantFile, 0, len(ids))
	for _, id := range slices.Compact(ids) {
		files = append(files, p.tenantFile(id, paths[id], twice[id]))
	}
	return files, nil
}

func tenantStem(name string) (string, bool) {
	if strings.HasPrefix(name, ".") {
		return "", false
	}
	if stem, ok := strings.CutSuffix(name, ".tfvars"); ok {
		return stem, true
	}
	return strings.CutSuffix(name, ".tfvars.json")
}

func (p *Project) tenantFile(stem, path string, twice bool) TenantFile {
	file := TenantFile{ID: tenant.ID(stem), Path: path}
	id, err := tenant.ParseID(stem)
	switch {
	case err != nil:
		file.Err = tenant.Fail(tenant.CodeInvalidTenantID, "reading the tenant "+stem, err)
	case path == "":
		file.Err = tenant.Fail(
			tenant.CodeInvalidConfig,
			"looking for the tenant "+stem,
			fmt.Errorf(
				"there is neither %[1]s/%[2]s.tfvars nor %[1]s/%[2]s.tfvars.json",
				TenantsFolder,
				stem,
			),
		)
	case twice:
		file.Err = tenant.Fail(tenant.CodeInvalidConfig, "reading the tenant "+stem,
			errors.New("it has both a .tfvars and a .tfvars.json file; keep one"))
	default:
		file.ID = id
		content, err := readSmall(path)
		if err != nil {
			file.Err = tenant.Fail(tenant.CodeInvalidConfig, "reading the variables of tenant "+stem, err)
			break
		}
		file.sum = sha256.Sum256(content)
		file.Values, file.Err = p.values(id, path, content)
	}
	return file
}

// tenantFileMax is far more than a person or a program writes about one tenant, in bytes.
const tenantFileMax = 4 << 20

// readSmall reads a regular file: nothing that never ends, or that waits for somebody to write into it.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New(path + " is no regular file")
	case info.Size() > tenantFileMax:
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read", path, info.Size(), tenantFileMax)
	}
	return os.ReadFile(path) //nolint:gosec // a file of the user's own project
}

// unchanged fails if the file is no longer what was read: Terraform has read it a second time, and what the catalog
// keeps of it may not be what was applied.
func (f TenantFile) unchanged() error {
	content, err := readSmall(f.Path)
	if err == nil && sha256.Sum256(content) == f.sum {
		return nil
	}
	return &tenant.Failure{
		Code: tenant.CodeConflict, Class: tenant.Terminal, Doing: "applying " + f.Path,
		Err:    errors.Join(errors.New("the file was changed while it was being applied"), err),
		Remedy: "Apply again, with the file as it is now.",
	}
}

func (p *Project) values(id tenant.ID, path string, content []byte) (map[string]json.RawMessage, error) {
	doing := "reading the variables of tenant " + string(id)
	body, err := parseHCL(path, content)
	if err != nil {
		return nil, tenant.Fail(tenant.CodeInvalidConfig, doing, err)
	}
	attributes, diags := body.JustAttributes()
	if diags.HasErrors() {
		return nil, tenant.Fail(tenant.CodeInvalidConfig, doing, diags)
	}
	values := make(map[string]json.RawMessage, len(attributes))
	for name, attribute := range attributes {
		value, diags := attribute.Expr.Value(nil)
		if diags.HasErrors() {
			return nil, tenant.Fail(tenant.CodeInvalidConfig, doing, diags)
		}
		declared, ok := p.variables[name]
		if !ok {
			return nil, tenant.Fail(tenant.CodeInvalidConfig, doing, fmt.Errorf(
				"%s sets %s, which the root module does not declare", filepath.Base(path), name))
		}
		if declared.secret {
			continue
		}
		if values[name], err = ctyjson.Marshal(value, value.Type()); err != nil {
			return nil, tenant.Fail(tenant.CodeInvalidConfig, doing, err)
		}
	}
	return values, sameTenant(doing, id, values["tenant_id"])
}

// sameTenant refuses a file that names another tenant than its own name does.
func sameTenant(doing string, id tenant.ID, given json.RawMessage) error {
	var name string
	if given == nil || json.Unmarshal(given, &name) == nil && name == string(id) {
		return nil
	}
	return tenant.Fail(tenant.CodeTenantIDChanged, doing,
		fmt.Errorf("the file sets tenant_id to another name than its own, %s; remove tenant_id from it", id))
}
