package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenantry/terraform-provider-tenant/internal/edge/challenge"
	"github.com/tenantry/terraform-provider-tenant/internal/edge/serve"
	"github.com/tenantry/terraform-provider-tenant/internal/edge/warm"
	"github.com/tenantry/terraform-provider-tenant/internal/edge/wildcard"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// certificatesFile, in the edge's folder, records the certificates of custom hostnames.
const certificatesFile = "certificates.json"

// authorityTimeout is for one question to the authority.
const authorityTimeout = 30 * time.Second

// certificateOptions are the flags about certificates.
type certificateOptions struct {
	ca, email  string
	roots      []string
	server     string // that takes the record for the authority
	serverZone string
	key        string
	proxy      string
	proxyRoots []string
}

func (c *certificateOptions) flags(cmd *cobra.Command) {
	shared := cmd.PersistentFlags()
	shared.StringVar(&c.ca, "acme-ca", "", "the directory of the authority (default Let's Encrypt)")
	shared.StringVar(&c.email, "acme-email", "", "the mail address of the account there")
	shared.StringArrayVar(
		&c.roots,
		"acme-root",
		nil,
		"a PEM file with roots to trust when talking to it (repeatable)",
	)
	flags := cmd.Flags()
	flags.StringVar(
		&c.server,
		"challenge-server",
		"",
		"the name server, host or host:port, that takes the record for the wildcard "+
			"certificate (default: there is none, and no wildcard certificate is got)",
	)
	flags.StringVar(&c.serverZone, "challenge-zone", "", "the zone on that server (default --zone)")
	flags.StringVar(
		&c.key,
		"challenge-key",
		"",
		"a file as tsig-keygen prints it, with a key that may write _acme-challenge.ZONE and nothing else",
	)
	flags.StringVar(
		&c.proxy,
		"proxy",
		"127.0.0.1:443",
		"where Caddy answers HTTPS, to have custom hostnames' certificates made "+
			"and to record them (\"\" to leave them to their first visitors)",
	)
	flags.StringArrayVar(
		&c.proxyRoots,
		"proxy-root",
		nil,
		"a PEM file with roots to verify those certificates by (repeatable; default the system's)",
	)
}

// worker is what runs beside the server until the context ends.
type worker struct {
	doing string
	run   func(context.Context)
}

// withWildcard adds the wildcard certificate to what is served, if there is a way to get one.
func (e *edgeOptions) withWildcard(folder string, config *serve.Config) ([]worker, error) {
	c := e.certificates
	if c.server == "" {
		return nil, nil
	}
	record, err := e.challengeRecord()
	if err != nil {
		return nil, err
	}
	roots, err := readRoots(c.roots)
	if err != nil {
		return nil, err
	}
	keeper, err := wildcard.Open(wildcard.Config{
		Zone:      e.zone,
		Folder:    folder,
		CA:        c.ca,
		Email:     c.email,
		Client:    authorityClient(roots),
		Challenge: record,
		Now:       time.Now,
		Log:       config.Log,
	})
	if err != nil {
		return nil, err
	}
	config.Certificate = keeper.PEM
	config.Health["wildcard"] = func() any { return keeper.Status() }
	return []worker{{"keeping the wildcard certificate", keeper.Run}}, nil
}

func (e *edgeOptions) challengeRecord() (*challenge.Record, error) {
	c := e.certificates
	if c.key == "" {
		return nil, usageError{errors.New("--challenge-server needs --challenge-key")}
	}
	text, err := os.ReadFile(c.key)
	if err != nil {
		return nil, tenant.Fail(tenant.CodeInvalidConfig, "reading the file of --challenge-key", err)
	}
	key, err := challenge.ParseKey(string(text))
	if err != nil {
		return nil, tenant.Fail(tenant.CodeInvalidConfig, "reading "+c.key, err)
	}
	zone := c.serverZone
	if zone == "" {
		zone = e.zone
	}
	return challenge.New(challenge.Config{Server: c.server, Zone: zone, Domain: e.zone, Key: key})
}

func authorityClient(roots *x509.CertPool) *http.Client {
	return &http.Client{Timeout: authorityTimeout, Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: authorityTimeout,
		ForceAttemptHTTP2:   true,
	}}
}

// withQueue adds the queue that has custom hostnames' certificates made.
func (e *edgeOptions) withQueue(
	folder string,
	log *slog.Logger,
	hostnames func() []string,
) (*warm.Queue, error) {
	if e.certificates.proxy == "" {
		return nil, nil //nolint:nilnil // it is not wanted
	}
	roots, err := readRoots(e.certificates.proxyRoots)
	if err != nil {
		return nil, err
	}
	return warm.New(warm.Config{
		Address: e.certificates.proxy, Roots: roots, Hostnames: hostnames,
		File: filepath.Join(folder, certificatesFile), Now: time.Now, Log: log,
	})
}

// readRoots returns nil, which is the system's, for no files.
func readRoots(files []string) (*x509.CertPool, error) {
	if len(files) == 0 {
		return nil, nil //nolint:nilnil // see above
	}
	pool := x509.NewCertPool()
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // the user's own file
		if err == nil && !pool.AppendCertsFromPEM(text) {
			err = errors.New("it holds no certificate")
		}
		if err != nil {
			return nil, tenant.Fail(tenant.CodeInvalidConfig, "reading roots from "+file, err)
		}
	}
	return pool, nil
}
