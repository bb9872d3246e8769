package tenant

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
)

const (
	// OwnerTTL is the TTL of all owner records: a record set has one TTL (RFC 2181, section 5.2).
	OwnerTTL = 5 * time.Minute

	ownerLabel = "_tenantry"
	maxDNSName = 253     // bytes of a name in text without the trailing dot: 255 on the wire (RFC 1035, section 2.3.4)
	maxTTL     = 1 << 31 // TTLs are below it (RFC 2181, section 8)
	maxTXT     = 64000   // bytes of one TXT record, which fits RDLENGTH (RFC 1035, section 3.2.1) with room to spare
)

// Record is one DNS record set of ours: one name, one type (RFC 2181, section 5).
type Record struct {
	Name   string // fully qualified, lower-case, without a trailing dot
	Type   string // "A", "AAAA", "CNAME" or "TXT"
	Values []string
	TTL    time.Duration // whole seconds
}

// Object is the record set as an object of a tenant.
func (r Record) Object(id ID) Object {
	return Object{Tenant: id, Kind: KindRecord, Name: r.Name + "/" + r.Type}
}

// RecordTypes are the types that a record set of ours can have.
func RecordTypes() []string { return []string{"A", "AAAA", "CNAME", "TXT"} }

// OwnerName is where the marks of the record sets at a name stand, each a TXT record. A name that leaves no room for one
// more label gets one made of its hash.
func OwnerName(name, zone string) string {
	if owner := ownerLabel + "." + name; len(owner) <= maxDNSName {
		return owner
	}
	sum := sha256.Sum256([]byte(name))
	return ownerLabel + "-" + hex.EncodeToString(sum[:16]) + "." + zone
}

// PlainName is the form of a name that is compared: lower-case, without a trailing dot.
func PlainName(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// IsPlainName reports whether the name needs no escapes and no folding: labels of 1–63 lower-case letters, digits, '-' and
// '_', as our own records are called.
func IsPlainName(name string) bool {
	if len(name) > maxDNSName {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// Check returns the record in the form in which it is compared and written, or an error that says why it can't be a
// record of ours in that zone.
func (r Record) Check(zone string) (Record, error) {
	if err := checkRecordName(r.Name, zone); err != nil {
		return r, err
	}
	seconds := r.TTL / time.Second
	switch {
	case r.TTL%time.Second != 0 || seconds < 0 || seconds >= maxTTL:
		return r, fmt.Errorf("the TTL %s is not of 0 to 2^31-1 whole seconds", r.TTL)
	case len(r.Values) == 0:
		return r, errors.New("it has no values")
	case r.Type == "CNAME" && len(r.Values) > 1:
		return r, errors.New("a CNAME has one value")
	}
	values := make([]string, 0, len(r.Values))
	for _, value := range r.Values {
		checked, err := checkRecordValue(r.Type, value)
		if err != nil {
			return r, err
		}
		values = append(values, checked)
	}
	slices.Sort(values)
	r.Values = slices.Compact(values)
	return r, nil
}

func checkRecordName(name, zone string) error {
	below, inside := strings.CutSuffix(name, "."+zone)
	switch {
	case !inside:
		return fmt.Errorf("the name is not below the zone %s", zone)
	case !IsPlainName(name):
		return errors.New("the name is not made of labels of 1–63 lower-case letters, digits, '-' and '_'")
	case below == ownerLabel || strings.HasPrefix(below, ownerLabel+".") || strings.HasPrefix(below, ownerLabel+"-"):
		return errors.New("the name is kept for the marks of our records")
	case len(OwnerName(name, zone)) > maxDNSName:
		return errors.New("the name of the zone is too long to leave room for marks")
	}
	return nil
}

func checkRecordValue(recordType, value string) (string, error) {
	switch recordType {
	case "A", "AAAA":
		address, err := netip.ParseAddr(value)
		if err != nil || address.Is4() != (recordType == "A") || address.Zone() != "" {
			return "", fmt.Errorf("%q is no address for a record of type %s", value, recordType)
		}
		return address.String(), nil
	case "CNAME":
		if name := PlainName(value); IsPlainName(name) {
			return name, nil
		}
		return "", fmt.Errorf("%q is no name that a CNAME can point at", value)
	case "TXT":
		if len(value) > maxTXT {
			return "", fmt.Errorf("the text is %d bytes long; at most %d are allowed", len(value), maxTXT)
		}
		return value, nil
	default:
		return "", fmt.Errorf("type %q is none of A, AAAA, CNAME and TXT", recordType)
	}
}

// CharacterStrings cuts the text of a TXT record into strings of at most 255 bytes (RFC 1035, section 3.3), each with the
// escapes of a master file (section 5.1) and without quotes around it.
func CharacterStrings(text string) []string {
	parts := make([]string, 0, len(text)/255+1)
	for chunk := range slices.Chunk([]byte(text), 255) {
		var part strings.Builder
		for _, c := range chunk {
			switch {
			case c == '"' || c == '\\':
				part.WriteByte('\\')
				part.WriteByte(c)
			case c < ' ' || c > '~':
				fmt.Fprintf(&part, "\\%03d", c)
			default:
				part.WriteByte(c)
			}
		}
		parts = append(parts, part.String())
	}
	if len(parts) == 0 {
		parts = append(parts, "")
	}
	return parts
}

// JoinCharacterStrings undoes CharacterStrings.
func JoinCharacterStrings(parts []string) string {
	var text strings.Builder
	for _, part := range parts {
		for i := 0; i < len(part); i++ {
			c := part[i]
			if c != '\\' || i+1 == len(part) {
				text.WriteByte(c)
				continue
			}
			i++
			if code, ok := decimal(part[i:]); ok {
				text.WriteByte(code)
				i += 2
				continue
			}
			text.WriteByte(part[i])
		}
	}
	return text.String()
}

func decimal(s string) (byte, bool) {
	if len(s) < 3 {
		return 0, false
	}
	code := 0
	for _, c := range []byte(s[:3]) {
		if c < '0' || c > '9' {
			return 0, false
		}
		code = code*10 + int(c-'0')
	}
	return byte(code), code < 256
}

// Holding is what a server holds at one name, as one tenant sees it.
type Holding struct {
	Own      map[string]Record   // by type: record sets with a mark of the tenant; values sorted
	Marks    map[string][]string // by type: the tenant's marks, of which a left-over one has no record set
	Unmarked map[string]Record   // by type: record sets without
	Foreign  error               // CodeForeign, about the first thing that is not the tenant's; nil if there is none

	foreignMark bool
}

// Hold sorts what a server holds at the name, and at its OwnerName, into the tenant's and everybody else's. Records
// come as one Record each, or as sets. It fails only where a mark can't be checked for want of its key (CodeUnknownKey).
func (k *Keyring) Hold(id ID, name string, there, owners []Record) (Holding, error) {
	held := Holding{Own: map[string]Record{}, Marks: map[string][]string{}, Unmarked: map[string]Record{}}
	for _, owner := range owners {
		for _, text := range owner.Values {
			recordType, err := k.markedType(id, name, Record{Type: owner.Type, Values: []string{text}}, there)
			switch {
			case HasCode(err, CodeUnknownKey):
				return held, err
			case err == nil:
				held.Marks[recordType] = append(held.Marks[recordType], text)
				continue
			case held.Foreign == nil:
				held.Foreign = Fail(CodeForeign, "looking at "+owner.Name+"/"+owner.Type, err)
			}
			held.foreignMark = true
		}
	}
	for _, seen := range there {
		into := held.Unmarked
		if len(held.Marks[seen.Type]) > 0 {
			into = held.Own
		} else if held.Foreign == nil {
			held.Foreign = Fail(CodeForeign, "looking at "+name+"/"+seen.Type,
				fmt.Errorf("%w: it carries no mark of this tool", ErrForeign))
		}
		seen.Name, seen.Values = name, slices.Sorted(
			slices.Values(slices.Concat(seen.Values, into[seen.Type].Values)),
		)
		into[seen.Type] = seen
	}
	return held, nil
}

// markedType returns the type of the record set that the owner record is the mark of. The types that are there are tried last, so that
// the error speaks of one of them.
func (k *Keyring) markedType(id ID, name string, owner Record, there []Record) (string, error) {
	if owner.Type != "TXT" {
		return "", ErrForeign
	}
	types := RecordTypes()
	for _, seen := range there {
		if slices.Contains(types, seen.Type) {
			types = append(types, seen.Type)
		}
	}
	var err error
	for _, recordType := range types {
		if err = k.Owns(Record{Name: name, Type: recordType}.Object(id), owner.Values[0]); err == nil {
			return recordType, nil
		}
	}
	return "", err
}

// HoldAll returns the record sets with our mark among all that a zone holds, by tenant. What is marked with a key that is not
// configured is left out: it is not provably ours.
func (k *Keyring) HoldAll(zone string, all []Record) map[ID][]Record {
	found, byName := map[ID][]Record{}, map[string][]Record{}
	for _, seen := range all {
		byName[seen.Name] = append(byName[seen.Name], seen)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		owners := byName[OwnerName(name, zone)]
		for _, id := range k.markedTenants(owners) {
			if held, err := k.Hold(id, name, byName[name], owners); err == nil {
				found[id] = append(found[id], held.sets()...)
			}
		}
	}
	return found
}

// markedTenants are the tenants of this installation that the owner records name, each once.
func (k *Keyring) markedTenants(owners []Record) []ID {
	var ids []ID
	for _, owner := range owners {
		for _, text := range owner.Values {
			if id, ours := k.MarkedTenant(text); ours && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

func (h Holding) sets() []Record {
	var sets []Record
	for _, recordType := range RecordTypes() {
		if own, there := h.Own[recordType]; there {
			sets = append(sets, own)
		}
	}
	return sets
}

// Admit fails if something stands in the way of a record set: anything that is not the tenant's (CodeForeign), or
// the tenant's own beside which it can't stand (CodeConflict, terminal).
func (h Holding) Admit(want Record) error {
	if h.Foreign != nil {
		return h.Foreign
	}
	for recordType := range h.Own {
		if recordType != want.Type && (recordType == "CNAME" || want.Type == "CNAME") {
			return &Failure{
				Code:  CodeConflict,
				Class: Terminal,
				Doing: "looking at " + want.Name,
				Err: fmt.Errorf(
					"the tenant's own %s is there, and a CNAME stands alone (RFC 1034, section 3.6.2)",
					recordType,
				),
			}
		}
	}
	return nil
}

// AdmitClaim reports whether the unmarked record set of that type can be claimed; false without an error if the
// tenant has it already. It fails with CodeForeign or ErrAbsent as RecordClaimer says.
func (h Holding) AdmitClaim(recordType string) (bool, error) {
	_, unmarked := h.Unmarked[recordType]
	_, own := h.Own[recordType]
	switch {
	case h.foreignMark, unmarked && len(h.Unmarked) > 1, !unmarked && len(h.Unmarked) > 0:
		return false, h.Foreign
	case !unmarked && !own:
		return false, ErrAbsent
	}
	return unmarked, nil
}

// Is reports whether the record set, in the form of Check, is there exactly as wanted.
func (h Holding) Is(want Record) bool {
	own, there := h.Own[want.Type]
	return there && own.TTL == want.TTL && slices.Equal(own.Values, want.Values)
}

// Read returns the record set of that type as Records.Read does.
func (h Holding) Read(recordType string) (Record, error) {
	if h.Foreign != nil {
		return Record{}, h.Foreign
	}
	own, there := h.Own[recordType]
	if !there {
		return Record{}, ErrAbsent
	}
	return own, nil
}

// AdmitDelete reports whether anything of the tenant's is there for the type, a left-over mark included. It fails with
// CodeForeign if only others have something at the name.
func (h Holding) AdmitDelete(recordType string) (bool, error) {
	_, own := h.Own[recordType]
	if !own && h.Foreign != nil {
		return false, h.Foreign
	}
	return len(h.Marks[recordType]) > 0, nil
}

// Records is the zone under which tenants' records live. Beside each record set of ours stands an owner record, a TXT
// that holds the mark, at a name of its own.
type Records interface {
	// Zone is the name of the zone, without a trailing dot.
	Zone() string
	// Ensure makes the record set as given: created together with its owner record in one update, only if the name holds
	// nothing; or changed, only if it is ours, in one update in which no record is absent for a moment. It fails with
	// CodeForeign if the name holds anything that is not ours, whatever its type. Repeating it changes nothing, the zone's serial
	// included.
	Ensure(ctx context.Context, id ID, record Record, journal Journal) error
	// Read returns the record set of that name and type; ErrAbsent if the name holds nothing (a left-over owner record of ours
	// alone counts as absent); CodeForeign if it holds something that is not ours.
	Read(ctx context.Context, id ID, name, recordType string) (Record, error)
	// Delete removes the record set and its owner record in one update, and fails only if it is still there. Foreign records
	// stay, and make it fail with CodeForeign.
	Delete(ctx context.Context, id ID, name, recordType string, journal Journal) error
}

// RecordClaimer is the power to take over a record set that nobody has marked.
type RecordClaimer interface {
	// ClaimRecord puts an owner record beside a record set of this name and type that has none, whatever its values,
	// which Ensure then changes. It fails with CodeForeign if the name holds another type or somebody's mark, and with
	// ErrAbsent if it holds nothing. Repeating it changes nothing.
	ClaimRecord(ctx context.Context, id ID, record Record, journal Journal) error
}

// RecordLister is the power to read all records of the installation in few calls.
type RecordLister interface {
	// ListRecords returns the record sets with our mark, by tenant.
	ListRecords(ctx context.Context) (map[ID][]Record, error)
}

// ClaimState is how far a tenant's claim to a custom hostname is proved.
type ClaimState string

// The states of a claim.
const (
	ClaimPending  ClaimState = "pending"
	ClaimVerified ClaimState = "verified"
	ClaimExpired  ClaimState = "expired" // not proved in time; a later proof still verifies
	ClaimGivenUp  ClaimState = "given_up"
)

// Claim is a tenant's claim to a custom hostname. Its row is never deleted and its number never given again: whoever
// claims the name later gets another number, hence another target, hence needs fresh proof.
type Claim struct {
	Number      int64
	Tenant      ID
	Hostname    string
	Target      string // the name under our zone that the customer points _tenant-challenge.HOSTNAME at
	State       ClaimState
	RequestedAt time.Time
	VerifiedAt  time.Time // zero unless verified
	Rivals      []Rival   // other tenants' claims to the same hostname that are not given up
}

// Rival is another tenant's claim to the same hostname.
type Rival struct {
	Tenant ID
	State  ClaimState
}

// Claims is the register of claims to custom hostnames, shared by all that share an edge.
type Claims interface {
	// Request returns the tenant's claim to the hostname, making a pending one if it has none (or has given it up). It
	// fails with CodeHostnameTaken if another tenant's is verified; pending rivals don't stop it.
	Request(ctx context.Context, id ID, hostname string, now time.Time, journal Journal) (Claim, error)
	// ReadClaim returns the tenant's claim with its rivals; ErrAbsent if it has none or has given it up, and then the
	// Claim that comes with ErrAbsent still lists the rivals.
	ReadClaim(ctx context.Context, id ID, hostname string) (Claim, error)
	// Settle moves the tenant's claim to verified or expired. Exactly one of several tenants can be verified: the others
	// get CodeHostnameTaken. Verified never becomes expired. Repeating it changes nothing.
	Settle(ctx context.Context, id ID, hostname string, state ClaimState, now time.Time) (Claim, error)
	// GiveUp ends the tenant's claim; absent is done.
	GiveUp(ctx context.Context, id ID, hostname string, journal Journal) error
	// OpenClaims returns the hostnames to which the tenant has a claim that is not given up, sorted.
	OpenClaims(ctx context.Context, id ID) ([]Claim, error)
}

// Proofs looks for what a customer publishes to show that a hostname is theirs.
type Proofs interface {
	// Look reports whether _tenant-challenge.HOSTNAME is a CNAME to the claim's target, or a TXT that holds it. Not found is no error.
	Look(ctx context.Context, claim Claim) (bool, error)
}

// Traffic is where a hostname leads now.
type Traffic struct {
	// Apex says that the hostname is the apex of a zone, where no CNAME can stand (RFC 1034, section 3.6.2): it needs address records.
	Apex      bool
	Chain     []string // the CNAMEs' targets one after another: lower-case, without a trailing dot
	Addresses []string // of the last name, sorted; none if it has none
}

// TrafficLooker is the power of Proofs to see where a custom hostname leads.
type TrafficLooker interface {
	// LookTraffic follows the hostname from its authoritative servers to addresses. Nothing there is no error: it leads
	// nowhere. It fails with CodeUnavailable if the servers of the hostname's own zone don't answer.
	LookTraffic(ctx context.Context, hostname string) (Traffic, error)
}

// BindingState is what the edge answers for a hostname. It belongs to the driver: a resource never moves it.
type BindingState string

// The states of a binding.
const (
	BindingHolding   BindingState = "holding"   // a page that says: not open yet
	BindingOpen      BindingState = "open"      // the application
	BindingSuspended BindingState = "suspended" // a page that says: closed
)

// Binding is the edge's row for one hostname.
type Binding struct {
	Hostname string
	Tenant   ID
	Upstream string // host:port of the application, "" where the edge has one for all
	State    BindingState
}

// Bindings is the table that the edge reads to route a hostname.
type Bindings interface {
	// EnsureBinding binds the hostname to the tenant: a new binding is holding, an existing one keeps its state. It fails with
	// CodeForeign if the hostname is bound to somebody else. Repeating it changes nothing.
	EnsureBinding(ctx context.Context, binding Binding, journal Journal) (Binding, error)
	// ReadBinding returns the tenant's binding of that hostname; ErrAbsent or CodeForeign.
	ReadBinding(ctx context.Context, id ID, hostname string) (Binding, error)
	// DeleteBinding unbinds the hostname, and fails only if it is still bound to the tenant. A foreign binding stays, and makes it fail with
	// CodeForeign.
	DeleteBinding(ctx context.Context, id ID, hostname string, journal Journal) error
}

// BindingLister is the power to read all bindings of the installation in few calls.
type BindingLister interface {
	// ListBindings returns the bindings with our mark, by tenant.
	ListBindings(ctx context.Context) (map[ID][]Binding, error)
}

// Gate is the driver's hand on a tenant's hostnames.
type Gate interface {
	// SetGate moves all of the tenant's bindings to state and reports the hostnames that moved. An epoch below the last one seen for the tenant is refused
	// with CodeLeaseLost. Repeating it changes nothing.
	SetGate(ctx context.Context, id ID, state BindingState, epoch int64) (moved []string, err error)
}
