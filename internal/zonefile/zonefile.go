// Package zonefile keeps tenants' DNS records in one RFC 1035 master file, as BIND, Knot and others load it, and looks
// for customers' proofs in another.
//
// Beside each record set of ours stands a TXT record at _tenantry.NAME that holds its mark. Whatever else the file
// contains is somebody else's: their records, directives and comments stay as they are.
//
// The file is written anew as a whole for each change, so that a reader never sees half of one. What makes that cheap
// with ten thousand tenants is that it is parsed once: as long as size, time and inode of the file are those last seen,
// the parsed form in memory counts, and a change costs the copying of about 150 bytes a tenant. Lines in the plain
// form in which we write them are read without the general parser.
package zonefile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Config says which file holds which zone.
type Config struct {
	Path    string           // of the master file; made with SOA and NS when the first record is written
	Zone    string           // name of the zone, without a trailing dot
	Target  string           // where default hostnames point at; "" is edge.ZONE. A new file gives it the address 127.0.0.1
	Keyring *tenant.Keyring  // marks our records
	Now     func() time.Time // for the first serial of a new file; nil is time.Now
}

// Zone is the zone in the file. It may be used by many goroutines, and the file by many processes, at once.
type Zone struct {
	config Config
	file   *masterFile
}

var (
	_ tenant.Records       = (*Zone)(nil)
	_ tenant.RecordClaimer = (*Zone)(nil)
	_ tenant.RecordLister  = (*Zone)(nil)
)

// New returns the zone; nothing is opened before the first call.
func New(config Config) *Zone {
	config.Zone = tenant.PlainName(config.Zone)
	if config.Target == "" {
		config.Target = "edge." + config.Zone
	}
	config.Target = tenant.PlainName(config.Target)
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Zone{config: config, file: &masterFile{path: config.Path, origin: config.Zone + ".", whole: true}}
}

// Close forgets what was read. The zone can be used again afterwards.
func (z *Zone) Close() error {
	z.file.forget()
	return nil
}

// Zone is the name of the zone.
func (z *Zone) Zone() string { return z.config.Zone }

// Ensure makes the record set, or changes it if it is ours: see tenant.Records.
func (z *Zone) Ensure(ctx context.Context, id tenant.ID, record tenant.Record, journal tenant.Journal) error {
	doing := z.doing("making", record.Name, record.Type)
	want, err := record.Check(z.config.Zone)
	if err != nil {
		return tenant.Fail(tenant.CodeInvalidConfig, doing, err)
	}
	var absent, same bool
	err = z.view(ctx, doing, func(doc *document) error {
		there, err := z.admit(doc, id, want)
		if err != nil {
			return err
		}
		absent, same = len(there.own[want.Type]) == 0, there.is(want)
		return nil
	})
	if err != nil {
		return err
	}
	put := func(ctx context.Context) (string, error) {
		return want.Name + "/" + want.Type, z.change(ctx, doing, func(doc *document) error {
			return z.put(doc, id, want)
		})
	}
	object := want.Object(id)
	if absent {
		_, err = tenant.Make(ctx, journal, object, put)
		return err
	}
	if err := journal.Adopted(ctx, object, want.Name+"/"+want.Type); err != nil || same {
		return err
	}
	tenant.Failpoint(ctx, "record.adopted")
	_, err = put(ctx)
	return err
}

// Read returns the record set, its values in order: see tenant.Records.
func (z *Zone) Read(ctx context.Context, id tenant.ID, name, recordType string) (tenant.Record, error) {
	doing, found := z.doing("reading", name, recordType), tenant.Record{}
	err := z.view(ctx, doing, func(doc *document) error {
		there, err := z.look(doc, id, name)
		if err != nil {
			return err
		}
		if there.foreign != nil {
			return there.foreign
		}
		if len(there.own[recordType]) == 0 {
			return tenant.ErrAbsent
		}
		found = recordOf(name, recordType, there.own[recordType])
		return nil
	})
	return found, err
}

// Delete removes the record set and its mark: see tenant.Records. A record of another type that somebody put beside
// ours stays, and does not keep ours from going.
func (z *Zone) Delete(
	ctx context.Context, id tenant.ID, name, recordType string, journal tenant.Journal,
) error {
	doing := z.doing("deleting", name, recordType)
	var left bool
	err := z.view(ctx, doing, func(doc *document) error {
		there, err := z.look(doc, id, name)
		if err != nil {
			return err
		}
		if len(there.own[recordType]) == 0 && there.foreign != nil {
			return there.foreign
		}
		left = there.has(recordType)
		return nil
	})
	if err != nil {
		return err
	}
	if left {
		err := z.change(ctx, doing, func(doc *document) error { return z.drop(doc, id, name, recordType) })
		if err != nil {
			return err
		}
		tenant.Failpoint(ctx, "record.removed")
	}
	record := tenant.Record{Name: name, Type: recordType}
	return journal.Removed(ctx, record.Object(id))
}

// ListRecords returns all record sets with our mark: see tenant.RecordLister.
func (z *Zone) ListRecords(ctx context.Context) (map[tenant.ID][]tenant.Record, error) {
	found := map[tenant.ID][]tenant.Record{}
	doing := "listing the records of zone " + z.config.Zone
	err := z.view(ctx, doing, func(doc *document) error {
		for _, name := range slices.Sorted(maps.Keys(doc.byName)) {
			z.listName(doc, name, found)
		}
		return nil
	})
	return found, err
}

// listName adds what is ours at one name.
func (z *Zone) listName(doc *document, name string, found map[tenant.ID][]tenant.Record) {
	owners := doc.at(tenant.OwnerName(name, z.config.Zone))
	var last tenant.ID
	for _, owner := range slices.SortedFunc(slices.Values(owners), byValue) {
		id, ours := z.config.Keyring.MarkedTenant(owner.rr.value)
		if !ours || id == last {
			continue
		}
		last = id
		there, err := z.look(doc, id, name)
		if err != nil {
			continue // marked with a key that is not configured: not provably ours
		}
		for _, recordType := range tenant.RecordTypes() {
			if own := there.own[recordType]; len(own) > 0 {
				found[id] = append(found[id], recordOf(name, recordType, own))
			}
		}
	}
}

func byValue(a, b sighting) int { return strings.Compare(a.rr.value, b.rr.value) }

func (z *Zone) doing(verb, name, recordType string) string {
	return fmt.Sprintf("%s record %s/%s in zone file %s", verb, name, recordType, z.config.Path)
}

// view runs look on what the file holds now; a file that does not exist holds nothing.
func (z *Zone) view(ctx context.Context, doing string, look func(*document) error) error {
	if err := ctx.Err(); err != nil {
		return tenant.Fail(tenant.CodeCanceled, doing, err)
	}
	return z.file.view(doing, look)
}

// change runs edit on the file under its lock and, if it changed anything, raises the serial and replaces the file.
func (z *Zone) change(ctx context.Context, doing string, edit func(*document) error) error {
	return z.file.change(ctx, doing, z.blank, edit)
}

// blank is the text of a new zone file. It is valid by itself: the zone's name server and the target of default
// hostnames have an address in it.
func (z *Zone) blank() string {
	zone, edge := z.config.Zone, ""
	if label, inside := strings.CutSuffix(z.config.Target, "."+zone); inside {
		edge = label + "\tIN\tA\t127.0.0.1\n"
	}
	return fmt.Sprintf(
		`; Zone %[1]s. Tenants' records are added at the end; beside each stands a TXT record at _tenantry.NAME that
; says whose it is. Everything else in this file is yours: it stays as you write it.
$ORIGIN %[1]s.
$TTL 300
@	IN	SOA	ns.%[1]s. hostmaster.%[1]s. (
		%[2]d	; serial
		3600	; refresh
		600	; retry
		1209600	; expire
		300 )	; negative answers
@	IN	NS	ns.%[1]s.
ns	IN	A	127.0.0.1
%[3]s`,
		zone,
		z.config.Now().Unix()&0xffffffff,
		edge,
	)
}
