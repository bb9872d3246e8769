package provider

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	// keysVariable is the environment variable that holds the keys where the provider block has none.
	keysVariable = "TENANT_KEYS"
	// keyFile is the key file's name in the embedded folder.
	keyFile = "key"
)

// remoteRunVariables are set where HCP Terraform or Terraform Enterprise runs Terraform on a machine of its own.
func remoteRunVariables() []string { return []string{"TFC_RUN_ID", "TFE_RUN_ID"} }

// checkEmbedded refuses what the embedded files can't be used for.
func (p *tenantProvider) checkEmbedded(model configModel, _ *settings) diag.Diagnostics {
	if model.Embedded == nil {
		return nil
	}
	var diags diag.Diagnostics
	at := path.Root("embedded")
	for _, name := range remoteRunVariables() {
		if p.options.Getenv(name) != "" {
			diags.Append(invalid(at, "Embedded files would be lost", doingConfigure, fmt.Errorf(
				"%s is set, so this runs remotely, on a machine whose files are gone after the run: run it locally, or "+
					"configure real systems",
				name,
			)))
		}
	}
	return diags
}

func checkZone(zone string) error {
	if len(zone) > zoneMaxLen {
		return fmt.Errorf("zone %q is %d bytes long; at most %d leave room for tenants' hostnames",
			zone, len(zone), zoneMaxLen)
	}
	// The rules of a hostname are those of a zone, and no hostname lies in the root zone.
	if err := tenant.CheckHostname(zone, "."); err != nil {
		return fmt.Errorf("zone %q: %w", zone, bare(err))
	}
	return nil
}

// checkKeys makes the keyring from the first place that has keys: the configuration, the environment, the key file.
func (p *tenantProvider) checkKeys(model configModel, out *settings) diag.Diagnostics {
	var diags diag.Diagnostics
	installation, err := tenant.ParseInstallation(model.Installation.ValueString())
	if err != nil {
		diags.Append(
			invalid(path.Root("installation"), "The installation can't be named so", doingConfigure, err),
		)
	}
	keys, unreadable := p.keys(model, out.folder)
	if diags.Append(unreadable); diags.HasError() {
		return diags
	}
	if out.keyring, err = tenant.NewKeyring(installation, keys); err != nil {
		diags.Append(invalid(path.Root("keys"), "The keys can't be used", doingConfigure, err))
	}
	out.fingerprint = fingerprint(keys)
	return diags
}

func (p *tenantProvider) keys(model configModel, folder string) ([]tenant.Key, diag.Diagnostic) {
	if len(model.Keys) > 0 {
		return configuredKeys(model.Keys)
	}
	if text := p.options.Getenv(keysVariable); text != "" {
		keys, err := tenant.ParseKeys(text)
		if err != nil {
			return nil, invalid(
				path.Root("keys"),
				"The keys in "+keysVariable+" can't be read",
				doingConfigure,
				err,
			)
		}
		return keys, nil
	}
	if folder == "" {
		return nil, invalid(path.Root("keys"), "There is no key", doingConfigure,
			errors.New("neither keys nor the environment variable "+keysVariable+" has one"))
	}
	name := filepath.Join(folder, keyFile)
	keys, err := readKeyFile(name)
	if err != nil {
		return nil, invalid(path.Root("embedded").AtName("path"), "There is no usable key", doingConfigure,
			fmt.Errorf("the key file %s: %w", name, err))
	}
	return keys, nil
}

func configuredKeys(models []keyModel) ([]tenant.Key, diag.Diagnostic) {
	keys := make([]tenant.Key, 0, len(models))
	for n, model := range models {
		key, err := tenant.ParseKey(model.ID.ValueString(), model.Secret.ValueString())
		if err != nil {
			at := path.Root("keys").AtListIndex(n).AtName("secret")
			return nil, invalid(at, "A key can't be read", doingConfigure, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// readKeyFile reads a file in the form of TENANT_KEYS, which nobody but its owner may read.
func readKeyFile(name string) ([]tenant.Key, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New(
			"it does not exist. tenantctl init makes one; if there was one before, put it back: " +
				"without it nothing that exists can be told from what is foreign",
		)
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	// Windows has no such mode bits; there the folder's access list decides.
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("its mode is %04o, so others than its owner may read it: make it 0600", mode)
	}
	content, err := os.ReadFile(name) //nolint:gosec // the key file of the user's own configuration
	if err != nil {
		return nil, err
	}
	return tenant.ParseKeys(strings.TrimSpace(string(content)))
}

// fingerprint tells two lists of keys apart without holding them.
func fingerprint(keys []tenant.Key) string {
	parts := make([]string, 0, len(keys))
	for _, key := range keys {
		parts = append(parts, key.ID+":"+tenant.NewSecret(string(key.Secret)).Hash())
	}
	return strings.Join(parts, ",")
}
