// Package caddy makes the one configuration with which Caddy stands at the edge. It never changes: hostnames come and go in
// the table of bindings, which Caddy asks about request by request, so that ten thousand tenants cost no reload.
// (https://caddyserver.com/docs/json/)
package caddy

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Config is what differs between two edges.
type Config struct {
	Zone    string        // our zone, whose wildcard certificate the edge's own server hands out
	Edge    string        // host:port of the edge's own server, on this machine
	Token   tenant.Secret // that the wildcard certificate is given for; "" is none
	HTTPS   string        // [host]:port to listen on; "" is :443
	HTTP    string        // [host]:port to listen on; "" is :80
	Storage string        // folder for certificates; "" is Caddy's own
	ACME    ACME
}

// ACME is the authority that gives custom hostnames their certificates.
type ACME struct {
	CA    string   // URL of its directory; "" is Caddy's own choice
	Email string   // of the account; "" is none
	Roots []string // PEM files with roots to trust when talking to it; none is the system's
}

// object is one JSON object of Caddy's.
type object = map[string]any

// JSON returns the configuration, indented, the same for the same Config. It fails with CodeInvalidConfig.
func (c Config) JSON() ([]byte, error) {
	const doing = "making Caddy's configuration"
	ports, err := c.complete()
	if err != nil {
		return nil, tenant.Fail(tenant.CodeInvalidConfig, doing, err)
	}
	text, err := json.MarshalIndent(c.root(ports), "", "  ")
	if err != nil {
		return nil, tenant.Fail(tenant.CodeInternal, doing, err)
	}
	return append(text, '\n'), nil
}

type ports struct{ https, http int }

func (c *Config) complete() (p ports, err error) {
	c.Zone = tenant.PlainName(c.Zone)
	if !tenant.IsPlainName(c.Zone) {
		return p, fmt.Errorf("%q is not the name of a zone", c.Zone)
	}
	if c.HTTPS == "" {
		c.HTTPS = ":443"
	}
	if c.HTTP == "" {
		c.HTTP = ":80"
	}
	var errs [3]error
	_, errs[0] = portOf(c.Edge)
	p.https, errs[1] = portOf(c.HTTPS)
	p.http, errs[2] = portOf(c.HTTP)
	return p, errors.Join(errs[:]...)
}

func portOf(address string) (int, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return 0, fmt.Errorf("%q has no port", address)
	}
	return int(number), nil
}

func (c Config) root(p ports) object {
	root := object{
		// Nobody is to change what runs here: a change is a new file and a restart, or a signal.
		"admin": object{"disabled": true, "config": object{"persist": false}},
		"apps": object{
			"http": object{
				"http_port": p.http, "https_port": p.https,
				"servers": object{"edge": c.server(), "redirect": c.redirect(p)},
			},
			"tls": object{"automation": c.automation(p)},
		},
	}
	if c.Storage != "" {
		root["storage"] = object{"module": "file_system", "root": c.Storage}
	}
	return root
}

// redirect sends everybody from HTTP to HTTPS; Caddy answers challenges of the authority before it.
func (c Config) redirect(p ports) object {
	location := "https://{http.request.host}{http.request.uri}"
	if p.https != 443 {
		location = fmt.Sprintf("https://{http.request.host}:%d{http.request.uri}", p.https)
	}
	return object{
		"listen": []string{c.HTTP},
		"routes": []object{{"handle": []object{
			{
				"handler":     "static_response",
				"status_code": 308,
				"headers":     object{"Location": []string{location}},
			},
		}}},
	}
}

// automation gives names below our zone the wildcard certificate, and gets others one of their own, if the edge says
// that they may have one.
func (c Config) automation(p ports) object {
	wildcard := c.url("/certificate")
	if token := c.Token.Reveal(); token != "" {
		wildcard += "?" + url.Values{"token": {token}}.Encode()
	}
	return object{
		"on_demand": object{"permission": object{"module": "http", "endpoint": c.url("/ask")}},
		"policies": []object{
			{
				"subjects":        []string{"*." + c.Zone},
				"get_certificate": []object{{"via": "http", "url": wildcard}},
			},
			{"on_demand": true, "issuers": []object{c.issuer(p)}},
		},
	}
}

func (c Config) issuer(p ports) object {
	issuer := object{
		"module": "acme",
		"challenges": object{
			"http":     object{"alternate_port": p.http},
			"tls-alpn": object{"alternate_port": p.https},
		},
	}
	if c.ACME.CA != "" {
		issuer["ca"] = c.ACME.CA
	}
	if c.ACME.Email != "" {
		issuer["email"] = c.ACME.Email
	}
	if len(c.ACME.Roots) > 0 {
		issuer["trusted_roots_pem_files"] = c.ACME.Roots
	}
	return issuer
}

func (c Config) url(path string) string {
	return (&url.URL{Scheme: "http", Host: c.Edge, Path: path}).String()
}
