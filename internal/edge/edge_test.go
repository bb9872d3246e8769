package edge_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/edge"
	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

const zone = "app.example"

func fixedNow() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// table is one file of the edge, which any number of stores may have open.
type table struct{ path string }

func newTable(tb testing.TB) table {
	tb.Helper()
	return table{filepath.Join(tb.TempDir(), "edge.db")}
}

func (t table) open(tb testing.TB, ring *tenant.Keyring) *edge.Store {
	tb.Helper()
	store := edge.New(edge.Config{Path: t.path, Zone: zone, Keyring: ring, Now: fixedNow})
	tb.Cleanup(func() { require.NoError(tb, store.Close()) })
	return store
}

// made opens the file behind the store's back, after the store has made its tables.
func (t table) made(tb testing.TB) *sql.DB {
	tb.Helper()
	_, err := t.open(tb, tenanttest.Keyring(tb)).
		Request(tb.Context(), "maker", "maker.example", fixedNow(), tenant.NoJournal{})
	require.NoError(tb, err)
	db, err := sqlitefile.OpenExisting(t.path)
	require.NoError(tb, err)
	_, err = db.ExecContext(tb.Context(), "DELETE FROM claims WHERE tenant_id = 'maker'")
	require.NoError(tb, err)
	return db
}

func (t table) exec(tb testing.TB, statement string, args ...any) {
	tb.Helper()
	db := t.made(tb)
	_, err := db.ExecContext(tb.Context(), statement, args...)
	require.NoError(tb, err)
	require.NoError(tb, db.Close())
}

func (t table) rows(tb testing.TB, query string) []string {
	tb.Helper()
	db, err := sqlitefile.OpenExisting(t.path)
	if err != nil {
		return nil // nothing was written yet
	}
	defer func() { require.NoError(tb, db.Close()) }()
	found, err := db.QueryContext(tb.Context(), query)
	require.NoError(tb, err)
	defer func() { require.NoError(tb, found.Close()) }()
	columns, err := found.Columns()
	require.NoError(tb, err)
	var rows []string
	for found.Next() {
		cells := make([]any, len(columns))
		for i := range cells {
			cells[i] = new(any)
		}
		require.NoError(tb, found.Scan(cells...))
		text := ""
		for i, cell := range cells {
			value, ok := cell.(*any)
			require.True(tb, ok)
			text += fmt.Sprintf("%s=%v ", columns[i], *value)
		}
		rows = append(rows, text)
	}
	require.NoError(tb, found.Err())
	return rows
}

func TestClaims(t *testing.T) {
	t.Parallel()
	tenanttest.Claims(t, func(tb testing.TB) tenanttest.ClaimsWorld {
		tb.Helper()
		file := newTable(tb)
		return tenanttest.ClaimsWorld{
			Open: func(ring *tenant.Keyring) tenant.Claims { return file.open(tb, ring) },
			Forge: func(tb testing.TB, id tenant.ID, hostname string) {
				tb.Helper()
				file.exec(
					tb,
					`INSERT INTO claims (number, hostname, installation, tenant_id, mark, target, state,
 requested_ms, verified_ms, given_up_ms) VALUES (9001, $1, $2, $3, '', 'c9001.claims.app.example', 'pending', 1, 0, 0)`,
					hostname,
					tenanttest.Installation,
					string(id),
				)
			},
			Rows: func(tb testing.TB) []string {
				tb.Helper()
				return file.rows(tb, "SELECT * FROM claims ORDER BY number")
			},
		}
	})
}

func TestBindings(t *testing.T) {
	t.Parallel()
	tenanttest.Bindings(t, func(tb testing.TB) tenanttest.BindingsWorld {
		tb.Helper()
		file := newTable(tb)
		return tenanttest.BindingsWorld{
			Open: func(ring *tenant.Keyring) tenanttest.Edge { return file.open(tb, ring) },
			Forge: func(tb testing.TB, installation, mark string, binding tenant.Binding) {
				tb.Helper()
				file.exec(
					tb,
					`INSERT OR REPLACE INTO bindings (hostname, installation, tenant_id, mark, upstream, state, epoch)
 VALUES ($1, $2, $3, $4, $5, $6, 0)`,
					binding.Hostname,
					installation,
					string(binding.Tenant),
					mark,
					binding.Upstream,
					string(binding.State),
				)
			},
			Rows: func(tb testing.TB) []string {
				tb.Helper()
				return file.rows(tb, "SELECT * FROM bindings ORDER BY hostname")
			},
		}
	})
}

// TestNumbersAreNeverGivenAgain: whoever still points at an old claim's target proves nothing for a new one.
func TestNumbersAreNeverGivenAgain(t *testing.T) {
	t.Parallel()
	store := newTable(t).open(t, tenanttest.Keyring(t))
	seen := map[string]bool{}
	for range 3 {
		claim, err := store.Request(t.Context(), "acme", "books.acme.example", fixedNow(), tenant.NoJournal{})
		require.NoError(t, err)
		require.False(t, seen[claim.Target], claim.Target)
		require.Contains(t, claim.Target, ".claims."+zone)
		seen[claim.Target] = true
		require.NoError(t, store.GiveUp(t.Context(), "acme", "books.acme.example", tenant.NoJournal{}))
	}
}
