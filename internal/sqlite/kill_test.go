//go:build failpoints

package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlite"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

const (
	killDir   = "TENANTRY_TEST_KILL_DIR" // of a child, and what makes it one
	killPoint = "TENANTRY_TEST_KILL_POINT"
)

// life is a tenant's whole life in one pool; it can be begun again after any end.
func life(tb testing.TB, w world) func(context.Context) error {
	tb.Helper()
	first := w.spec(tb, "acme", oneFile("CREATE TABLE a (id INTEGER PRIMARY KEY);"))
	files := oneFile("CREATE TABLE a (id INTEGER PRIMARY KEY);")
	files["00002_b.sql"] = "-- +goose NO TRANSACTION\n-- +goose Up\nCREATE TABLE IF NOT EXISTS b (id INTEGER PRIMARY KEY);\n"
	files["00003_c.sql"] = "-- +goose Up\nINSERT INTO b VALUES (1);\n"
	second := w.spec(tb, "acme", files)
	closed := second
	closed.ReadOnly = true
	seed := tenant.SeedSpec{
		Tenant: "acme",
		Place:  first.Place,
		OnEdit: tenant.KeepEdits,
		Tables: []tenant.SeedTable{table("a", "id", row("id", "7"))},
	}
	return func(ctx context.Context) error {
		if _, err := w.pool.Read(
			ctx,
			"acme",
			first.Place,
		); err != nil { // else the files are applied, and the first would be behind
			if _, err := w.pool.Ensure(ctx, first, tenant.NoJournal{}); err != nil {
				return err
			}
		}
		for _, spec := range []tenant.DatabaseSpec{second, closed} {
			if _, err := w.pool.Ensure(ctx, spec, tenant.NoJournal{}); err != nil {
				return err
			}
			if _, err := w.pool.Seeds().Apply(ctx, seed, tenant.NoJournal{}); err != nil {
				return err
			}
		}
		_, err := w.pool.Ensure(ctx, closed, tenant.NoJournal{})
		return err
	}
}

// TestKilledChild is the process that the next test kills; started by hand it does nothing.
func TestKilledChild(t *testing.T) { //nolint:paralleltest // alone in its process
	dir := os.Getenv(killDir)
	if dir == "" {
		return
	}
	at, err := strconv.Atoi(os.Getenv(killPoint))
	require.NoError(t, err)
	passed := 0
	ctx := tenant.WithFailpoint(t.Context(), func(string) {
		if passed++; passed == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
	pool := sqlite.New(sqlite.Config{Dir: dir, Keyring: tenanttest.Keyring(t), Now: now})
	require.NoError(t, life(t, world{dir, pool})(ctx))
}

// TestKill ends a process by SIGKILL at every failpoint of a tenant's life; another goes on from there.
func TestKill(t *testing.T) {
	t.Parallel()
	killed := 0
	for alive := false; !alive; {
		killed++
		w := newWorld(t)
		//nolint:gosec // this very binary
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestKilledChild$")
		child.Env = append(os.Environ(), killDir+"="+w.dir, fmt.Sprintf("%s=%d", killPoint, killed))
		out, err := child.CombinedOutput()
		if alive = err == nil; !alive {
			require.Equalf(t, -1, child.ProcessState.ExitCode(), "killed, not failed: %s", out)
		}
		require.NoError(t, life(t, w)(t.Context()))
		require.Equal(t, []string{"test-eu_acme.db"}, glob(t, w.dir, "*.db"))
		require.Empty(t, leftovers(t, w.dir))
		path := filepath.Join(w.dir, "test-eu_acme.db")
		require.Equal(
			t,
			"1|7",
			one(t, path, "SELECT (SELECT count(*) FROM b) || '|' || (SELECT max(id) FROM a)"),
		)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o400), info.Mode().Perm())
	}
	require.Greater(t, killed, 15, "the life passes many failpoints")
}
