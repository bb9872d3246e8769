package provider_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/stretchr/testify/require"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tenantry/terraform-provider-tenant/internal/acctest"
	"github.com/tenantry/terraform-provider-tenant/internal/provider"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// examplesInstallation is the one that the examples name.
const examplesInstallation = "prod-eu"

// examplesFolders are those that the documentation shows, and what a file's name says of the Terraform that reads it.
var examplesFolders = []string{
	"actions/*/action*.tf", "data-sources/*/data-source*.tf", "ephemeral-resources/*/ephemeral-resource*.tf",
	"functions/*/function*.tf", "list-resources/*/list-resource*.tfquery.hcl", "provider/provider*.tf",
	"resources/*/import-by-identity.tf", "resources/*/import-by-string-id.tf", "resources/*/import.sh",
	"resources/*/resource*.tf",
}

func examples(t *testing.T, pattern string) []string {
	t.Helper()
	root := filepath.Join(acctest.Repository(), "examples")
	found, err := filepath.Glob(filepath.Join(root, pattern))
	require.NoError(t, err)
	require.NotEmpty(t, found, pattern)
	for i, path := range found {
		found[i], err = filepath.Rel(root, path)
		require.NoError(t, err)
	}
	return found
}

// example is a project whose configuration is that of the given files of examples/, and that has what they count on: a
// folder of migrations, and a database that was there before.
func example(t *testing.T, files ...string) *acctest.Project {
	t.Helper()
	project := acctest.NewProject(t)
	require.NoError(t, os.Remove(project.Path("main.tf")))
	for i, name := range files {
		project.Write(t, fmt.Sprintf("%d.tf", i), readExample(t, name))
	}
	require.NoError(t, os.CopyFS(project.Path("migrations"),
		os.DirFS(filepath.Join(acctest.Repository(), "examples", "brownfield", "migrations"))))
	project.Write(t, ".tenant/databases/customer-birch.db", "")
	for _, name := range []string{"00001_rooms.sql", "00002_bookings.sql"} {
		text, err := os.ReadFile(project.Path("migrations/" + name))
		require.NoError(t, err)
		project.Exec(t, ".tenant/databases/customer-birch.db", string(text))
	}
	return project
}

func readExample(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(acctest.Repository(), "examples", name))
	require.NoError(t, err)
	return string(text)
}

// applyExample applies an example, whose second plan must be empty.
func applyExample(t *testing.T, project *acctest.Project, args ...string) acctest.Result {
	t.Helper()
	done := project.Apply(t, provider.Options{}, args...)
	project.RequireNoChanges(t, provider.Options{}, args...)
	return done
}

// TestAccExamples applies what the documentation shows, all but what only a newer Terraform reads.
func TestAccExamples(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	for _, pattern := range []string{
		"resources/*/resource*.tf", "data-sources/*/*.tf", "functions/*/*.tf",
		"ephemeral-resources/tenant_identity_credentials/*.tf",
	} {
		for _, file := range examples(t, pattern) {
			t.Run(file, func(t *testing.T) {
				t.Parallel()
				done := applyExample(t, example(t, "provider/provider.tf", file))
				for _, told := range regexp.MustCompile(`# (\S+)\n}`).FindAllStringSubmatch(readExample(t, file), -1) {
					require.Contains(
						t,
						done.Output,
						fmt.Sprintf("= %q", told[1]),
						"the example tells its result",
					)
				}
			})
		}
	}
}

func TestAccExampleKeys(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	project := example(t, "provider/provider_keys.tf", "resources/tenant_database/resource.tf")
	applyExample(t, project, "-var", "tenant_key="+acctest.KeySecret(5))
	require.FileExists(t, project.Path(".tenant/small/prod-eu_acme.db"))
	require.NotContains(t, fmt.Sprint(project.Files(t)), acctest.KeySecret(5))
}

// TestAccExampleDatabaseCredentials derives a password from what another root module tells.
func TestAccExampleDatabaseCredentials(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	key, err := tenant.ParseKeys(acctest.KeyText(acctest.KeyID, 7))
	require.NoError(t, err)
	keyring, err := tenant.NewKeyring(examplesInstallation, key)
	require.NoError(t, err)
	secret, err := keyring.Derive(tenant.SecretRef{
		Tenant: "acme", Purpose: tenant.DatabasePassword, Version: 1, Incarnation: "i1", KeyID: acctest.KeyID,
	})
	require.NoError(t, err)
	credentials := func(fingerprint string) string {
		return fmt.Sprintf(
			`credentials={username="acme",key_id="%s",version=1,incarnation="i1",fingerprint="%s"}`,
			acctest.KeyID, fingerprint)
	}
	const file = "ephemeral-resources/tenant_database_credentials/ephemeral-resource.tf"
	project := example(t, "provider/provider.tf", file)
	applyExample(t, project, "-var", credentials(secret.Fingerprint()))
	refused := project.Run(
		t,
		provider.Options{},
		"plan",
		"-no-color",
		"-var",
		credentials("0123456789abcdef"),
	)
	require.Equal(t, 1, refused.Code)
	require.Contains(t, refused.Output, "unknown_key")
}

// TestAccExampleImports forgets a resource and imports it again, as each of the files says.
func TestAccExampleImports(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	for _, script := range examples(t, "resources/*/import.sh") {
		t.Run(filepath.Base(filepath.Dir(script)), func(t *testing.T) {
			t.Parallel()
			folder := filepath.Dir(script)
			project := example(t, "provider/provider.tf", folder+"/resource.tf")
			applyExample(t, project)
			forget := func() {
				done := project.Run(t, provider.Options{}, "state", "rm", filepath.Base(folder)+".acme")
				require.Zero(t, done.Code, done.Output)
			}

			forget()
			command := strings.Fields(readExample(t, script))
			require.Equal(t, "terraform", command[0])
			done := project.Run(t, provider.Options{}, command[1:]...)
			require.Zero(t, done.Code, done.Output)
			applyExample(t, project)

			forget()
			project.Write(t, "import.tf", readExample(t, folder+"/import-by-string-id.tf"))
			require.Contains(t, applyExample(t, project).Output, "1 imported")

			importByIdentity(t, project, folder)
		})
	}
}

// importByIdentity does over the protocol what Terraform 1.12 and newer do with the file.
func importByIdentity(t *testing.T, project *acctest.Project, folder string) {
	t.Helper()
	block := onlyBlock(t, folder+"/import-by-identity.tf", "import")
	to, diags := hcl.AbsTraversalForExpr(block.Body.Attributes["to"].Expr)
	require.False(t, diags.HasErrors())
	require.Equal(t, filepath.Base(folder), to.RootName())
	identity, diags := block.Body.Attributes["identity"].Expr.Value(nil)
	require.False(t, diags.HasErrors())
	imported, err := examplesServer(
		t,
		project,
	).ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{
		TypeName: to.RootName(),
		Identity: &tfprotov6.ResourceIdentityData{IdentityData: dynamic(t, identity)},
	})
	require.NoError(t, err)
	require.Empty(t, imported.Diagnostics)
	require.Len(t, imported.ImportedResources, 1)
}

// TestAccExamplesOfNewerTerraforms does over the protocol what Terraform 1.14 and newer do with the files.
func TestAccExamplesOfNewerTerraforms(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	project := example(
		t,
		"provider/provider.tf",
		"resources/tenant_database/resource.tf",
		"resources/tenant_domain/resource.tf",
		"ephemeral-resources/tenant_identity_credentials/ephemeral-resource.tf",
	)
	applyExample(t, project)
	server := examplesServer(t, project)
	for _, file := range examples(t, "list-resources/*/*.tfquery.hcl") {
		block := onlyBlock(t, file, "list")
		require.Equal(t, filepath.Base(filepath.Dir(file)), block.Labels[0])
		require.Equal(t, []string{"provider"}, attributesOf(block.Body))
		listed, err := server.ListResource(t.Context(), &tfprotov6.ListResourceRequest{
			TypeName: block.Labels[0], Config: dynamic(t, cty.EmptyObjectVal), Limit: 10,
			IncludeResource: true,
		})
		require.NoError(t, err)
		results := slices.Collect(listed.Results)
		require.Len(t, results, 1, file)
		require.Empty(t, results[0].Diagnostics)
		require.NotNil(t, results[0].Resource, file)
	}
	for _, file := range examples(t, "actions/*/*.tf") {
		block := onlyBlock(t, file, "action")
		require.Equal(t, filepath.Base(filepath.Dir(file)), block.Labels[0])
		require.Len(t, block.Body.Blocks, 1)
		config := map[string]cty.Value{}
		for name, attribute := range block.Body.Blocks[0].Body.Attributes {
			value, diags := attribute.Expr.Value(nil)
			require.False(t, diags.HasErrors())
			config[name] = value
		}
		valid, err := server.ValidateActionConfig(t.Context(), &tfprotov6.ValidateActionConfigRequest{
			ActionType: block.Labels[0], Config: dynamic(t, cty.ObjectVal(config)),
		})
		require.NoError(t, err)
		require.Empty(t, valid.Diagnostics, file)
	}
}

// TestExamplesAreAllTested finds files that the documentation would show and no test above reads, and things of the
// provider without an example.
func TestExamplesAreAllTested(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, pattern := range examplesFolders {
		for _, file := range examples(t, pattern) {
			known[file] = true
		}
	}
	for _, folder := range []string{
		"actions", "data-sources", "ephemeral-resources", "functions", "list-resources", "provider", "resources",
	} {
		require.NoError(t, filepath.WalkDir(filepath.Join(acctest.Repository(), "examples", folder),
			func(path string, entry os.DirEntry, err error) error {
				if err == nil && !entry.IsDir() {
					name, _ := filepath.Rel(filepath.Join(acctest.Repository(), "examples"), path)
					require.True(t, known[name], "%s is read by no test", name)
				}
				return err
			}))
	}
	schemas, err := provider.NewServer(provider.Options{}).GetProviderSchema(
		t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	require.NoError(t, err)
	requireExamples(t, known, "resources/%s/resource.tf", schemas.ResourceSchemas)
	requireExamples(t, known, "resources/%s/import.sh", schemas.ResourceSchemas)
	requireExamples(t, known, "data-sources/%s/data-source.tf", schemas.DataSourceSchemas)
	requireExamples(
		t,
		known,
		"ephemeral-resources/%s/ephemeral-resource.tf",
		schemas.EphemeralResourceSchemas,
	)
	requireExamples(t, known, "functions/%s/function.tf", schemas.Functions)
	requireExamples(t, known, "list-resources/%s/list-resource.tfquery.hcl", schemas.ListResourceSchemas)
	requireExamples(t, known, "actions/%s/action.tf", schemas.ActionSchemas)
}

func requireExamples[T any](t *testing.T, known map[string]bool, pattern string, things map[string]T) {
	t.Helper()
	require.NotEmpty(t, things)
	for name := range things {
		require.True(t, known[fmt.Sprintf(pattern, name)], "examples/"+pattern, name)
	}
}

// examplesServer is the provider as provider.tf configures it.
func examplesServer(t *testing.T, project *acctest.Project) interface {
	tfprotov6.ProviderServer
	tfprotov6.ListResourceServer
	tfprotov6.ActionServer
} {
	t.Helper()
	server, ok := provider.NewServer(provider.Options{BaseDir: project.Dir}).(interface {
		tfprotov6.ProviderServer
		tfprotov6.ListResourceServer
		tfprotov6.ActionServer
	})
	require.True(t, ok)
	configured, err := server.ConfigureProvider(t.Context(), acctest.Config(
		`{"installation": "`+examplesInstallation+`", "embedded": {"path": ".tenant", "zone": "app.localhost"}}`,
	))
	require.NoError(t, err)
	require.Empty(t, configured.Diagnostics)
	return server
}

// onlyBlock is the one block of an example's file.
func onlyBlock(t *testing.T, file, typ string) *hclsyntax.Block {
	t.Helper()
	parsed, diags := hclparse.NewParser().ParseHCL([]byte(readExample(t, file)), file)
	require.False(t, diags.HasErrors(), "%v", diags)
	body, ok := parsed.Body.(*hclsyntax.Body)
	require.True(t, ok)
	require.Len(t, body.Blocks, 1)
	require.Equal(t, typ, body.Blocks[0].Type)
	return body.Blocks[0]
}

func attributesOf(body *hclsyntax.Body) []string {
	var names []string
	for name := range body.Attributes {
		names = append(names, name)
	}
	return names
}

func dynamic(t *testing.T, value cty.Value) *tfprotov6.DynamicValue {
	t.Helper()
	text, err := ctyjson.Marshal(value, value.Type())
	require.NoError(t, err)
	return &tfprotov6.DynamicValue{JSON: text}
}
