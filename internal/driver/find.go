package driver

import (
	"context"
	"errors"
	"fmt"
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

// FindTerraform returns the path of a usable Terraform: the one that given names, or the first on PATH that is new
// enough, or one that it installs into dir.
func FindTerraform(ctx context.Context, given, dir string) (string, error) {
	floor := version.Must(version.NewVersion(MinTerraform))
	if given != "" {
		return checkGiven(ctx, given, floor)
	}
	atLeast := version.MustConstraints(version.NewConstraint(">= " + MinTerraform))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", tenant.Fail(tenant.CodeStorage, "making the folder "+dir, err)
	}
	installer := install.NewInstaller()
	path, err := installer.Ensure(ctx, []src.Source{
		&hcfs.Version{Product: product.Terraform, Constraints: atLeast},
		&hcfs.Version{Product: product.Terraform, Constraints: atLeast, ExtraPaths: []string{dir}},
		&releases.LatestVersion{Product: product.Terraform, Constraints: atLeast, InstallDir: dir},
	})
	if err != nil {
		return "", tenant.Fail(tenant.CodeTerraformMissing, "looking for Terraform "+MinTerraform+" or newer",
			errors.Join(tooOld(ctx, floor), err))
	}
	return path, nil
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
