package tenant

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// DefaultTTL is short enough for a mistake to pass and long enough for resolvers to help.
	DefaultTTL = 5 * time.Minute
	// DefaultVerificationWindow is how long a claim waits for its proof before it counts as expired.
	DefaultVerificationWindow = 72 * time.Hour
	// claimTargetText is what our side of a proof says; it only has to exist, so that the customer's CNAME resolves.
	claimTargetText = "tenantry: target of a domain ownership proof"
)

// Domains puts records, claims, proofs and bindings together: the order of work on a tenant's hostnames.
type Domains struct {
	Records  Records
	Claims   Claims
	Proofs   Proofs
	Bindings Bindings
	Target   string // where default hostnames point at, a name without a trailing dot
	Now      func() time.Time
}

// DomainSpec is what a tenant's domain should be.
type DomainSpec struct {
	Tenant         ID
	CustomHostname string // "" for none
	Upstream       string
	TTL            time.Duration // of our records; 0 is DefaultTTL
	Window         time.Duration // for the proof; 0 is DefaultVerificationWindow
	// Claim takes over a record of the default hostname that nobody has marked.
	Claim bool
	// Verification is what the plan said of the claim: "" lets Ensure decide by what it sees.
	Verification ClaimState
}

// Domain is what a tenant's domain is seen to be.
type Domain struct {
	DefaultHostname string
	CustomHostname  string
	Claim           Claim // zero without a custom hostname
	ProofSeen       bool
	TTL             time.Duration
	Upstream        string
	Missing         []string // objects that should be there and are not: "record acme.example.com/CNAME", "binding …"
	Altered         []string // objects of ours whose content somebody changed
}

// RequiredRecord is what the customer publishes in their own DNS.
type RequiredRecord struct{ Purpose, Name, Type, Value string }

// Usable returns the hostnames that may be used in redirect URIs: the default one, and the custom one once verified.
func (d Domain) Usable() []string {
	return UsableHostnames(d.DefaultHostname, d.CustomHostname, d.Claim.State)
}

// UsableHostnames returns the hostnames that are proved to be the tenant's.
func UsableHostnames(defaultHostname, custom string, state ClaimState) []string {
	if custom != "" && state == ClaimVerified {
		return []string{defaultHostname, custom}
	}
	return []string{defaultHostname}
}

// Required returns the records that the customer has to publish for the custom hostname; none without one.
func (d Domains) Required(claim Claim) []RequiredRecord {
	if claim.Hostname == "" {
		return nil
	}
	return []RequiredRecord{
		{"proof of ownership", "_tenant-challenge." + claim.Hostname, "CNAME", claim.Target},
		{"traffic", claim.Hostname, "CNAME", d.Target},
	}
}

// Verdict is the state that a claim moves to, given what is seen: a proof verifies at any time, none in the window
// expires it.
func (s DomainSpec) Verdict(claim Claim, proofSeen bool, now time.Time) ClaimState {
	window := s.Window
	if window == 0 {
		window = DefaultVerificationWindow
	}
	switch {
	case claim.State == ClaimVerified, proofSeen:
		return ClaimVerified
	case now.Sub(claim.RequestedAt) >= window:
		return ClaimExpired
	default:
		return claim.State
	}
}

func (d Domains) record(spec DomainSpec) Record {
	return Record{
		Name: DefaultHostname(
			spec.Tenant,
			d.Records.Zone(),
		),
		Type:   "CNAME",
		Values: []string{d.Target},
		TTL:    spec.ttl(),
	}
}

func (s DomainSpec) ttl() time.Duration {
	if s.TTL == 0 {
		return DefaultTTL
	}
	return s.TTL
}

func claimRecord(claim Claim, ttl time.Duration) Record {
	return Record{Name: claim.Target, Type: "TXT", Values: []string{claimTargetText}, TTL: ttl}
}

// Ensure makes the domain as spec says. The default hostname works at once; a custom one is claimed, our side of its
// proof published, and bound when the claim is verified. An earlier custom hostname is given up.
func (d Domains) Ensure(ctx context.Context, spec DomainSpec, journal Journal) (Domain, error) {
	record := d.record(spec)
	if err := d.claim(ctx, spec, record, journal); err != nil {
		return Domain{}, err
	}
	if err := d.Records.Ensure(ctx, spec.Tenant, record, journal); err != nil {
		return Domain{}, err
	}
	Failpoint(ctx, "domain.recorded")
	binding := Binding{Hostname: record.Name, Tenant: spec.Tenant, Upstream: spec.Upstream}
	if _, err := d.Bindings.EnsureBinding(ctx, binding, journal); err != nil {
		return Domain{}, err
	}
	Failpoint(ctx, "domain.bound")
	if err := d.giveUpOthers(ctx, spec, journal); err != nil {
		return Domain{}, err
	}
	if spec.CustomHostname != "" {
		if err := d.ensureCustom(ctx, spec, journal); err != nil {
			return Domain{}, err
		}
	}
	return d.Read(ctx, spec.Tenant, spec.CustomHostname)
}

// claim marks what stands at the default hostname. Nothing there is nothing to claim.
func (d Domains) claim(ctx context.Context, spec DomainSpec, record Record, journal Journal) error {
	if !spec.Claim {
		return nil
	}
	claimer, ok := d.Records.(RecordClaimer)
	if !ok {
		return Fail(CodeInvalidConfig, "claiming record "+record.Name,
			errors.New("this DNS backend can't claim records"))
	}
	if err := claimer.ClaimRecord(ctx, spec.Tenant, record, journal); !errors.Is(err, ErrAbsent) {
		return err
	}
	return nil
}

func (d Domains) ensureCustom(ctx context.Context, spec DomainSpec, journal Journal) error {
	claim, err := d.Claims.Request(ctx, spec.Tenant, spec.CustomHostname, d.Now(), journal)
	if err != nil {
		return err
	}
	if err := d.Records.Ensure(ctx, spec.Tenant, claimRecord(claim, spec.ttl()), journal); err != nil {
		return err
	}
	Failpoint(ctx, "domain.claimed")
	if claim, err = d.settle(ctx, spec, claim); err != nil {
		return err
	}
	if claim.State != ClaimVerified {
		return nil
	}
	Failpoint(ctx, "domain.verified")
	binding := Binding{Hostname: spec.CustomHostname, Tenant: spec.Tenant, Upstream: spec.Upstream}
	_, err = d.Bindings.EnsureBinding(ctx, binding, journal)
	return err
}

// settle moves the claim to what the plan said, but never verifies what can't be seen now.
func (d Domains) settle(ctx context.Context, spec DomainSpec, claim Claim) (Claim, error) {
	if claim.State == ClaimVerified {
		return claim, nil
	}
	seen, err := d.Proofs.Look(ctx, claim)
	if err != nil {
		return Claim{}, err
	}
	want := spec.Verification
	if want == "" {
		want = spec.Verdict(claim, seen, d.Now())
	}
	if want == ClaimVerified && !seen {
		return Claim{}, Fail(CodeProofMissing, "verifying hostname "+spec.CustomHostname,
			fmt.Errorf("_tenant-challenge.%s no longer points at %s", spec.CustomHostname, claim.Target))
	}
	if want == claim.State {
		return claim, nil
	}
	return d.Claims.Settle(ctx, spec.Tenant, spec.CustomHostname, want, d.Now())
}

func (d Domains) giveUpOthers(ctx context.Context, spec DomainSpec, journal Journal) error {
	claims, err := d.Claims.OpenClaims(ctx, spec.Tenant)
	if err != nil {
		return err
	}
	for _, claim := range claims {
		if claim.Hostname == spec.CustomHostname {
			continue
		}
		if err := d.release(ctx, claim, journal); err != nil {
			return err
		}
	}
	return nil
}

// release takes a custom hostname back: first the traffic, then our side of the proof, the claim last, so that an
// interrupted release is found again by the claim.
func (d Domains) release(ctx context.Context, claim Claim, journal Journal) error {
	if err := ignoreForeign(
		d.Bindings.DeleteBinding(ctx, claim.Tenant, claim.Hostname, journal),
	); err != nil {
		return err
	}
	Failpoint(ctx, "domain.unbound")
	if err := d.Records.Delete(ctx, claim.Tenant, claim.Target, "TXT", journal); err != nil {
		return err
	}
	Failpoint(ctx, "domain.unpublished")
	return d.Claims.GiveUp(ctx, claim.Tenant, claim.Hostname, journal)
}

// ignoreForeign lets a claim that was never verified be released while another tenant's verified one is bound.
func ignoreForeign(err error) error {
	if HasCode(err, CodeForeign) {
		return nil
	}
	return err
}

// Read returns what is; ErrAbsent if neither the default record nor its binding is there.
func (d Domains) Read(ctx context.Context, id ID, custom string) (Domain, error) {
	seen := Domain{DefaultHostname: DefaultHostname(id, d.Records.Zone()), CustomHostname: custom}
	record, err := d.Records.Read(ctx, id, seen.DefaultHostname, "CNAME")
	recordAbsent := errors.Is(err, ErrAbsent)
	if err != nil && !recordAbsent {
		return Domain{}, err
	}
	binding, err := d.Bindings.ReadBinding(ctx, id, seen.DefaultHostname)
	bindingAbsent := errors.Is(err, ErrAbsent)
	if err != nil && !bindingAbsent {
		return Domain{}, err
	}
	if recordAbsent && bindingAbsent {
		return Domain{}, ErrAbsent
	}
	seen.TTL, seen.Upstream = record.TTL, binding.Upstream
	seen.note(recordAbsent, "record "+seen.DefaultHostname+"/CNAME")
	seen.note(bindingAbsent, "binding "+seen.DefaultHostname)
	if !recordAbsent && !slices.Equal(record.Values, []string{d.Target}) {
		seen.Altered = append(seen.Altered, "record "+seen.DefaultHostname+"/CNAME")
	}
	if custom == "" {
		return seen, nil
	}
	return d.readCustom(ctx, id, seen)
}

func (d *Domain) note(absent bool, what string) {
	if absent {
		d.Missing = append(d.Missing, what)
	}
}

func (d Domains) readCustom(ctx context.Context, id ID, seen Domain) (Domain, error) {
	claim, err := d.Claims.ReadClaim(ctx, id, seen.CustomHostname)
	if errors.Is(err, ErrAbsent) {
		seen.note(true, "claim "+seen.CustomHostname)
		seen.Claim.Rivals = claim.Rivals
		return seen, nil
	}
	if err != nil {
		return Domain{}, err
	}
	seen.Claim = claim
	if seen.ProofSeen, err = d.Proofs.Look(ctx, claim); err != nil {
		return Domain{}, err
	}
	target := "record " + claim.Target + "/TXT"
	published, err := d.Records.Read(ctx, id, claim.Target, "TXT")
	switch {
	case errors.Is(err, ErrAbsent):
		seen.note(true, target)
	case err != nil:
		return Domain{}, err
	case !slices.Equal(published.Values, []string{claimTargetText}):
		seen.Altered = append(seen.Altered, target)
	}
	if claim.State != ClaimVerified {
		return seen, nil
	}
	bound, err := d.Bindings.ReadBinding(ctx, id, seen.CustomHostname)
	switch {
	case errors.Is(err, ErrAbsent):
		seen.note(true, "binding "+seen.CustomHostname)
	case err != nil:
		return Domain{}, err
	case bound.Upstream != seen.Upstream: // both hostnames lead to one application
		seen.Altered = append(seen.Altered, "binding "+seen.CustomHostname)
	}
	return seen, nil
}

// Delete removes all of the tenant's hostnames: bindings first, so that no traffic reaches what is going, then
// records and claims. Absent is done.
func (d Domains) Delete(ctx context.Context, id ID, journal Journal) error {
	claims, err := d.Claims.OpenClaims(ctx, id)
	if err != nil {
		return err
	}
	for _, claim := range claims {
		if err := d.release(ctx, claim, journal); err != nil {
			return err
		}
	}
	hostname := DefaultHostname(id, d.Records.Zone())
	if err := d.Bindings.DeleteBinding(ctx, id, hostname, journal); err != nil {
		return err
	}
	Failpoint(ctx, "domain.default_unbound")
	return d.Records.Delete(ctx, id, hostname, "CNAME", journal)
}
