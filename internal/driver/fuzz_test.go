package driver

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// FuzzTenantFile: whatever somebody writes into a tenant's file, it is read into JSON without what is secret, or refused
// as a failure that says so.
func FuzzTenantFile(f *testing.F) {
	for _, text := range []string{
		"plan = \"pro\"\napi_token = \"planted\"\n", `{"plan": "pro", "once": "planted"}`, "plan = <<E\na\nE\n", "plan = [",
		"plan = null", "tenant_id = \"acme\"", "plan = \"${var.x}\"", "plan = {a = [1, {b = null}]}", "\xff", "plan = 1e999",
	} {
		f.Add(text, false)
		f.Add(text, true)
	}
	dir := f.TempDir()
	require.NoError(f, os.WriteFile(filepath.Join(dir, "main.tf"), []byte(goodRoot), 0o600))
	root, err := OpenProject(dir)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string, asJSON bool) {
		path := filepath.Join(t.TempDir(), "acme.tfvars")
		if asJSON {
			path += ".json"
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		file := root.tenantFile("acme", path, false)
		if file.Err != nil {
			var failure *tenant.Failure
			require.ErrorAs(t, file.Err, &failure)
			return
		}
		require.NotContains(t, file.Values, "api_token")
		require.NotContains(t, file.Values, "once")
		spec, err := file.Spec()
		require.NoError(t, err)
		require.True(t, json.Valid(spec))
	})
}

// FuzzStream: whatever Terraform prints, in whatever pieces, its end is judged: a failure has a code and a class.
func FuzzStream(f *testing.F) {
	for _, text := range []string{
		applyErrored, ourError, busyError, lockError, `{"type":"outputs","outputs":{"tenant":{"value":{}}}}`, "panic: x\n\n",
		`{"type":"diagnostic"}`, `{"type":"apply_start","hook":null}`, `{"type":"change_summary","changes":{"add":-1}}`,
	} {
		f.Add(text+"\n", 3)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		events := &stream{onHook: func(string, hook) {}}
		cut = min(max(cut, 0), len(text))
		_, _ = events.Write([]byte(text[:cut]))
		_, _ = events.Write([]byte(text[cut:]))
		failure := tenant.FailureOf(events.failure(errors.New("exit status 1")))
		require.NotEmpty(t, failure.Code)
		require.NotEmpty(t, failure.Class)
		_, _ = events.output("acme")
	})
}
