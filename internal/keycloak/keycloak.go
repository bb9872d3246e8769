// Package keycloak keeps tenants' identities on a Keycloak server: an organization, a client and a first administrator
// each, in one realm that all tenants share.
//
// It works as a service account with the roles manage-organizations, manage-clients and manage-users of the realm, and
// view-realm to see in a plan what the realm is not set up for. Marks are attributes, written in the request that makes
// the object.
package keycloak

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// The defaults of Config.
const (
	DefaultRequestsPerSecond = 100
	DefaultMaxInFlight       = 8
)

// Isolation is how tenants' identities are kept apart.
type Isolation string

// Organization is the isolation by an organization each, in a realm that all tenants share.
const Organization Isolation = "organization"

// Config says where the identities live. One Backend serves all tenants of a realm.
type Config struct {
	URL          string // of the server, without /realms
	Realm        string
	ClientID     string // of the service account, in the realm
	ClientSecret tenant.Secret
	Isolation    Isolation // "" is Organization
	Keyring      *tenant.Keyring
	// Transport carries the requests; nil is http.DefaultTransport.
	Transport http.RoundTripper
	// RequestsPerSecond paces and MaxInFlight bounds what all tenants together ask of the server; 0 is the default.
	RequestsPerSecond float64
	MaxInFlight       int
	Now               func() time.Time // nil is time.Now
	// ApplicationURL returns the absolute URL at which a tenant's people open the application.
	ApplicationURL func(tenant.ID) string
}

// Backend is the tenants' identities in one realm. It is safe for concurrent use; any number of processes may use the
// same realm at once.
type Backend struct {
	config Config
	api    *api
	// domains serialises the writing of organizations' domains: the server itself lets two of them take one domain.
	domains sync.Mutex
}

var (
	_ tenant.Identities       = (*Backend)(nil)
	_ tenant.IdentityPlanner  = (*Backend)(nil)
	_ tenant.Inviter          = (*Backend)(nil)
	_ tenant.InvitationMailer = (*Backend)(nil)
	_ tenant.IdentityLister   = (*Backend)(nil)
)

// New returns the backend; it connects to nothing.
func New(config Config) *Backend {
	if config.Isolation == "" {
		config.Isolation = Organization
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.RequestsPerSecond <= 0 {
		config.RequestsPerSecond = DefaultRequestsPerSecond
	}
	if config.MaxInFlight <= 0 {
		config.MaxInFlight = DefaultMaxInFlight
	}
	config.URL = strings.TrimRight(config.URL, "/")
	return &Backend{config: config, api: newAPI(config)}
}

// named fills in the deterministic names.
func (b *Backend) named(id tenant.ID, names tenant.IdentityNames) tenant.IdentityNames {
	name := tenant.IdentityName(b.config.Keyring.Installation(), id)
	if names.Organization == "" {
		names.Organization = name
	}
	if names.Application == "" {
		names.Application = name
	}
	return names
}

func organizationObject(id tenant.ID, name string) tenant.Object {
	return tenant.Object{Tenant: id, Kind: tenant.KindOrganization, Name: name}
}

func applicationObject(id tenant.ID, clientID string) tenant.Object {
	return tenant.Object{Tenant: id, Kind: tenant.KindApplication, Name: clientID}
}

func userObject(id tenant.ID, emailKey string) tenant.Object {
	return tenant.Object{Tenant: id, Kind: tenant.KindUser, Name: emailKey}
}

// emailKey is the form in which the server stores and compares addresses.
func emailKey(email string) string { return strings.ToLower(email) }
