package catalog

import (
	"context"
	"maps"
	"slices"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Get returns a tenant; tenant.ErrAbsent if it was never declared.
func (c *Catalog) Get(ctx context.Context, id tenant.ID) (Tenant, error) {
	var found Tenant
	err := c.store.read(ctx, "reading tenant "+string(id), func(ctx context.Context, t *txn) (err error) {
		found, err = t.tenant(ctx, id)
		return err
	})
	return found, err
}

// List returns all tenants ordered by id, in a handful of queries however many they are.
func (c *Catalog) List(ctx context.Context) ([]Tenant, error) {
	var all []Tenant
	err := c.store.read(ctx, "reading the tenants", func(ctx context.Context, t *txn) (err error) {
		all, err = t.tenants(ctx, "")
		return err
	})
	return all, err
}

func (t *txn) tenant(ctx context.Context, id tenant.ID) (Tenant, error) {
	found, err := t.tenants(ctx, string(id))
	if err != nil {
		return Tenant{}, err
	}
	if len(found) == 0 {
		return Tenant{}, tenant.ErrAbsent
	}
	return found[0], nil
}

// tenants puts together what the tables say of one tenant or, with "", of all.
func (t *txn) tenants(ctx context.Context, id string) ([]Tenant, error) {
	query, args := selectRows+` ORDER BY t.tenant_id`, []any(nil)
	if id != "" {
		query, args = selectRow, []any{id}
	}
	var all []Tenant
	err := t.each(ctx, query, args, func(scan func(...any) error) error {
		var r row
		err := scan(r.fields()...)
		all = append(all, r.tenant())
		return err
	})
	if err != nil {
		return nil, err
	}
	conditions, err := t.conditions(ctx, id)
	if err != nil {
		return nil, err
	}
	entries, err := t.entries(ctx, id)
	if err != nil {
		return nil, err
	}
	mails, err := t.mails(ctx, id)
	if err != nil {
		return nil, err
	}
	newest := newestMails(mails)
	for i := range all {
		one := &all[i]
		one.Conditions = allSteps(conditions[one.ID])
		one.ExternalIDs = slices.DeleteFunc(entries[one.ID], func(entry JournalEntry) bool {
			return entry.State == JournalRemoved
		})
		if mail := newest[one.ID]; mail != nil && mail.Onboarding == one.Onboarding {
			one.Mail = mail
		}
	}
	return all, nil
}

func newestMails(mails []Mail) map[tenant.ID]*Mail {
	newest := make(map[tenant.ID]*Mail, len(mails))
	for i := range mails {
		mail := &mails[i]
		if known := newest[mail.Tenant]; known == nil || mail.QueuedAt.After(known.QueuedAt) {
			newest[mail.Tenant] = mail
		}
	}
	return newest
}

const (
	selectConditions = `SELECT tenant_id, step, status, reason, message, generation, since_ms
 FROM conditions`
	selectConditionsOfOne = selectConditions + ` WHERE tenant_id = $1`
)

func (t *txn) conditions(ctx context.Context, id string) (map[tenant.ID]map[tenant.Step]Condition, error) {
	query, args := selectConditions, []any(nil)
	if id != "" {
		query, args = selectConditionsOfOne, []any{id}
	}
	all := map[tenant.ID]map[tenant.Step]Condition{}
	err := t.each(ctx, query, args, func(scan func(...any) error) error {
		var (
			owner tenant.ID
			c     Condition
			since int64
		)
		err := scan(&owner, &c.Step, &c.Status, &c.Reason, &c.Message, &c.Generation, &since)
		c.Since = timeOf(since)
		if all[owner] == nil {
			all[owner] = map[tenant.Step]Condition{}
		}
		all[owner][c.Step] = c
		return err
	})
	return all, err
}

// allSteps puts conditions into the order of work. A step that nothing is recorded of is Unknown; one that
// this program does not know comes last.
func allSteps(known map[tenant.Step]Condition) []Condition {
	steps := tenant.Steps()
	for _, step := range slices.Sorted(maps.Keys(known)) {
		if !slices.Contains(steps, step) {
			steps = append(steps, step)
		}
	}
	all := make([]Condition, 0, len(steps))
	for _, step := range steps {
		condition, ok := known[step]
		if !ok {
			condition = Condition{Step: step, Status: StepUnknown}
		}
		all = append(all, condition)
	}
	return all
}
