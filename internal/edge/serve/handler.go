package serve

import (
	"crypto/subtle"
	"net/http"
	"strconv"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// The header fields of the answer to /route. A client's own must never reach the application.
const (
	UpstreamHeader = "X-Upstream"
	TenantHeader   = "X-Tenant"
)

// ask says whether the proxy may get a certificate for the hostname: 200, or 403. Only bound hostnames outside our zone
// may have one of their own, and only verified ones are bound; below the zone there is the wildcard.
func (s *Server) ask(w http.ResponseWriter, r *http.Request) {
	name := hostname(r.URL.Query().Get("domain"))
	_, bound := s.copy.Load().bindings[name]
	if !bound || below(name, s.config.Zone) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// route says where a request for the hostname in X-Forwarded-Host goes: 200 with upstream and tenant, 503 with the holding
// page, 403 with the suspended page, or 421 (RFC 9110, section 15.5.20) for a name that nobody has here.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	name := hostname(r.Header.Get("X-Forwarded-Host"))
	v := s.copy.Load()
	found, bound := v.bindings[name]
	page := Page{Hostname: name, Tenant: found.tenant, RetryAfter: s.config.RetryAfter}
	switch {
	case !bound && v.source == fromNothing:
		s.show(w, http.StatusServiceUnavailable, holdingFile, page)
	case !bound:
		w.WriteHeader(http.StatusMisdirectedRequest)
	case found.state == tenant.BindingSuspended:
		s.show(w, http.StatusForbidden, suspendedFile, page)
	case found.state != tenant.BindingOpen || found.upstream == "":
		s.show(w, http.StatusServiceUnavailable, holdingFile, page)
	default:
		header := w.Header()
		header.Set(UpstreamHeader, found.upstream)
		header.Set(TenantHeader, found.tenant)
		w.WriteHeader(http.StatusOK)
	}
}

// show sends a page that no cache keeps: the next request may get another answer.
func (s *Server) show(w http.ResponseWriter, status int, file string, page Page) {
	body, err := s.config.Pages.render(file, page)
	if err != nil {
		s.config.Log.Error("a page can't be made", "page", file, "error", err)
	}
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", "text/html; charset=utf-8")
	if status == http.StatusServiceUnavailable {
		header.Set("Retry-After", strconv.Itoa(int(page.RetryAfter.Seconds())))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // whoever asked has gone
}

// certificate gives the proxy on this machine the wildcard's chain and key: 200 with PEM, or 204 if there is none, after
// which the proxy looks elsewhere. Its file is readable by its owner only, and so is the token.
func (s *Server) certificate(w http.ResponseWriter, r *http.Request) {
	token := s.config.CertificateToken.Reveal()
	given := r.URL.Query().Get("token")
	if !isLoopback(r.RemoteAddr) || subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1 {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	name := hostname(r.URL.Query().Get("server_name"))
	if s.config.Certificate == nil || !below(name, s.config.Zone) {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	text, there := s.config.Certificate()
	if !there {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "application/pem-certificate-chain") // RFC 8555, section 9.1
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(text) // whoever asked has gone
}
