package powerdns_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/powerdns"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

func (w *world) cname(id tenant.ID) tenant.Record {
	return tenant.Record{
		Name: tenant.DefaultHostname(
			id,
			w.zone,
		),
		Type:   "CNAME",
		Values: []string{"edge." + w.zone},
		TTL:    5 * time.Minute,
	}
}

func requireFailure(tb testing.TB, err error, code tenant.Code, class tenant.Class, words ...string) {
	tb.Helper()
	require.Error(tb, err)
	require.True(tb, tenant.HasCode(err, code), "%v", err)
	require.Equal(tb, class, tenant.FailureOf(err).Class)
	for _, word := range words {
		require.ErrorContains(tb, err, word)
	}
}

// meddler is the way to the real server with somebody on it.
type meddler struct {
	mu      sync.Mutex
	patches int
	before  func(*http.Request) (*http.Response, error) // nil, nil lets the request pass
	after   func(*http.Request, *http.Response) (*http.Response, error)
}

func (m *meddler) RoundTrip(request *http.Request) (*http.Response, error) {
	m.mu.Lock()
	before, after := m.before, m.after
	if request.Method == http.MethodPatch {
		m.patches++
	}
	m.mu.Unlock()
	if before != nil {
		if response, err := before(request); response != nil || err != nil {
			return response, err
		}
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil || after == nil {
		return response, err
	}
	return after(request, response)
}

func (m *meddler) sent() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.patches
}

func answer(status int, header http.Header, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}
}

// TestStatus: each HTTP status has its code and class.
func TestStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cases := map[int]struct {
		code  tenant.Code
		class tenant.Class
	}{
		302: {tenant.CodeInvalidConfig, tenant.Terminal},
		400: {tenant.CodeInvalidConfig, tenant.Terminal},
		401: {tenant.CodeInvalidConfig, tenant.Terminal},
		403: {tenant.CodeInvalidConfig, tenant.Terminal},
		404: {tenant.CodeInvalidConfig, tenant.Terminal},
		409: {tenant.CodeConflict, tenant.Retryable},
		422: {tenant.CodeConflict, tenant.Retryable},
		429: {tenant.CodeUnavailable, tenant.Retryable},
		500: {tenant.CodeUnavailable, tenant.Retryable},
		503: {tenant.CodeUnavailable, tenant.Retryable},
	}
	for status, want := range cases {
		way := &meddler{before: func(request *http.Request) (*http.Response, error) {
			if request.Method != http.MethodPatch {
				return nil, nil //nolint:nilnil // let it pass
			}
			return answer(
				status,
				http.Header{"Retry-After": {"7"}, "Location": {w.url}},
				`{"error": "no such luck"}`,
			), nil
		}}
		config := w.config(tenanttest.Keyring(t))
		config.Transport = way
		journal := &tenanttest.Journal{}
		err := open(t, config).Ensure(t.Context(), "acme", w.cname("acme"), journal)
		requireFailure(t, err, want.code, want.class, "no such luck", w.cname("acme").Name)
		require.NotContains(t, err.Error(), w.key)
		require.Empty(t, journal.Made())
		if want.code == tenant.CodeUnavailable {
			require.Equal(t, 7*time.Second, tenant.FailureOf(err).RetryAfter)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for title, change := range map[string]func(*powerdns.Config){
		"key":    func(c *powerdns.Config) { c.APIKey = tenant.NewSecret("wrong-key") },
		"zone":   func(c *powerdns.Config) { c.Zone = "elsewhere.example" },
		"server": func(c *powerdns.Config) { c.Server = "other" },
		"no API": func(c *powerdns.Config) { c.URL += "/deeper" },
	} {
		config := w.config(tenanttest.Keyring(t))
		change(&config)
		record := w.cname("acme")
		record.Name = "acme." + config.Zone
		err := open(t, config).Ensure(t.Context(), "acme", record, tenant.NoJournal{})
		requireFailure(t, err, tenant.CodeInvalidConfig, tenant.Terminal)
		require.NotContains(t, err.Error(), "wrong-key", title)
	}
	config := w.config(tenanttest.Keyring(t))
	config.URL = "http://127.0.0.1:1"
	_, err := open(t, config).Read(t.Context(), "acme", w.cname("acme").Name, "CNAME")
	requireFailure(t, err, tenant.CodeUnavailable, tenant.Retryable, "127.0.0.1:1")
}

func TestInvalidConfig(t *testing.T) {
	t.Parallel()
	good := powerdns.Config{
		URL:    "https://dns.example:8081",
		Zone:   "app.example",
		APIKey: tenant.NewSecret("hush"),
	}
	for title, change := range map[string]func(*powerdns.Config){
		"no url":     func(c *powerdns.Config) { c.URL = "" },
		"odd scheme": func(c *powerdns.Config) { c.URL = "ftp://hush@dns.example" },
		"with user":  func(c *powerdns.Config) { c.URL = "https://me:hush@dns.example" },
		"no zone":    func(c *powerdns.Config) { c.Zone = "" },
		"odd zone":   func(c *powerdns.Config) { c.Zone = "a/b" },
		"no key":     func(c *powerdns.Config) { c.APIKey = tenant.Secret{} },
	} {
		config := good
		change(&config)
		_, err := powerdns.New(config)
		requireFailure(t, err, tenant.CodeInvalidConfig, tenant.Terminal)
		require.NotContains(t, err.Error(), "hush", title)
	}
	backend, err := powerdns.New(good)
	require.NoError(t, err)
	require.Equal(t, "app.example", backend.Zone())
}

// TestCut: the answer to a PATCH is lost, or the PATCH is; either way it happens and the call succeeds.
func TestCut(t *testing.T) {
	t.Parallel()
	lost := errors.New("connection reset")
	for title, requests := range map[string]int{"answer": 1, "request": 2} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w, way := newWorld(t), &meddler{}
			cut := func(request *http.Request) bool { return request.Method == http.MethodPatch && way.sent() == 1 }
			if title == "answer" {
				way.after = func(request *http.Request, response *http.Response) (*http.Response, error) {
					if !cut(request) {
						return response, nil
					}
					return nil, errors.Join(lost, response.Body.Close())
				}
			} else {
				way.before = func(request *http.Request) (*http.Response, error) {
					if !cut(request) {
						return nil, nil //nolint:nilnil // let it pass
					}
					return nil, lost
				}
			}
			config, journal, record := w.config(tenanttest.Keyring(t)), &tenanttest.Journal{}, w.cname("acme")
			config.Transport = way
			require.NoError(t, open(t, config).Ensure(t.Context(), "acme", record, journal))
			require.Equal(t, requests, way.sent())
			require.Equal(t, record.Values, w.lookup(t, record.Name, "CNAME"))
			require.Contains(t, journal.Made(), record.Object("acme"))
			journal.RequireSound(t)
		})
	}
}

// TestAccepted: the server says yes and shows nothing of it.
func TestAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config, journal := w.config(tenanttest.Keyring(t)), &tenanttest.Journal{}
	config.Settle = 20 * time.Millisecond
	config.Transport = &meddler{before: func(request *http.Request) (*http.Response, error) {
		if request.Method != http.MethodPatch {
			return nil, nil //nolint:nilnil // let it pass
		}
		return answer(http.StatusNoContent, nil, ""), nil
	}}
	err := open(t, config).Ensure(t.Context(), "acme", w.cname("acme"), journal)
	requireFailure(t, err, tenant.CodeUnavailable, tenant.Retryable, "does not show it")
	require.Empty(t, journal.Made())
}

// TestOverwritten: what the API can't prevent is seen. Another process writes between look and PATCH, and is overwritten;
// or writes after the PATCH, and has overwritten.
func TestOverwritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	record, theirs := w.cname("acme"), open(t, func() powerdns.Config {
		config := w.config(tenanttest.KeyringOf(t, "test-us"))
		config.Turns = nil // of another process
		return config
	}())
	config := w.config(tenanttest.Keyring(t))
	way := &meddler{}
	way.after = func(request *http.Request, response *http.Response) (*http.Response, error) {
		if request.Method == http.MethodPatch {
			w.set(t, record.Name, "CNAME")
			w.set(t, "_tenantry."+record.Name, "TXT")
			require.NoError(t, theirs.Ensure(context.Background(), "acme", record, tenant.NoJournal{}))
		}
		return response, nil
	}
	config.Transport = way
	journal := &tenanttest.Journal{}
	err := open(t, config).Ensure(t.Context(), "acme", record, journal)
	requireFailure(t, err, tenant.CodeForeign, tenant.Terminal, record.Name, "test-us")
	require.Empty(t, journal.Made())
	_, err = theirs.Read(t.Context(), "acme", record.Name, "CNAME")
	require.NoError(t, err)
}

// TestDisabled: a record of ours that somebody has switched off is absent, and switched on again.
func TestDisabled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	backend, record := w.open(t, tenanttest.Keyring(t)), w.cname("acme")
	require.NoError(t, backend.Ensure(t.Context(), "acme", record, tenant.NoJournal{}))
	w.api(t, http.MethodPatch, "/"+w.zone+".", map[string]any{"rrsets": []rrset{{
		Name: record.Name + ".", Type: "CNAME", TTL: 300, ChangeType: "REPLACE",
		Records: []map[string]any{{"content": "edge." + w.zone + ".", "disabled": true}},
	}}}, nil)
	_, err := backend.Read(t.Context(), "acme", record.Name, "CNAME")
	require.ErrorIs(t, err, tenant.ErrAbsent)
	found, err := backend.ListRecords(t.Context())
	require.NoError(t, err)
	require.Empty(t, found, "reading one and reading all say the same")
	require.NoError(t, backend.Ensure(t.Context(), "acme", record, tenant.NoJournal{}))
	require.Equal(t, record.Values, w.lookup(t, record.Name, "CNAME"))
}

// TestDelegated: below a name that is delegated or redirected nobody would ever see our record.
func TestDelegated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(t, "claims."+w.zone, "NS", "ns.other.example.")
	w.set(t, "d."+w.zone, "DNAME", "other.example.")
	for _, name := range []string{"c1.claims." + w.zone, "claims." + w.zone, "x.y.d." + w.zone} {
		record := tenant.Record{Name: name, Type: "TXT", Values: []string{"x"}, TTL: time.Minute}
		err := w.open(t, tenanttest.Keyring(t)).Ensure(t.Context(), "acme", record, tenant.NoJournal{})
		requireFailure(t, err, tenant.CodeForeign, tenant.Terminal, name)
	}
}

// TestOwnConflict: a CNAME stands alone, also among a tenant's own records.
func TestOwnConflict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	backend := w.open(t, tenanttest.Keyring(t))
	require.NoError(t, backend.Ensure(t.Context(), "acme", w.cname("acme"), tenant.NoJournal{}))
	address := tenant.Record{Name: w.cname("acme").Name, Type: "A", Values: []string{"192.0.2.1"}}
	err := backend.Ensure(t.Context(), "acme", address, tenant.NoJournal{})
	requireFailure(t, err, tenant.CodeConflict, tenant.Terminal)
}

// TestTurns: waiting for one's turn ends with the context.
func TestTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	config := w.config(tenanttest.Keyring(t))
	inside := make(chan struct{})
	config.Transport = &meddler{before: func(request *http.Request) (*http.Response, error) {
		if request.Method == http.MethodPatch {
			close(inside)
			<-ctx.Done()
		}
		return nil, nil //nolint:nilnil // let it pass
	}}
	done, holder := make(chan error, 1), open(t, config)
	go func() {
		done <- holder.Ensure(context.Background(), "acme", w.cname("acme"), tenant.NoJournal{})
	}()
	<-inside
	waiting, stop := context.WithCancel(t.Context())
	stop()
	err := w.open(t, tenanttest.Keyring(t)).
		Delete(waiting, "beta", w.cname("beta").Name, "CNAME", tenant.NoJournal{})
	require.ErrorIs(t, err, context.Canceled)
	requireFailure(t, err, tenant.CodeCanceled, tenant.Retryable)
	cancel()
	require.NoError(t, <-done)
}
