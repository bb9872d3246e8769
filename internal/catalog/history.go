package catalog

import (
	"context"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	insertEvent = `INSERT INTO history (tenant_id, onboarding, at_ms, epoch, run_id, event, text)
 VALUES ($1, $2, $3, $4, $5, $6, $7)`
	selectEvents = `SELECT h.sequence, h.tenant_id, h.onboarding, h.at_ms, h.epoch, h.run_id, h.event, h.text,
 CASE WHEN h.event = 'run_failed' THEN COALESCE(r.failure_message, '') ELSE '' END
 FROM history h LEFT JOIN runs r ON r.run_id = h.run_id WHERE h.tenant_id = $1 ORDER BY h.sequence`
)

// note appends to the history. Text must name no person: it stays when personal data goes.
func (t *txn) note(ctx context.Context, r row, run int64, kind EventKind, text string) error {
	_, err := t.exec(ctx, insertEvent, r.id, r.onboarding, t.now, r.epoch, run, string(kind), text)
	return err
}

// History returns what happened to a tenant, oldest first.
func (c *Catalog) History(ctx context.Context, id tenant.ID) ([]Event, error) {
	var events []Event
	doing := "reading the history of tenant " + string(id)
	err := c.store.read(ctx, doing, func(ctx context.Context, t *txn) error {
		return t.each(ctx, selectEvents, []any{string(id)}, func(scan func(...any) error) error {
			var (
				event Event
				at    int64
			)
			err := scan(&event.Sequence, &event.Tenant, &event.Onboarding, &at, &event.Epoch, &event.Run,
				&event.Kind, &event.Text, &event.Detail)
			event.Time = timeOf(at)
			events = append(events, event)
			return err
		})
	})
	return events, err
}
