// Package serve answers what the proxy at the edge asks, from a copy of the bindings in its own memory: whether to get
// a certificate for a hostname, where to send a request, and which certificate our own zone has.
//
// The copy is read from the table, and kept in a file beside the edge: a restart while the table is away is no outage.
// The edge has no keys. It trusts the table that it reads; whose a row is, is the business of those who write it.
package serve

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	defaultPoll       = 50 * time.Millisecond
	defaultStaleAfter = time.Minute
	defaultRetryAfter = 30 * time.Second
)

// Config says what is served.
type Config struct {
	Bindings string // path of the SQLite file with the table; it may be absent
	Copy     string // path of the local copy; its folder is made (0700)
	Zone     string // our zone: certificates for names below it are never asked for one by one
	Upstream string // host:port for bindings that have none of their own; "" if each has one
	Pages    Pages
	// Certificate returns chain and key of the zone's wildcard certificate as PEM, false if there is none yet; nil is none.
	Certificate func() ([]byte, bool)
	// CertificateToken must be given to get the certificate, unless it is empty.
	CertificateToken tenant.Secret
	// Health adds to what /healthz tells, by name.
	Health     map[string]func() any
	Poll       time.Duration // between two looks at the table; 0 is 50 ms
	StaleAfter time.Duration // after which an unconfirmed copy is called stale; 0 is a minute
	RetryAfter time.Duration // what a holding page tells clients, in whole seconds; 0 is 30 s
	Now        func() time.Time
	Log        *slog.Logger
}

// Server is the edge's handler and its copy of the table. It may be used by many goroutines at once.
type Server struct {
	config Config
	mux    *http.ServeMux
	copy   atomic.Pointer[view]
	// confirmed is when the table was last seen to be what the copy holds, in nanoseconds since 1970; 0 is not yet.
	confirmed   atomic.Int64
	table, file fault
}

// New checks the configuration (CodeInvalidConfig) and takes the local copy, if there is one; a copy that can't be read is
// logged and done without. Nothing else is opened before Follow.
func New(config Config) (*Server, error) {
	if err := config.complete(); err != nil {
		return nil, tenant.Fail(tenant.CodeInvalidConfig, "configuring the edge", err)
	}
	s := &Server{config: config}
	s.copy.Store(s.firstView())
	s.mux = http.NewServeMux()
	s.mux.HandleFunc("GET /ask", s.ask)
	s.mux.HandleFunc("GET /route", s.route)
	s.mux.HandleFunc("GET /certificate", s.certificate)
	s.mux.HandleFunc("GET /healthz", s.health)
	return s, nil
}

// ServeHTTP answers one question of the proxy.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// CustomHostnames returns the bound hostnames outside our zone, sorted: those that have certificates of their own.
func (s *Server) CustomHostnames() []string { return s.copy.Load().custom }

// hostname is a name as it is compared: lower-case, without port and trailing dot.
func hostname(host string) string {
	if colon := strings.LastIndexByte(host, ':'); colon >= 0 && strings.IndexByte(host, ':') == colon {
		host = host[:colon]
	}
	return tenant.PlainName(host)
}

// isLoopback reports whether addr, an IP address with a port, is this machine's own.
func isLoopback(addr string) bool {
	parsed, err := netip.ParseAddrPort(addr)
	return err == nil && parsed.Addr().Unmap().IsLoopback()
}
