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

// IdentitySpec is what a tenant's identity should be.
type IdentitySpec struct {
	Tenant        ID
	DisplayName   string
	RedirectURIs  []string // absolute https URIs; a set
	Roles         []string // names; a set
	Administrator Administrator
	Enabled       *bool // nil keeps what is; a new identity is enabled
	SecretVersion int64 // raised to rotate the application's secret
}

// Identity is what a tenant's identity is seen to be.
type Identity struct {
	OrganizationID  string
	ApplicationID   string
	ClientID        string // the public identifier of the application in OAuth 2.0 (RFC 6749, section 2.2)
	AdministratorID string
	DisplayName     string
	RedirectURIs    []string // sorted
	Roles           []string // sorted
	Administrator   Administrator
	Enabled         bool
	Secret          SecretState
	Missing         []string // parts of an existing organization that are gone: "application", "administrator", "membership"
}

// SecretState tells of a derived secret all but the secret.
type SecretState struct {
	KeyID       string
	Version     int64
	Fingerprint string // Secret.Fingerprint of what the system accepts now
}

// Identities is where tenants' organizations, applications and people live. An identity counts as present from the
// moment its organization exists.
type Identities interface {
	// Ensure makes the identity as spec says: creates what is absent (organization first, marked in the same write),
	// adopts what is ours, changes what differs, and returns what is then true. It sends nothing to anybody. It fails
	// with CodeForeign for an organization, application or user that is in the way, and with CodeAdminRefused where the
	// system's own rules refuse the administrator; it can be called again after any failure. Repeating it changes nothing.
	Ensure(ctx context.Context, spec IdentitySpec, journal Journal) (Identity, error)
	// Read returns what is; ErrAbsent if there is no organization; CodeForeign if one of that name is not ours.
	Read(ctx context.Context, id ID) (Identity, error)
	// Delete removes administrator (unless a member elsewhere), application, roles and organization, and fails only
	// if something of ours is still there. Foreign objects stay, and make it fail with CodeForeign.
	Delete(ctx context.Context, id ID, journal Journal) error
}

// Invitation is a way in for a person who has no password yet. It is minted at each delivery and stored nowhere.
type Invitation struct {
	Link    Secret
	Expires time.Time // zero: never
}

// Inviter is the power to mint an invitation for a tenant's first administrator.
type Inviter interface {
	// Invite returns a fresh link. Earlier links stay valid until they expire or one has been used: a mail that was
	// delivered before this one must not carry a dead link. ErrAbsent if there is no administrator.
	Invite(ctx context.Context, id ID) (Invitation, error)
}

// IdentityLister is the power to read all identities of the installation in few calls.
type IdentityLister interface {
	// ListIdentities returns the identities with our mark, by tenant.
	ListIdentities(ctx context.Context) (map[ID]Identity, error)
}
