package edge

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const bindingColumns = `hostname, installation, tenant_id, mark, upstream, state`

// bindingRow is a row of the table.
type bindingRow struct {
	tenant.Binding

	installation, mark string
}

func bindingObject(id tenant.ID, hostname string) tenant.Object {
	return tenant.Object{Tenant: id, Kind: tenant.KindBinding, Name: hostname}
}

func scanBinding(rows *sql.Rows) (row bindingRow, err error) {
	err = rows.Scan(&row.Hostname, &row.installation, &row.Tenant, &row.mark, &row.Upstream, &row.State)
	return row, err
}

// lookup returns the row of the hostname; ErrAbsent if it is not bound.
func lookup(ctx context.Context, tx *sql.Tx, hostname string) (bindingRow, error) {
	rows, err := tx.QueryContext(ctx, `SELECT `+bindingColumns+` FROM bindings WHERE hostname = $1`, hostname)
	found, err := collect(rows, err, scanBinding)
	if err != nil {
		return bindingRow{}, err
	}
	if len(found) == 0 {
		return bindingRow{}, tenant.ErrAbsent
	}
	return found[0], nil
}

// mine returns the tenant's binding of the hostname; ErrAbsent or CodeForeign.
func (s *Store) mine(ctx context.Context, tx *sql.Tx, id tenant.ID, hostname string) (tenant.Binding, error) {
	row, err := lookup(ctx, tx, hostname)
	if err != nil {
		return tenant.Binding{}, err
	}
	if err := s.config.Keyring.Owns(bindingObject(id, hostname), row.mark); err != nil {
		return tenant.Binding{}, err
	}
	if row.installation != s.installation() || row.Tenant != id {
		return tenant.Binding{}, tenant.Fail(tenant.CodeForeign, "looking at the binding of "+hostname,
			fmt.Errorf("%w: it is marked for tenant %s and says tenant %q of installation %q",
				tenant.ErrForeign, id, row.Tenant, row.installation))
	}
	return row.Binding, nil
}

// EnsureBinding binds the hostname to the tenant: see tenant.Bindings.
func (s *Store) EnsureBinding(
	ctx context.Context, want tenant.Binding, journal tenant.Journal,
) (tenant.Binding, error) {
	doing := "binding hostname " + want.Hostname + " to tenant " + string(want.Tenant)
	object := bindingObject(want.Tenant, want.Hostname)
	seen, err := s.readBinding(ctx, doing, want.Tenant, want.Hostname)
	if errors.Is(err, tenant.ErrAbsent) {
		_, err = tenant.Make(ctx, journal, object, func(ctx context.Context) (string, error) {
			seen, err = s.bind(ctx, doing, want)
			return want.Hostname, err
		})
		return seen, err
	}
	if err != nil {
		return tenant.Binding{}, err
	}
	if err := journal.Adopted(ctx, object, want.Hostname); err != nil || seen.Upstream == want.Upstream {
		return seen, err
	}
	tenant.Failpoint(ctx, "binding.adopted")
	return s.bind(ctx, doing, want)
}

// bind makes the row, or gives the tenant's own row the wanted upstream and leaves its state.
func (s *Store) bind(ctx context.Context, doing string, want tenant.Binding) (tenant.Binding, error) {
	bound := want
	err := s.write(ctx, doing, func(tx *sql.Tx) error {
		seen, err := s.mine(ctx, tx, want.Tenant, want.Hostname)
		if errors.Is(err, tenant.ErrAbsent) {
			bound.State = tenant.BindingHolding
			_, err = tx.ExecContext(
				ctx,
				`INSERT INTO bindings (`+bindingColumns+`, epoch) VALUES ($1, $2, $3, $4, $5, $6, 0)`,
				want.Hostname,
				s.installation(),
				string(want.Tenant),
				s.config.Keyring.Mark(
					bindingObject(want.Tenant, want.Hostname),
				),
				want.Upstream,
				string(bound.State),
			)
			return err
		}
		if err != nil {
			return err
		}
		bound.State = seen.State
		_, err = tx.ExecContext(
			ctx,
			`UPDATE bindings SET upstream = $1 WHERE hostname = $2 AND upstream <> $1`,
			want.Upstream,
			want.Hostname,
		)
		return err
	})
	return bound, err
}

// ReadBinding returns the tenant's binding of the hostname: see tenant.Bindings.
func (s *Store) ReadBinding(ctx context.Context, id tenant.ID, hostname string) (tenant.Binding, error) {
	return s.readBinding(ctx, "reading the binding of hostname "+hostname, id, hostname)
}

func (s *Store) readBinding(
	ctx context.Context, doing string, id tenant.ID, hostname string,
) (found tenant.Binding, err error) {
	err = s.read(ctx, doing, func(tx *sql.Tx) (err error) {
		found, err = s.mine(ctx, tx, id, hostname)
		return err
	})
	return found, err
}

// DeleteBinding unbinds the hostname: see tenant.Bindings.
func (s *Store) DeleteBinding(
	ctx context.Context, id tenant.ID, hostname string, journal tenant.Journal,
) error {
	doing := "unbinding hostname " + hostname + " from tenant " + string(id)
	err := s.change(ctx, doing, func(tx *sql.Tx) error {
		if _, err := s.mine(ctx, tx, id, hostname); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM bindings WHERE hostname = $1`, hostname)
		return err
	})
	if err != nil && !errors.Is(err, tenant.ErrAbsent) {
		return err
	}
	tenant.Failpoint(ctx, "binding.removed")
	return journal.Removed(ctx, bindingObject(id, hostname))
}

// ListBindings returns all bindings with our mark: see tenant.BindingLister.
func (s *Store) ListBindings(ctx context.Context) (map[tenant.ID][]tenant.Binding, error) {
	found := map[tenant.ID][]tenant.Binding{}
	err := s.read(ctx, "listing the bindings of installation "+s.installation(), func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT `+bindingColumns+` FROM bindings
			WHERE installation = $1 ORDER BY tenant_id, hostname`, s.installation())
		all, err := collect(rows, err, scanBinding)
		for _, row := range all {
			if s.marked(row) {
				found[row.Tenant] = append(found[row.Tenant], row.Binding)
			}
		}
		return err
	})
	if errors.Is(err, tenant.ErrAbsent) {
		err = nil
	}
	return found, err
}

// marked reports whether the row carries our mark for the tenant that it names.
func (s *Store) marked(row bindingRow) bool {
	return s.config.Keyring.Owns(bindingObject(row.Tenant, row.Hostname), row.mark) == nil
}

// Route returns the binding by which the edge routes a hostname, whichever tenant's it is; ErrAbsent if the hostname is
// not bound by this installation.
func (s *Store) Route(ctx context.Context, hostname string) (found tenant.Binding, err error) {
	err = s.read(ctx, "routing hostname "+hostname, func(tx *sql.Tx) error {
		row, err := lookup(ctx, tx, hostname)
		if err == nil && !s.marked(row) {
			return tenant.ErrAbsent
		}
		found = row.Binding
		return err
	})
	return found, err
}

// SetGate moves the tenant's bindings to state: see tenant.Gate. Rows that name the tenant without its mark stay.
func (s *Store) SetGate(
	ctx context.Context, id tenant.ID, state tenant.BindingState, epoch int64,
) (moved []string, err error) {
	doing := fmt.Sprintf("moving the hostnames of tenant %s to %s", id, state)
	if !slices.Contains(
		[]tenant.BindingState{tenant.BindingHolding, tenant.BindingOpen, tenant.BindingSuspended},
		state,
	) {
		return nil, tenant.Fail(tenant.CodeInternal, doing, errors.New("there is no such state"))
	}
	err = s.write(ctx, doing, func(tx *sql.Tx) error {
		moved = nil
		if err := s.pass(ctx, tx, id, epoch); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, `SELECT `+bindingColumns+` FROM bindings
			WHERE installation = $1 AND tenant_id = $2 ORDER BY hostname`, s.installation(), string(id))
		all, err := collect(rows, err, scanBinding)
		if err != nil {
			return err
		}
		for _, row := range all {
			if row.State == state || !s.marked(row) {
				continue
			}
			moved = append(moved, row.Hostname)
			if _, err := tx.ExecContext(ctx, `UPDATE bindings SET state = $1, epoch = $2 WHERE hostname = $3`,
				string(state), epoch, row.Hostname); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return moved, nil
}

// pass remembers the epoch, or refuses one that is older than the last. The insert comes first: it locks the row on every
// database, so that of two owners the later epoch wins.
func (s *Store) pass(ctx context.Context, tx *sql.Tx, id tenant.ID, epoch int64) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO gates (installation, tenant_id, epoch) VALUES ($1, $2, $3)
		ON CONFLICT (installation, tenant_id) DO UPDATE SET epoch = excluded.epoch WHERE gates.epoch < excluded.epoch`,
		s.installation(), string(id), epoch)
	if err != nil {
		return err
	}
	var last int64
	row := tx.QueryRowContext(ctx, `SELECT epoch FROM gates WHERE installation = $1 AND tenant_id = $2`,
		s.installation(), string(id))
	if err := row.Scan(&last); err != nil {
		return err
	}
	if epoch < last {
		return tenant.Fail(tenant.CodeLeaseLost, "comparing epochs",
			fmt.Errorf("epoch %d comes after the tenant was moved in epoch %d", epoch, last))
	}
	return nil
}
