package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// source is one Go file of the product.
type source struct {
	path string
	file *ast.File
	set  *token.FileSet
}

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s source) at(node ast.Node) string { return s.set.Position(node.Pos()).String() }

// sources parses the Go files at the root and below cmd and internal.
func sources(t *testing.T) []source {
	t.Helper()
	var found []source
	for _, root := range []string{"main.go", "cmd", "internal"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			found = append(found, source{path, file, set})
			return err
		}))
	}
	require.NotEmpty(t, found)
	return found
}

// isCall reports whether node calls pkg.name.
func isCall(node ast.Node, pkg, name string) bool {
	call, ok := node.(*ast.CallExpr)
	if !ok {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != name {
		return false
	}
	owner, ok := selector.X.(*ast.Ident)
	return ok && owner.Name == pkg
}

// started returns what node runs in a goroutine of its own: by a go statement, or by the Go method of an errgroup or
// a WaitGroup.
func started(node ast.Node) (body ast.Node, ok bool) {
	switch node := node.(type) {
	case *ast.GoStmt:
		return node.Call.Fun, true
	case *ast.CallExpr:
		selector, isMethod := node.Fun.(*ast.SelectorExpr)
		if isMethod && len(node.Args) == 1 && (selector.Sel.Name == "Go" || selector.Sel.Name == "TryGo") {
			return node.Args[0], true
		}
	}
	return nil, false
}

func isGuarded(body ast.Node) bool {
	guarded := false
	ast.Inspect(body, func(node ast.Node) bool {
		guarded = guarded || node != nil && isCall(node, "tenant", "Guard")
		return !guarded
	})
	return guarded
}

// TestEveryGoroutineIsGuarded holds because a panic in a bare goroutine ends the process, and every tenant's run in it.
func TestEveryGoroutineIsGuarded(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.isTest() || strings.Contains(filepath.ToSlash(s.path), "/tenanttest/") {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			if body, ok := started(node); ok && !isGuarded(body) {
				t.Errorf("%s: a goroutine without tenant.Guard", s.at(node))
			}
			return true
		})
	}
}

// TestNothingSleeps holds because a sleep ignores its context and makes a test depend on the machine's speed; under
// testing/synctest the time is not real.
func TestNothingSleeps(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.isTest() && imports(s.file, "testing/synctest") {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			if isCall(node, "time", "Sleep") {
				t.Errorf(
					"%s: time.Sleep; wait on a timer and the context, or test under testing/synctest",
					s.at(node),
				)
			}
			return true
		})
	}
}

func imports(file *ast.File, path string) bool {
	for _, spec := range file.Imports {
		if spec.Path.Value == `"`+path+`"` {
			return true
		}
	}
	return false
}

// TestTheMapNamesEveryPackage keeps ARCHITECTURE.md complete.
func TestTheMapNamesEveryPackage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("ARCHITECTURE.md")
	require.NoError(t, err)
	for _, s := range sources(t) {
		folder := filepath.ToSlash(filepath.Dir(s.path))
		if folder != "." && !strings.Contains(string(text), "`"+folder+"`") {
			t.Errorf("ARCHITECTURE.md says nothing of `%s`", folder)
		}
	}
}
