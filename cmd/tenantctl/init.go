package main

import (
	"crypto/rand"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/welcome"
	"github.com/tenantry/terraform-provider-tenant/modules"
)

//go:embed starter
var starter embed.FS

func newInit(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Make a starter folder: a root module, a key, one tenant, mail templates",
		Long: "init lays a root module with the embedded provider block, its key file, one tenant and the mail templates into the\n" +
			"folder given by --chdir. Nothing that exists is changed; in a folder that already has a root module only the key and\n" +
			"the mail templates are added.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return o.init() },
	}
}

func (o *options) init() error {
	existing, err := filepath.Glob(filepath.Join(o.chdir, "*.tf"))
	if err != nil {
		return tenant.Fail(tenant.CodeStorage, "looking into "+o.chdir, err)
	}
	if len(existing) == 0 {
		content, err := fs.Sub(starter, "starter")
		if err != nil {
			return tenant.Fail(tenant.CodeInternal, "opening the starter files", err)
		}
		if err := o.lay(content, ""); err != nil {
			return err
		}
		if err := o.lay(modules.Tenant, "modules"); err != nil {
			return err
		}
	}
	if err := o.lay(welcome.Defaults(), mailsFolder); err != nil {
		return err
	}
	return o.makeKey()
}

// lay copies files below the folder given, leaving alone what is there.
func (o *options) lay(files fs.FS, folder string) error {
	return fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return tenant.Fail(tenant.CodeInternal, "reading "+name, err)
		}
		if path.Base(name) == "gitignore" {
			name = path.Join(path.Dir(name), ".gitignore")
		}
		return o.writeNew(filepath.Join(o.chdir, folder, filepath.FromSlash(name)), content, 0o644)
	})
}

func (o *options) writeNew(target string, content []byte, mode fs.FileMode) error {
	doing := "writing " + target
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil { //nolint:gosec // the user's own project
		return tenant.Fail(tenant.CodeStorage, doing, err)
	}
	//nolint:gosec // the user's own project
	file, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		fmt.Fprintln(o.out, "kept   ", target)
		return nil
	}
	if err != nil {
		return tenant.Fail(tenant.CodeStorage, doing, err)
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return tenant.Fail(tenant.CodeStorage, doing, err)
	}
	fmt.Fprintln(o.out, "created", target)
	return nil
}

// mayMakeKey refuses a new key where an old one has marked things: with another key they would all be foreign.
func (o *options) mayMakeKey(folder string) error {
	key := filepath.Join(folder, "key")
	if _, err := os.Lstat(key); !errors.Is(err, fs.ErrNotExist) {
		return nil // it is kept, whatever it is
	}
	for _, made := range []string{"identity.db", "edge.db", "catalog.db"} {
		if _, err := os.Lstat(filepath.Join(folder, made)); err == nil {
			return &tenant.Failure{
				Code:  tenant.CodeUnknownKey,
				Class: tenant.Terminal,
				Doing: "making the key " + key,
				Err: fmt.Errorf(
					"%s is there, so tenants were made with a key before: with a new one none of them is ours",
					made,
				),
				Remedy: "Put the key back from your copy of it.",
			}
		}
	}
	return nil
}

// makeKey makes the key file of the embedded provider. Whoever loses it loses the tenants: their marks can't be
// proved any more.
func (o *options) makeKey() error {
	secret := make([]byte, tenant.MinKeyLen)
	if _, err := rand.Read(secret); err != nil {
		return tenant.Fail(tenant.CodeInternal, "making a key", err)
	}
	folder := o.dataFolder()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return tenant.Fail(tenant.CodeStorage, "making the folder "+folder, err)
	}
	if err := o.mayMakeKey(folder); err != nil {
		return err
	}
	content := "k1:" + base64.StdEncoding.EncodeToString(secret) + "\n"
	if err := o.writeNew(filepath.Join(folder, "key"), []byte(content), 0o600); err != nil {
		return err
	}
	fmt.Fprintf(
		o.out,
		"\nKeep a copy of %s in a safe place: it proves which objects are yours.\n"+
			"Next: look at main.tf and tenants/, then run tenantctl plan and tenantctl apply.\n",
		filepath.Join(folder, "key"),
	)
	return nil
}
