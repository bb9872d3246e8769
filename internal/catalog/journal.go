package catalog

import (
	"context"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Journal is the journal of a tenant's current onboarding, for the owner with that epoch.
func (c *Catalog) Journal(epoch int64, id tenant.ID) tenant.Journal {
	return &journal{catalog: c, epoch: epoch, tenant: id}
}

type journal struct {
	catalog *Catalog
	epoch   int64
	tenant  tenant.ID
}

var _ tenant.Journal = (*journal)(nil)

// writeEntry is one statement, so that an entry costs one commit and nothing else. It touches no row if the
// epoch is not the owner's, or if the entry already says so.
const (
	writeEntry = `INSERT INTO journal
 (tenant_id, onboarding, kind, name, position, state, external_id, epoch, changed_ms)
 SELECT t.tenant_id, t.onboarding, CAST($3 AS TEXT), CAST($4 AS TEXT),
 (SELECT COALESCE(MAX(j.position), 0) + 1 FROM journal j
  WHERE j.tenant_id = t.tenant_id AND j.onboarding = t.onboarding),
 CAST($5 AS TEXT), CAST($6 AS TEXT), l.epoch, CAST($7 AS BIGINT)
 FROM leases l JOIN tenants t ON t.tenant_id = l.tenant_id WHERE l.tenant_id = $1 AND l.epoch = $2`
	onEntry = ` ON CONFLICT (tenant_id, onboarding, kind, name) DO UPDATE SET
 epoch = excluded.epoch, changed_ms = excluded.changed_ms, `

	onIntent = onEntry + `state = excluded.state, external_id = ''`
	onState  = onEntry + `state = excluded.state, external_id = excluded.external_id
 WHERE journal.state <> excluded.state OR journal.external_id <> excluded.external_id`
	// onAdopted knows that an object found after this onboarding's own Intent was made by this onboarding.
	onAdopted = onEntry + `external_id = excluded.external_id,
 state = CASE WHEN journal.state IN ('intended', 'created') THEN 'created' ELSE 'adopted' END
 WHERE journal.state IN ('intended', 'removed') OR journal.external_id <> excluded.external_id`
	onRemoved = onEntry + `state = excluded.state WHERE journal.state <> excluded.state`
)

// Intent records that o was seen absent and is about to be made.
func (j *journal) Intent(ctx context.Context, o tenant.Object) error {
	return j.write(ctx, o, JournalIntended, "", onIntent)
}

// Created records that o was made.
func (j *journal) Created(ctx context.Context, o tenant.Object, externalID string) error {
	return j.write(ctx, o, JournalCreated, externalID, onState)
}

// Adopted records that o was found with our mark.
func (j *journal) Adopted(ctx context.Context, o tenant.Object, externalID string) error {
	return j.write(ctx, o, JournalAdopted, externalID, onAdopted)
}

// Removed records that o is gone. Its external id stays, as evidence.
func (j *journal) Removed(ctx context.Context, o tenant.Object) error {
	return j.write(ctx, o, JournalRemoved, "", onRemoved)
}

func (j *journal) write(
	ctx context.Context, o tenant.Object, state JournalState, externalID, conflict string,
) error {
	doing := "writing to the journal: " + o.String() + " " + string(state)
	s := j.catalog.store
	touched, err := s.exec(ctx, doing, writeEntry+s.lock+conflict, string(j.tenant), j.epoch,
		string(o.Kind), o.Name, string(state), externalID, s.clock().UnixMilli())
	if err != nil || touched > 0 {
		return err
	}
	return s.read(ctx, doing, func(ctx context.Context, t *txn) error {
		_, err := t.owned(ctx, j.epoch, j.tenant)
		return err
	})
}

const (
	selectEntries = `SELECT j.tenant_id, j.kind, j.name, j.state, j.external_id, j.changed_ms
 FROM journal j JOIN tenants t ON t.tenant_id = j.tenant_id AND t.onboarding = j.onboarding`
	entriesInOrder     = ` ORDER BY j.tenant_id, j.position, j.kind, j.name`
	selectEntriesOfAll = selectEntries + entriesInOrder
	selectEntriesOfOne = selectEntries + ` WHERE j.tenant_id = $1` + entriesInOrder
)

func (t *txn) entries(ctx context.Context, id string) (map[tenant.ID][]JournalEntry, error) {
	query, args := selectEntriesOfAll, []any(nil)
	if id != "" {
		query, args = selectEntriesOfOne, []any{id}
	}
	all := map[tenant.ID][]JournalEntry{}
	err := t.each(ctx, query, args, func(scan func(...any) error) error {
		var (
			entry   JournalEntry
			changed int64
		)
		o := &entry.Object
		err := scan(&o.Tenant, &o.Kind, &o.Name, &entry.State, &entry.ExternalID, &changed)
		entry.ChangedAt = timeOf(changed)
		all[o.Tenant] = append(all[o.Tenant], entry)
		return err
	})
	return all, err
}

// Entries returns the journal of a tenant's current onboarding, in the order in which objects were first
// named, removed ones included.
func (c *Catalog) Entries(ctx context.Context, id tenant.ID) ([]JournalEntry, error) {
	var entries []JournalEntry
	doing := "reading the journal of tenant " + string(id)
	err := c.store.read(ctx, doing, func(ctx context.Context, t *txn) error {
		all, err := t.entries(ctx, string(id))
		entries = all[id]
		return err
	})
	return entries, err
}
