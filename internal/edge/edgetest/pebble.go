package edgetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pebble is an authority. It forgets everything when it is stopped, and has another root after the next start.
type Pebble struct {
	Directory string // its URL
	TrustFile string // PEM with what its own certificate is verified by

	address, config string
	trust           *x509.CertPool
	process         *Process
}

// StartPebble runs an authority on the address. It validates at that address's ports, and gives certificates for that long.
func StartPebble(tb testing.TB, address string, validity time.Duration) *Pebble {
	tb.Helper()
	dir := tb.TempDir()
	p := &Pebble{
		Directory: "https://" + net.JoinHostPort(address, directoryPort) + "/dir",
		TrustFile: filepath.Join(dir, "own.pem"), address: address, config: filepath.Join(dir, "config.json"),
	}
	certificate := ownCertificate(tb, address, p.TrustFile, filepath.Join(dir, "own.key"))
	p.trust = x509.NewCertPool()
	p.trust.AddCert(certificate)
	text, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress":           net.JoinHostPort(address, directoryPort),
		"managementListenAddress": net.JoinHostPort(address, rootsPort),
		"certificate":             p.TrustFile, "privateKey": filepath.Join(dir, "own.key"),
		"httpPort": number(tb, HTTPPort), "tlsPort": number(tb, HTTPSPort),
		"profiles": map[string]any{"default": map[string]any{
			"description": "for tests", "validityPeriod": int(validity.Seconds()),
		}},
		"retryAfter": map[string]int{"authz": 1, "order": 1},
	}})
	require.NoError(tb, err)
	require.NoError(tb, os.WriteFile(p.config, text, 0o600))
	p.Start(tb)
	return p
}

// Start runs it again after a Stop.
func (p *Pebble) Start(tb testing.TB) {
	tb.Helper()
	p.process = start(
		tb,
		[]string{"PEBBLE_VA_NOSLEEP=1", "PEBBLE_AUTHZREUSE=0", "PEBBLE_WFE_NONCEREJECT=0"},
		Variable(
			tb,
			"TENANT_TEST_PEBBLE",
		),
		"-config",
		p.config,
		"-dnsserver",
		Variable(tb, "TENANT_TEST_BIND_ADDR"),
	)
	listening(tb, net.JoinHostPort(p.address, rootsPort))
	listening(tb, net.JoinHostPort(p.address, directoryPort))
}

// Stop ends it.
func (p *Pebble) Stop(tb testing.TB) {
	tb.Helper()
	p.process.Stop(tb)
}

// Client talks to the authority.
func (p *Pebble) Client() *http.Client {
	return &http.Client{Timeout: patience, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: p.trust, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true,
	}}
}

// Root returns the PEM of the root of the certificates that it gives, which is another one after each start.
func (p *Pebble) Root(tb testing.TB) []byte {
	tb.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet,
		"https://"+net.JoinHostPort(p.address, rootsPort)+"/roots/0", nil)
	require.NoError(tb, err)
	response, err := p.Client().Do(request)
	require.NoError(tb, err)
	defer func() { require.NoError(tb, response.Body.Close()) }()
	text, err := io.ReadAll(response.Body)
	require.NoError(tb, err)
	return text
}

// Roots is Root as a pool.
func (p *Pebble) Roots(tb testing.TB) *x509.CertPool {
	tb.Helper()
	pool := x509.NewCertPool()
	require.True(tb, pool.AppendCertsFromPEM(p.Root(tb)))
	return pool
}

// ownCertificate makes the certificate of a server at the address, signed by itself.
func ownCertificate(tb testing.TB, address, certificateFile, keyFile string) *x509.Certificate {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(tb, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.ParseIP(address)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(tb, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(tb, err)
	for file, block := range map[string]*pem.Block{
		certificateFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: keyDER},
	} {
		require.NoError(tb, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	certificate, err := x509.ParseCertificate(der)
	require.NoError(tb, err)
	return certificate
}

func number(tb testing.TB, text string) int {
	tb.Helper()
	n, err := strconv.Atoi(text)
	require.NoError(tb, err)
	return n
}
