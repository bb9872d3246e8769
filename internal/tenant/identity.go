package tenant

import (
	"context"
	"time"
)

// ApplicationSecret is the purpose of the secret of a tenant's application.
const ApplicationSecret = "application"

// Administrator is the first person who may administer the tenant.
type Administrator struct {
	Email string // the user name, too; unique within the identity system
	Name  string
}

// IdentityNames are the names of a tenant's organization and application. "" is the deterministic name: others are
// given only to objects that existed before and were claimed.
type IdentityNames struct {
	Organization string
	Application  string // its client_id
}

// SingleSignOn lets a tenant's people log in at the tenant's own OpenID Connect provider.
type SingleSignOn struct {
	Issuer       string // an https URL (OpenID Connect Discovery 1.0, section 2)
	ClientID     string
	ClientSecret Secret // zero keeps the one that is stored
}

// IdentityDomain is a domain by which an organization's people are recognised.
type IdentityDomain struct {
	Name     string
	Verified bool // proved to be the tenant's
}

// IdentitySpec is what a tenant's identity should be.
type IdentitySpec struct {
	Tenant ID
	Names  IdentityNames
	// Claim takes over an organization and an application of Names that carry nobody's mark, by marking them.
	Claim         bool
	DisplayName   string
	RedirectURIs  []string // absolute https URIs; a set
	Public        bool     // the application has no secret (RFC 6749, section 2.1)
	Domains       []IdentityDomain
	SingleSignOn  *SingleSignOn
	Roles         []string // names; a set
	Administrator Administrator
	Enabled       *bool // nil keeps what is; a new identity is enabled
	SecretVersion int64 // raised to rotate the application's secret
}

// Identity is what a tenant's identity is seen to be.
type Identity struct {
	Organization    string // its name
	OrganizationID  string
	ApplicationID   string
	ClientID        string // the public identifier of the application in OAuth 2.0 (RFC 6749, section 2.2)
	AdministratorID string
	DisplayName     string
	RedirectURIs    []string // sorted
	Roles           []string // sorted
	Public          bool
	Domains         []IdentityDomain // sorted by name
	SingleSignOn    *SingleSignOn    // without its secret
	Administrator   Administrator
	Enabled         bool
	Secret          SecretState // zero if Public
	Drift           []Drift     // what differs and is in no other field, ordered by What
	Missing         []string    // parts of an existing organization that are gone: "application", "administrator", "membership"
}

// SecretState tells of a derived secret all but the secret.
type SecretState struct {
	KeyID       string
	Version     int64
	Incarnation string // SecretRef.Incarnation
	Fingerprint string // Secret.Fingerprint of what the system accepts now
}

// Ref names the secret itself, so that Keyring.Derive returns it.
func (s SecretState) Ref(id ID, purpose string) SecretRef {
	return SecretRef{
		Tenant:      id,
		Purpose:     purpose,
		Version:     s.Version,
		Incarnation: s.Incarnation,
		KeyID:       s.KeyID,
	}
}

// Identities is where tenants' organizations, applications and people live. An identity counts as present from the
// moment its organization exists.
type Identities interface {
	// Ensure makes the identity as spec says: creates what is absent (organization first, marked in the same write),
	// adopts what is ours, changes what differs, and returns what is then true. It sends nothing to anybody. It fails
	// with CodeForeign for an organization, application or user that is in the way, and with CodeAdminRefused where the
	// system's own rules refuse the administrator; it can be called again after any failure. A secret is derived anew,
	// with the key that is current then, only when it is made or its version is raised. Repeating it changes nothing.
	Ensure(ctx context.Context, spec IdentitySpec, journal Journal) (Identity, error)
	// Read returns what is; ErrAbsent if there is no organization; CodeForeign if one of that name is not ours.
	Read(ctx context.Context, id ID, names IdentityNames) (Identity, error)
	// Delete removes administrator (unless a member elsewhere), application, roles and organization, and fails only
	// if something of ours is still there. Foreign objects stay, and make it fail with CodeForeign.
	Delete(ctx context.Context, id ID, names IdentityNames, journal Journal) error
}

// IdentityPlanner is the power to say at plan time what Ensure would refuse.
type IdentityPlanner interface {
	// PlanIdentity looks without writing anything. It fails as Ensure would (CodeInvalidConfig for what the system does
	// not offer or is not set up for, CodeForeign, …) and returns sentences for a person: what a claim would change,
	// how the first administrator will come in. It may miss what only happens later.
	PlanIdentity(ctx context.Context, spec IdentitySpec) (notes []string, err error)
}

// Invitation is a way in for a person who has no password yet. It is minted at each delivery and stored nowhere.
type Invitation struct {
	Link    Secret
	Expires time.Time // zero: never
	// Reset says that the link is the application's plain address, without a secret: the person chooses "Forgot
	// password?" there, and the identity system mails the way in.
	Reset bool
}

// Inviter is the power to mint an invitation for a tenant's first administrator.
type Inviter interface {
	// Invite returns a fresh link. Earlier links stay valid until they expire or one has been used: a mail that was
	// delivered before this one must not carry a dead link. ErrAbsent if there is no administrator.
	Invite(ctx context.Context, id ID, names IdentityNames) (Invitation, error)
}

// InvitationMailer is the power of an identity system to mail an invitation by itself.
type InvitationMailer interface {
	// MailInvitation has the system send the tenant's first administrator a mail with a way in. The system's answer says
	// that the mail was accepted, not that it was sent: it may come twice, or late. ErrAbsent if there is no
	// administrator.
	MailInvitation(ctx context.Context, id ID, names IdentityNames) error
}

// IdentityLister is the power to read all identities of the installation in few calls.
type IdentityLister interface {
	// ListIdentities returns the identities with our mark, by tenant.
	ListIdentities(ctx context.Context) (map[ID]Identity, error)
}
