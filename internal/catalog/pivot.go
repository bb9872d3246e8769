package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Pivot sets a Provisioning tenant Online, orders its hostnames to be opened and queues the mail: all of it
// in one transaction, once. It reports whether this call did it. Every step must be Ready for the
// generation, which must be the current one (else tenant.CodeConflict). For a tenant that is Online it
// refreshes outputs and hostname, orders the opening again if the hostname changed or request.Reopen says
// so, and brings a mail that is not sent yet up to date; of a Suspended one it only refreshes outputs and
// hostname. A tenant that was taken over gets no mail.
func (c *Catalog) Pivot(ctx context.Context, epoch int64, id tenant.ID, request PivotRequest) (bool, error) {
	doing := "setting tenant " + string(id) + " online"
	pivoted := false
	err := c.store.write(ctx, doing, func(ctx context.Context, t *txn) error {
		was, err := t.owned(ctx, epoch, id)
		if err != nil {
			return err
		}
		if was.generation != request.Generation {
			return outdated(doing, was, request.Generation)
		}
		if err := t.requireReady(ctx, was); err != nil {
			return err
		}
		is := was
		is.outputs, is.hostname = string(request.Outputs), request.Hostname
		switch Status(was.status) {
		case Provisioning:
			pivoted = true
			if request.TakenOver {
				is.takenOver = 1
			}
			return t.pivot(ctx, was, is, request)
		case Online:
			return t.refresh(ctx, was, is, request)
		case Suspended:
			return t.save(ctx, was, is, 0)
		default:
			return was.refuse("announcing", "it is "+was.status)
		}
	})
	return pivoted && err == nil, err
}

func (t *txn) pivot(ctx context.Context, was, is row, request PivotRequest) error {
	is.status, is.announced = string(Online), t.now
	is.waitingFor, is.waitSince, is.waitUntil = "", 0, 0
	if err := t.save(ctx, was, is, 0); err != nil {
		return err
	}
	if err := t.order(ctx, is, tenant.BindingOpen); err != nil {
		return err
	}
	if is.takenOver == 1 || request.Mail == (NewMail{}) {
		return nil
	}
	return t.queue(ctx, is, request.Mail)
}

func (t *txn) refresh(ctx context.Context, was, is row, request PivotRequest) error {
	if err := t.save(ctx, was, is, 0); err != nil {
		return err
	}
	var ordered string
	err := t.one(ctx, `SELECT hostname FROM outbox WHERE tenant_id = $1`, []any{is.id}, &ordered)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if request.Reopen || ordered != is.hostname {
		if err := t.order(ctx, is, tenant.BindingOpen); err != nil {
			return err
		}
	}
	return t.correct(ctx, is, request.Mail)
}

// requireReady keeps a tenant from being announced that lacks something.
func (t *txn) requireReady(ctx context.Context, r row) error {
	conditions, err := t.conditions(ctx, r.id)
	if err != nil {
		return err
	}
	var lacking []string
	for _, condition := range allSteps(conditions[tenant.ID(r.id)]) {
		if condition.Status != StepReady || condition.Generation != r.generation {
			lacking = append(lacking, string(condition.Step))
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	return r.refuse("announcing", fmt.Sprintf("not ready in generation %d: %s",
		r.generation, strings.Join(lacking, ", ")))
}

const (
	upsertOrder = `INSERT INTO outbox (tenant_id, number, state, hostname, epoch, ordered_ms)
 VALUES ($1, 1, $2, $3, $4, $5)
 ON CONFLICT (tenant_id) DO UPDATE SET number = outbox.number + 1, state = excluded.state,
 hostname = excluded.hostname, epoch = excluded.epoch, ordered_ms = excluded.ordered_ms, acked_ms = 0`
	selectOrders = `SELECT o.tenant_id, t.onboarding, o.number, o.state, o.epoch, o.ordered_ms
 FROM outbox o JOIN tenants t ON t.tenant_id = o.tenant_id WHERE o.acked_ms = 0`
	selectOrdersOfAll = selectOrders + ` ORDER BY o.tenant_id`
	selectOrdersOfOne = selectOrders + ` AND o.tenant_id = $1`
	acknowledge       = `UPDATE outbox SET acked_ms = $3 WHERE tenant_id = $1 AND number = $2 AND acked_ms = 0`
)

// order writes what the edge is to do with all hostnames of the tenant. It replaces an order that is still
// open.
func (t *txn) order(ctx context.Context, r row, state tenant.BindingState) error {
	if _, err := t.exec(ctx, upsertOrder, r.id, string(state), r.hostname, r.epoch, t.now); err != nil {
		return err
	}
	return t.note(ctx, r, 0, EventGateOrdered, "hostnames "+string(state))
}

// DueOutbox returns the orders that are not acknowledged, of one tenant or, with "", of all.
func (c *Catalog) DueOutbox(ctx context.Context, id tenant.ID) ([]Order, error) {
	query, args := selectOrdersOfAll, []any(nil)
	if id != "" {
		query, args = selectOrdersOfOne, []any{string(id)}
	}
	var orders []Order
	err := c.store.read(ctx, "reading the orders to the edge", func(ctx context.Context, t *txn) error {
		return t.each(ctx, query, args, func(scan func(...any) error) error {
			var (
				order   Order
				ordered int64
			)
			err := scan(&order.Tenant, &order.onboarding, &order.Number, &order.State, &order.Epoch, &ordered)
			order.OrderedAt = timeOf(ordered)
			orders = append(orders, order)
			return err
		})
	})
	return orders, err
}

// AckOutbox records that the edge has followed the order. For one that a newer order has replaced it does
// nothing.
func (c *Catalog) AckOutbox(ctx context.Context, order Order) error {
	doing := "acknowledging the order to the edge for tenant " + string(order.Tenant)
	return c.store.write(ctx, doing, func(ctx context.Context, t *txn) error {
		touched, err := t.exec(ctx, acknowledge, string(order.Tenant), order.Number, t.now)
		if err != nil || touched == 0 {
			return err
		}
		r := row{id: string(order.Tenant), onboarding: order.onboarding, epoch: order.Epoch}
		return t.note(ctx, r, 0, EventGateMoved, "hostnames are "+order.State)
	})
}
