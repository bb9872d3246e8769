package zonefile

import (
	"context"

	"github.com/miekg/dns"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// ClaimRecord marks a record set that nobody has marked: see tenant.RecordClaimer. Its own lines stay as they are.
func (z *Zone) ClaimRecord(
	ctx context.Context,
	id tenant.ID,
	record tenant.Record,
	journal tenant.Journal,
) error {
	doing := z.doing("claiming", record.Name, record.Type)
	want, err := record.Check(z.config.Zone)
	if err != nil {
		return tenant.Fail(tenant.CodeInvalidConfig, doing, err)
	}
	var unmarked bool
	err = z.view(ctx, doing, func(doc *document) (err error) {
		unmarked, err = z.admitClaim(doc, id, want)
		return err
	})
	if err != nil {
		return err
	}
	if unmarked {
		err := z.change(ctx, doing, func(doc *document) error { return z.mark(doc, id, want) })
		if err != nil {
			return err
		}
		tenant.Failpoint(ctx, "record.claimed")
	}
	return journal.Adopted(ctx, want.Object(id), want.Name+"/"+want.Type)
}

// mark adds the owner record, if what is there now can still be claimed.
func (z *Zone) mark(doc *document, id tenant.ID, want tenant.Record) error {
	unmarked, err := z.admitClaim(doc, id, want)
	if err != nil || !unmarked {
		return err
	}
	return doc.add(lines(z.ownerOf(id, want)))
}

func (z *Zone) admitClaim(doc *document, id tenant.ID, want tenant.Record) (bool, error) {
	owner := tenant.OwnerName(want.Name, z.config.Zone)
	held, err := z.config.Keyring.Hold(id, want.Name, recordsAt(doc, want.Name), recordsAt(doc, owner))
	if err != nil {
		return false, err
	}
	return held.AdmitClaim(want.Type)
}

func recordsAt(doc *document, name string) []tenant.Record {
	var out []tenant.Record
	for _, seen := range doc.at(name) {
		out = append(out, recordOf(name, dns.Type(seen.rr.rrtype).String(), []sighting{seen}))
	}
	return out
}

// ownerOf is the owner record of a record set.
func (z *Zone) ownerOf(id tenant.ID, record tenant.Record) tenant.Record {
	return tenant.Record{
		Name: tenant.OwnerName(record.Name, z.config.Zone), Type: "TXT", TTL: tenant.OwnerTTL,
		Values: []string{z.config.Keyring.Mark(record.Object(id))},
	}
}
