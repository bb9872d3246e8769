package driver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/hashicorp/go-version"
	install "github.com/hashicorp/hc-install"
	hcfs "github.com/hashicorp/hc-install/fs"
	"github.com/hashicorp/hc-install/product"
	"github.com/hashicorp/hc-install/releases"
	"github.com/hashicorp/hc-install/src"
	"github.com/hashicorp/terraform-exec/tfexec"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// MinTerraform is the oldest Terraform that has all that the module needs: write-only attributes and ephemeral
// variables (https://github.com/hashicorp/terraform/blob/v1.11/CHANGELOG.md).
const MinTerraform = "1.11.0"

// TerraformSource says where a usable Terraform may come from.
type TerraformSource struct {
	Given string       // a path or a name on PATH: no other is looked for
	Dir   string       // where one is installed if there is none; made (0700) then
	Tell  func(string) // hears that one is about to be installed; required

	// Releases and PublicKey are the release server's address and the armoured PGP key of its checksums; "" is
	// HashiCorp's own.
	Releases, PublicKey string
}

// FindTerraform returns the path of a usable Terraform: the one that is given, or the first on PATH that is new enough,
// or the newest, which it installs. Everything that goes wrong is CodeTerraformMissing, and says which of these it was.
func FindTerraform(ctx context.Context, source TerraformSource) (string, error) {
	floor := version.Must(version.NewVersion(MinTerraform))
	if source.Given != "" {
		return checkGiven(ctx, source.Given, floor)
	}
	atLeast := version.MustConstraints(version.NewConstraint(">= " + MinTerraform))
	found, err := install.NewInstaller().Ensure(ctx, []src.Source{
		&hcfs.Version{Product: product.Terraform, Constraints: atLeast, ExtraPaths: []string{source.Dir}},
	})
	if err == nil {
		return found, nil
	}
	old := tooOld(ctx, floor)
	source.Tell(
		"no Terraform " + MinTerraform + " or newer is on PATH: installing the newest into " + source.Dir,
	)
	if err := os.MkdirAll(source.Dir, 0o700); err != nil {
		return "", tenant.Fail(tenant.CodeStorage, "making the folder "+source.Dir, err)
	}
	path, err := install.NewInstaller().Ensure(ctx, []src.Source{&releases.LatestVersion{
		Product: product.Terraform, Constraints: atLeast, InstallDir: source.Dir,
		ApiBaseURL: source.Releases, ArmoredPublicKey: source.PublicKey,
	}})
	if err != nil {
		return "", tenant.Fail(tenant.CodeTerraformMissing, "installing Terraform "+MinTerraform+" or newer",
			errors.Join(old, unverified(err)))
	}
	return path, nil
}

// unverified gives the installer's error its reason back: it loses that of an archive with a wrong checksum, of which
// it then misses the contents.
func unverified(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf(
			"checksum mismatch: the downloaded archive is not what was released, or is damaged; "+
				"nothing was installed (%w)",
			err,
		)
	}
	return err
}

func checkGiven(ctx context.Context, given string, floor *version.Version) (string, error) {
	path, err := exec.LookPath(given)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", tenant.Fail(tenant.CodeTerraformMissing, "looking for "+given, err)
	}
	if err := checkVersion(ctx, path, floor); err != nil {
		return "", tenant.Fail(tenant.CodeTerraformMissing, "checking "+path, err)
	}
	return path, nil
}

// tooOld names the Terraform on PATH if its age is why none was found.
func tooOld(ctx context.Context, floor *version.Version) error {
	path, err := exec.LookPath("terraform")
	if err != nil {
		return nil //nolint:nilerr // not on PATH: then the installer's own error says it all
	}
	return checkVersion(ctx, path, floor)
}

func checkVersion(ctx context.Context, path string, floor *version.Version) error {
	cli, err := tfexec.NewTerraform(filepath.Dir(path), path)
	if err != nil {
		return err
	}
	found, _, err := cli.Version(ctx, true)
	if err != nil {
		return fmt.Errorf("asking %s for its version: %w", path, err)
	}
	if found.Core().LessThan(floor) {
		return fmt.Errorf("%s is version %s; %s or newer is needed", path, found, floor)
	}
	return nil
}
