package tenant

import (
	"context"
	"time"
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
