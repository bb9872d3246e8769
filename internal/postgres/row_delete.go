package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// dropRow deletes the tenant's rows as the tenant, whom the policies keep from all others', and then tenant and roles in one
// transaction.
func (s *session) dropRow(ctx context.Context, f *found, how tenant.Disposal) error {
	if err := s.checkHeld(ctx, f); err != nil {
		return err
	}
	if err := s.awaitIdle(ctx, f, how.Force); err != nil {
		return err
	}
	if f.exists {
		if err := s.mend(ctx, f, s.kept(f.record, s.wanted(f.record, tenant.DatabaseSpec{}))); err != nil {
			return err
		}
		if err := s.mendPassword(ctx, f, account{f.at.owner, ownerPassword}); err != nil {
			return err
		}
		if err := s.deleteRows(ctx, f); err != nil {
			return err
		}
		tenant.Failpoint(ctx, "database.rows_deleted")
		again, err := s.look(ctx, f.at)
		if err != nil {
			return err
		}
		f = again
	}
	var statements []string
	if f.exists {
		statements = append(
			statements,
			"DELETE FROM public.tenantry_tenants WHERE tenant_id = "+literal(string(f.at.tenant)),
		)
	}
	for _, role := range f.present() {
		statements = append(statements, join(role), "DROP OWNED BY "+ident(role), "DROP ROLE "+ident(role))
	}
	if err := s.exec(ctx, "dropping "+f.at.String(), statements...); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "database.dropped")
	return nil
}

func (s *session) deleteRows(ctx context.Context, f *found) error {
	in, err := s.enter(ctx, f)
	if err != nil {
		return err
	}
	defer in.close()
	doing := "deleting the rows of " + string(f.at.tenant)
	steps, err := in.deletion(ctx)
	if err != nil {
		return err
	}
	tx, err := in.db.BeginTx(ctx, nil)
	if err != nil {
		return classify(doing, err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	for _, tables := range steps {
		if _, err := tx.ExecContext(ctx, deleteFrom(tables), string(f.at.tenant)); err != nil {
			return classify(doing+" from "+strings.Join(tables, ", "), err)
		}
	}
	return classify(doing, tx.Commit())
}

// deleteFrom deletes from several tables in one statement, after which alone their foreign keys are checked.
func deleteFrom(tables []string) string {
	parts := make([]string, 0, len(tables))
	for n, table := range tables {
		parts = append(parts, fmt.Sprintf("d%d AS (DELETE FROM %s WHERE tenant_id = $1)", n, table))
	}
	return "WITH " + strings.Join(parts, ", ") + " SELECT 1"
}

// deletion returns the tables in the order of deletion: those that others point at come later; those that point at each
// other come together.
func (in *inside) deletion(ctx context.Context) ([][]string, error) {
	doing := "reading foreign keys"
	tables, err := query(
		ctx,
		in.db,
		doing,
		func(rows *sql.Rows) (name string, err error) { return name, rows.Scan(&name) },
		`SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
		WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND NOT c.relispartition
		AND c.relname NOT IN ('tenantry_tenants', 'tenantry_logins') ORDER BY 1`,
		in.f.at.schema,
	)
	if err != nil {
		return nil, err
	}
	type edge struct{ child, parent string }
	edges, err := query(
		ctx,
		in.db,
		doing,
		func(rows *sql.Rows) (e edge, err error) { return e, rows.Scan(&e.child, &e.parent) },
		`SELECT format('%I.%I', n.nspname, f.relname), format('%I.%I', m.nspname, t.relname) FROM pg_constraint c
		JOIN pg_class f ON f.oid = c.conrelid JOIN pg_namespace n ON n.oid = f.relnamespace
		JOIN pg_class t ON t.oid = c.confrelid JOIN pg_namespace m ON m.oid = t.relnamespace
		WHERE c.contype = 'f' AND f.oid <> t.oid AND n.nspname = $1`,
		in.f.at.schema,
	)
	if err != nil {
		return nil, err
	}
	var out [][]string
	for len(tables) > 0 {
		free := slices.DeleteFunc(slices.Clone(tables), func(table string) bool {
			return slices.ContainsFunc(
				edges,
				func(e edge) bool { return e.parent == table && slices.Contains(tables, e.child) },
			)
		})
		if len(free) == 0 {
			free = tables
		}
		out = append(out, free)
		tables = slices.DeleteFunc(
			slices.Clone(tables),
			func(table string) bool { return slices.Contains(free, table) },
		)
	}
	return out, nil
}
