package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/acctest"
)

// guide is a page of templates/guides: what it has a reader type, and what it says the answer is.
type guide struct {
	commands string   // all blocks of the language shell, one after the other
	answers  []string // the lines of all blocks of the language text; "…" stands for anything
}

var guideBlocks = regexp.MustCompile("(?ms)^```(shell|text)\n(.*?)^```$")

var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

func readGuide(t *testing.T, path string) guide {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var g guide
	for _, block := range guideBlocks.FindAllStringSubmatch(string(text), -1) {
		if block[1] == "shell" {
			g.commands += block[2]
		} else {
			g.answers = append(g.answers, strings.Split(strings.TrimSpace(block[2]), "\n")...)
		}
	}
	return g
}

// clone copies what a clone of the repository holds, without git's own folder and what was built.
func clone(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "terraform-provider-tenant")
	for _, name := range []string{
		"GNUmakefile", "go.mod", "go.sum", "cmd", "examples", "internal", "modules", "tools/go.mod",
	} {
		source, target := filepath.Join(acctest.Repository(), name), filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(target), 0o700))
		require.NoError(t, exec.CommandContext(t.Context(), "cp", "-R", source, target).Run())
	}
	sources, err := filepath.Glob(filepath.Join(acctest.Repository(), "*.go"))
	require.NoError(t, err)
	require.NoError(t, exec.CommandContext(t.Context(), "cp", append(sources, dir)...).Run())
	return dir
}

// TestAccGuides types what the guides say, in the order in which they say it, and compares the answers.
func TestAccGuides(t *testing.T) {
	t.Parallel()
	acctest.Acceptance(t)
	dir := clone(t)
	env := append(
		os.Environ(),
		"PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"),
		"GOFLAGS=-buildvcs=false",
	)
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} { // the guides have a home of their own
		value, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		require.NoError(t, err)
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	// The quickstart comes first: it builds what the others need.
	for _, name := range []string{
		"quickstart", "by-hand", "brownfield", "migrations", "secrets-and-keys", "upgrading",
	} {
		t.Run(name, func(t *testing.T) {
			g := readGuide(t, filepath.Join(acctest.Repository(), "templates", "guides", name+".md"))
			require.NotEmpty(t, g.commands)
			bash := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", g.commands)
			bash.Dir = dir
			bash.Env = append(env, "HOME="+t.TempDir())
			output, err := bash.CombinedOutput()
			require.NoError(t, err, "%s", output)
			said := colours.ReplaceAllString(string(output), "")
			for _, line := range g.answers {
				require.True(t, answer(line).MatchString(said), "%q is not in:\n%s", line, said)
			}
		})
	}
}

// answer matches a line of an answer; how many spaces there are is not said.
func answer(line string) *regexp.Regexp {
	var words []string
	for word := range strings.FieldsSeq(line) {
		words = append(words, strings.ReplaceAll(regexp.QuoteMeta(word), "…", ".*"))
	}
	return regexp.MustCompile(strings.Join(words, `[ \t│]+`))
}

// TestGuidesAreAllRun finds a guide with commands that TestAccGuides leaves out.
func TestGuidesAreAllRun(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(acctest.Repository(), "templates", "guides", "*.md"))
	require.NoError(t, err)
	without := map[string]bool{"failure-codes.md": true, "hcp-terraform.md": true}
	seen := 0
	for _, page := range pages {
		require.Equal(t, without[filepath.Base(page)], readGuide(t, page).commands == "", page)
		seen++
	}
	require.Equal(t, 8, seen)
}
