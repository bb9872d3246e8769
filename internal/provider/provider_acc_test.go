package provider_test

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/acctest"
	"github.com/tenantry/terraform-provider-tenant/internal/provider"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	acme = `
resource "tenant_domain" "this" {
  tenant_id = "acme"
}

resource "tenant_identity" "this" {
  tenant_id     = "acme"
  display_name  = "Acme"
  hostnames     = tenant_domain.this.usable_hostnames
  administrator = { email = "ada@acme.example", name = "Ada" }
}
`
	ephemeralKeys = `
variable "secret" {
  type      = string
  ephemeral = true
}

provider "tenant" {
  installation = "test-eu"
  keys         = [{ id = "k1", secret = var.secret }]
  embedded     = { path = ".tenant", zone = "app.localhost" }
}
`
)

func acmeObjects() []string {
	return []string{
		"binding acme acme.app.localhost", "organization acme", "record acme acme.app.localhost/CNAME",
	}
}

// failsWithWords expects an error whose text has the words.
func failsWithWords(words string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(words), " ", `[\s│]+`))
}

// failsWith expects an error of that code; Terraform wraps its text at any blank.
func failsWith(code tenant.Code, words string) *regexp.Regexp {
	return regexp.MustCompile(`(?s)` + strings.ReplaceAll(regexp.QuoteMeta(words), " ", `[\s│]+`) +
		`.*code=` + string(code) + ` `)
}

func requireFails(t *testing.T, done acctest.Result, code tenant.Code, words string) {
	t.Helper()
	require.Equal(t, 1, done.Code, done.Output)
	require.Regexp(t, failsWith(code, words), done.Output)
}

// TestAccConfiguration: what can't work fails before anything is looked at or made.
func TestAccConfiguration(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	for name, test := range map[string]struct {
		keys, config, words string
		env                 environment
	}{
		"short key":        {keys: "k1:c2hvcnQ=", config: acctest.ProviderBlock, words: "has 5 bytes"},
		"malformed keys":   {keys: "nonsense", config: acctest.ProviderBlock, words: "not of the form id:base64"},
		"remote execution": {config: acctest.ProviderBlock, env: environment{"TFC_RUN_ID": "run-1"}, words: "this runs remotely"},
		"no embedded": {
			config: "provider \"tenant\" {\n  installation = \"test-eu\"\n}\n", words: "embedded is left out",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := acctest.NewProject(t)
			if test.keys != "" {
				p.WriteKeys(t, test.keys)
			}
			before := p.Files(t)
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: p.Factories(t, provider.Options{Getenv: test.env.get}),
				Steps: []resource.TestStep{{
					Config: test.config + acme, ExpectError: failsWith(tenant.CodeInvalidConfig, test.words),
				}},
			})
			require.Equal(t, before, p.Files(t))
		})
	}
}

func TestAccConfigurationWithoutAKeyFile(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	p := acctest.NewProject(t)
	require.NoError(t, os.Remove(p.Path(".tenant/key")))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: p.Factories(t, provider.Options{Getenv: environment{}.get}),
		Steps: []resource.TestStep{{
			Config:      acctest.ProviderBlock + acme,
			ExpectError: failsWith(tenant.CodeInvalidConfig, "tenantctl init makes one"),
		}},
	})
	require.Empty(t, p.Files(t)[".tenant/key"], "only tenantctl init makes a key")
}

// TestAccPoolsThatCannotBe: the schema refuses it, naming the attribute.
func TestAccPoolsThatCannotBe(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	p := acctest.NewProject(t)
	var steps []resource.TestStep
	for pools, words := range map[string]string{
		`{}`: `at least 1 elements`,
		`{ a = { sqlite = { path = "a" }, isolation = "row" } }`: `isolation`,
		`{ a = { sqlite = { path = "a" }, max_tenants = 0 } }`:   `at least 1`,
		`{ a = { sqlite = { path = "a" }, plans = [] } }`:        `at least 1 elements`,
		`{ a = { sqlite = { path = "" } } }`:                     `string length`,
	} {
		steps = append(steps, resource.TestStep{
			Config: fmt.Sprintf(
				"provider \"tenant\" {\n  installation = \"test-eu\"\n  pools = %s\n  embedded = "+
					"{ path = \".tenant\", zone = \"app.localhost\" }\n}\n",
				pools,
			) + acme,
			ExpectError: regexp.MustCompile(strings.ReplaceAll(words, " ", `\s+`)),
		})
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: p.Factories(t, provider.Options{Getenv: environment{}.get}), Steps: steps,
	})
}

// TestAccKeys: what was made with one key is ours with that key only, wherever it stands in the list.
func TestAccKeys(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	p := acctest.NewProject(t, acctest.ProviderBlock, acme)
	p.Apply(t, provider.Options{})
	p.RequireNoChanges(t, provider.Options{})
	require.Equal(t, acmeObjects(), acctest.Inventory(t, p.Backends(t)))
	state := p.Files(t)["terraform.tfstate"]

	plan := []string{"plan", "-no-color"}
	p.WriteKeys(t, acctest.KeyText("k1", 8))
	requireFails(t, p.Run(t, provider.Options{}, plan...), tenant.CodeForeign, "")
	p.WriteKeys(t, acctest.KeyText("k2", 7))
	requireFails(t, p.Run(t, provider.Options{}, plan...), tenant.CodeUnknownKey, `"k1"`)
	require.Equal(t, state, p.Files(t)["terraform.tfstate"])

	p.WriteKeys(t, acctest.KeyText("k2", 8), acctest.KeyText("k1", 7))
	p.RequireNoChanges(t, provider.Options{})
	require.Equal(t, acmeObjects(), acctest.Inventory(t, p.Backends(t)))
}

// TestAccTwoAliases: they reach one served instance, which would answer both with the last configuration.
func TestAccTwoAliases(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	other := `
provider "tenant" {
  alias        = "other"
  installation = "test-us"
  embedded     = { path = ".tenant", zone = "app.localhost" }
}

resource "tenant_domain" "other" {
  provider  = tenant.other
  tenant_id = "globex"
}
`
	p := acctest.NewProject(t, acctest.ProviderBlock, acme, other)
	before := p.Files(t)
	done := p.Run(t, provider.Options{}, "apply", "-no-color", "-auto-approve")
	requireFails(t, done, tenant.CodeInvalidConfig, "two provider \"tenant\" blocks that differ")
	require.Equal(t, before, p.Files(t))
}

// TestAccCaptureOnly: a plan that stops at the configuration touches nothing.
func TestAccCaptureOnly(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	p := acctest.NewProject(t, ephemeralKeys, acme)
	before := p.Files(t)
	shared := provider.NewShared()
	t.Cleanup(func() { require.NoError(t, shared.Close()) })
	var captured []provider.Captured
	done := p.Run(t, provider.Options{
		CaptureOnly: true,
		Shared:      shared,
		Capture:     func(c provider.Captured) { captured = append(captured, c) },
	}, "plan", "-no-color", "-refresh=false", "-var", "secret="+acctest.KeySecret(7))
	require.Equal(t, 1, done.Code, done.Output)
	require.Contains(t, done.Output, provider.CapturedSummary)
	require.Len(t, captured, 1)
	require.Equal(t, before, p.Files(t))

	// Its backends outlive the instance that captured them.
	p.Apply(t, provider.Options{}, "-var", "secret="+acctest.KeySecret(7))
	require.Equal(t, acmeObjects(), acctest.Inventory(t, captured[0].Backends))
}

// TestAccInstancesDoNotMix: two runs at once, each with an instance and a configuration of its own.
func TestAccInstancesDoNotMix(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	shared := provider.NewShared()
	t.Cleanup(func() { require.NoError(t, shared.Close()) })
	names := []string{"test-eu", "test-us"}
	results, seen := make([]acctest.Result, len(names)), make([]*tenant.Backends, len(names))
	var runs sync.WaitGroup
	for i, name := range names {
		p := acctest.NewProject(t, strings.ReplaceAll(acctest.ProviderBlock, "test-eu", name), acme)
		served, err := provider.Serve(t.Context(), provider.Options{
			BaseDir: p.Dir, Shared: shared, Capture: func(c provider.Captured) { seen[i] = c.Backends },
		})
		require.NoError(t, err)
		t.Cleanup(served.Close)
		runs.Go(func() {
			results[i] = p.RunWith(t, served.Reattach, "apply", "-no-color", "-auto-approve")
		})
	}
	runs.Wait()
	for i, name := range names {
		require.Zero(t, results[i].Code, results[i].Output)
		require.Equal(t, name, seen[i].Keyring.Installation())
		require.Equal(t, acmeObjects(), acctest.Inventory(t, seen[i]))
	}
}

// TestAccRefuseDestroy: what would delete something fails before anything is done.
func TestAccRefuseDestroy(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	p := acctest.NewProject(t, acctest.ProviderBlock, acme)
	refuse := provider.Options{RefuseDestroy: true}
	p.Apply(t, refuse)
	requireFails(
		t,
		p.Run(t, refuse, "destroy", "-no-color", "-auto-approve"),
		tenant.CodeDestroyRefused,
		"delete",
	)
	tainted := p.Run(t, refuse, "taint", "tenant_domain.this")
	require.Zero(t, tainted.Code, tainted.Output)
	requireFails(t, p.Run(t, refuse, "apply", "-no-color", "-auto-approve"), tenant.CodeDestroyRefused, "")
	require.Equal(t, acmeObjects(), acctest.Inventory(t, p.Backends(t)))

	done := p.Run(t, provider.Options{}, "destroy", "-no-color", "-auto-approve")
	require.Zero(t, done.Code, done.Output)
	require.Empty(t, acctest.Inventory(t, p.Backends(t)))
}

// TestAccPanic: one call fails with one clean diagnostic, the rest of the run goes on, and the next one adopts.
func TestAccPanic(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	p := acctest.NewProject(t, acctest.ProviderBlock, acme, strings.NewReplacer(
		`"this"`, `"other"`, "domain.this", "domain.other", "acme", "globex").Replace(acme))
	var once sync.Once
	done := p.Run(t, provider.Options{Failpoint: func(name string) {
		if name == "organization.made" {
			once.Do(func() { panic("a fault in one tenant's identity") })
		}
	}}, "apply", "-no-color", "-auto-approve")
	requireFails(t, done, tenant.CodeInternal, "a fault in one tenant's identity")
	require.Equal(t, 1, strings.Count(done.Output, "tenant-failure: "), done.Output)
	require.Contains(t, done.Output, "class=terminal")

	p.Apply(t, provider.Options{})
	p.RequireNoChanges(t, provider.Options{})
	require.Len(t, acctest.Inventory(t, p.Backends(t)), 6)
}

// TestAccSecretsAreNowhere: not in state, plan file, plan JSON or output, whichever way the keys came in.
func TestAccSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	p := acctest.NewProject(t, ephemeralKeys, acme)
	raw := "planted-secret-that-must-not-be-seen"
	variable := []string{"-no-color", "-var", "secret=" + planted}
	var said strings.Builder
	for _, args := range [][]string{
		append([]string{"plan", "-out=saved"}, variable...),
		{"show", "-no-color", "-json", "saved"},
		append([]string{"apply", "-auto-approve"}, variable...),
		{"show", "-no-color", "-json"},
		append([]string{"plan", "-json"}, variable...),
	} {
		done := p.Run(t, provider.Options{}, args...)
		require.Zero(t, done.Code, done.Output)
		said.WriteString(done.Output)
	}
	files := p.Files(t)
	maps.Copy(files, unzipped(t, files["saved"]))
	require.Contains(t, slices.Collect(maps.Keys(files)), "saved/tfplan")
	files["what Terraform said"] = said.String()
	for name, content := range files {
		for _, secret := range []string{planted, raw} {
			require.NotContains(t, content, secret, name)
		}
	}
	require.True(t, json.Valid([]byte(files["terraform.tfstate"])))
}

// unzipped is what is in a plan file.
func unzipped(t *testing.T, plan string) map[string]string {
	t.Helper()
	archive, err := zip.NewReader(strings.NewReader(plan), int64(len(plan)))
	require.NoError(t, err)
	files := map[string]string{}
	for _, file := range archive.File {
		reader, err := file.Open()
		require.NoError(t, err)
		content, err := io.ReadAll(reader)
		require.NoError(t, err)
		files["saved/"+file.Name] = string(content)
	}
	return files
}

// TestAccQuickstart: the published example with Terraform alone; applied twice, one of each.
func TestAccQuickstart(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	p := acctest.Example(t, "quickstart")
	variables := []string{"-var", "tenant_id=brightside", "-var-file=tenants/brightside.tfvars"}
	initialised := p.Run(t, provider.Options{}, "init", "-no-color")
	require.Zero(t, initialised.Code, initialised.Output)
	p.Apply(t, provider.Options{}, variables...)
	p.RequireNoChanges(t, provider.Options{}, variables...)
}
