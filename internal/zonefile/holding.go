package zonefile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// holding is what stands at one name, seen by one tenant.
type holding struct {
	own     map[string][]sighting // by type: record sets with a mark of that tenant
	marks   map[string][]sighting // by type: the marks
	foreign error                 // what is there and not that tenant's, nil if nothing
}

// has reports whether anything of ours is there for the type, a left-over mark included.
func (h holding) has(recordType string) bool {
	return len(h.own[recordType])+len(h.marks[recordType]) > 0
}

// is reports whether the record set is there exactly as wanted.
func (h holding) is(want tenant.Record) bool {
	for _, seen := range h.own[want.Type] {
		if time.Duration(seen.rr.ttl)*time.Second != want.TTL {
			return false
		}
	}
	return slices.Equal(recordOf(want.Name, want.Type, h.own[want.Type]).Values, want.Values)
}

// look sorts what stands at the name into ours and foreign. It fails only where a mark of ours can't be checked for want
// of its key.
func (z *Zone) look(doc *document, id tenant.ID, name string) (holding, error) {
	there := holding{own: map[string][]sighting{}, marks: map[string][]sighting{}}
	for _, owner := range doc.at(tenant.OwnerName(name, z.config.Zone)) {
		recordType, err := z.markedType(owner.rr, id, name)
		if tenant.HasCode(err, tenant.CodeUnknownKey) {
			return there, err
		}
		if err != nil {
			there.foreign = doc.foreign(owner, err)
			continue
		}
		there.marks[recordType] = append(there.marks[recordType], owner)
	}
	for _, seen := range doc.at(name) {
		recordType := dns.TypeToString[seen.rr.rrtype]
		if len(there.marks[recordType]) > 0 {
			there.own[recordType] = append(there.own[recordType], seen)
			continue
		}
		if there.foreign == nil {
			there.foreign = doc.foreign(seen, tenant.ErrForeign)
		}
	}
	return there, nil
}

// markedType returns the type of the record set at name that the owner record is the mark of.
func (z *Zone) markedType(owner rr, id tenant.ID, name string) (string, error) {
	if owner.rrtype != dns.TypeTXT {
		return "", tenant.ErrForeign
	}
	var err error
	for _, recordType := range tenant.RecordTypes() {
		object := tenant.Record{Name: name, Type: recordType}.Object(id)
		if err = z.config.Keyring.Owns(object, owner.value); err == nil {
			return recordType, nil
		}
	}
	return "", err
}

// admit is look for a record set that is to be made: nothing foreign may be in its way.
func (z *Zone) admit(doc *document, id tenant.ID, want tenant.Record) (holding, error) {
	there, err := z.look(doc, id, want.Name)
	if err != nil {
		return there, err
	}
	if there.foreign == nil {
		there.foreign = z.cut(doc, want.Name)
	}
	if there.foreign != nil {
		return there, there.foreign
	}
	for recordType, own := range there.own {
		if len(own) > 0 && recordType != want.Type && (recordType == "CNAME" || want.Type == "CNAME") {
			return there, &tenant.Failure{
				Code:  tenant.CodeConflict,
				Class: tenant.Terminal,
				Doing: "looking at " + want.Name,
				Err: fmt.Errorf(
					"the tenant's own %s is there, and a CNAME stands alone (RFC 1034, section 3.6.2)",
					recordType,
				),
			}
		}
	}
	return there, nil
}

// cut returns a failure if the name lies below one that is delegated or redirected as a whole: a record there would be in the
// file and answered by nobody.
func (z *Zone) cut(doc *document, name string) error {
	for {
		_, parent, ok := strings.Cut(name, ".")
		if !ok || parent == z.config.Zone {
			return nil
		}
		for _, seen := range doc.at(parent) {
			if seen.rr.rrtype == dns.TypeNS || seen.rr.rrtype == dns.TypeDNAME {
				return doc.foreign(seen, tenant.ErrForeign)
			}
		}
		name = parent
	}
}

// put makes the record set as wanted, together with its mark.
func (z *Zone) put(doc *document, id tenant.ID, want tenant.Record) error {
	there, err := z.admit(doc, id, want)
	if err != nil {
		return err
	}
	if there.is(want) {
		return nil
	}
	if len(there.marks[want.Type]) == 0 {
		if err := doc.add(lines(z.ownerOf(id, want))); err != nil {
			return err
		}
	}
	if own := there.own[want.Type]; len(own) > 0 {
		return doc.replace(own, lines(want))
	}
	return doc.add(lines(want))
}

// drop removes the record set and its mark, and nothing else.
func (z *Zone) drop(doc *document, id tenant.ID, name, recordType string) error {
	there, err := z.look(doc, id, name)
	if err != nil {
		return err
	}
	if len(there.own[recordType]) == 0 && there.foreign != nil {
		return there.foreign
	}
	return doc.replace(slices.Concat(there.own[recordType], there.marks[recordType]), nil)
}
