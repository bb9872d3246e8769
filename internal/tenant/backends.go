package tenant

// Backends is the outside world of one installation, as the provider's configuration names it: all that resources and
// the driver need of it.
type Backends struct {
	Keyring    *Keyring
	Pools      Pools
	Identities Identities
	Domains    Domains
	Gate       Gate
	Zone       string
	Upstreams  map[string]string // plan to host:port; "" is for every other plan
}
