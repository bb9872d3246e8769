package serve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/edge"
	"github.com/tenantry/terraform-provider-tenant/internal/edge/serve"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

const zone = "app.example"

// world is a table with a store that writes it, and what serves it.
type world struct {
	store  *edge.Store
	config serve.Config
	epoch  int64

	mu  sync.Mutex
	now time.Time
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	dir := tb.TempDir()
	pages, err := serve.LoadPages(nil)
	require.NoError(tb, err)
	w := &world{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	w.config = serve.Config{
		Bindings: filepath.Join(
			dir,
			"table",
			"edge.db",
		),
		Copy:     filepath.Join(dir, "own", "bindings.json"),
		Zone:     zone,
		Upstream: "127.0.0.1:1",
		Pages:    pages,
		Poll:     time.Millisecond,
		Now:      w.clock,
	}
	w.store = edge.New(edge.Config{Path: w.config.Bindings, Zone: zone, Keyring: tenanttest.Keyring(tb)})
	tb.Cleanup(func() { require.NoError(tb, w.store.Close()) })
	return w
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) later(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) bind(tb testing.TB, id tenant.ID, hostname, upstream string, state tenant.BindingState) {
	tb.Helper()
	_, err := w.store.EnsureBinding(tb.Context(),
		tenant.Binding{Hostname: hostname, Tenant: id, Upstream: upstream}, tenant.NoJournal{})
	require.NoError(tb, err)
	w.gate(tb, id, state)
}

func (w *world) gate(tb testing.TB, id tenant.ID, state tenant.BindingState) {
	tb.Helper()
	w.epoch++
	_, err := w.store.SetGate(tb.Context(), id, state, w.epoch)
	require.NoError(tb, err)
}

// start runs a server until the test has ended, or stop is called.
func (w *world) start(tb testing.TB) (server *serve.Server, stop func()) {
	tb.Helper()
	server, err := serve.New(w.config)
	require.NoError(tb, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { server.Follow(ctx); close(done) }()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	tb.Cleanup(stop)
	return server, stop
}

func get(tb testing.TB, server http.Handler, target, host string) *httptest.ResponseRecorder {
	tb.Helper()
	request := httptest.NewRequestWithContext(tb.Context(), http.MethodGet, target, nil)
	request.RemoteAddr = "127.0.0.1:9"
	if host != "" {
		request.Header.Set("X-Forwarded-Host", host)
	}
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, request)
	return answer
}

func route(tb testing.TB, server http.Handler, host string) int {
	tb.Helper()
	return get(tb, server, "/route", host).Code
}

func ask(tb testing.TB, server http.Handler, domain string) int {
	tb.Helper()
	return get(tb, server, "/ask?"+url.Values{"domain": {domain}}.Encode(), "").Code
}

// eventually waits until the host is answered so.
func eventually(tb testing.TB, server http.Handler, host string, status int) {
	tb.Helper()
	require.Eventuallyf(
		tb,
		func() bool { return route(tb, server, host) == status },
		time.Minute,
		time.Millisecond,
		"%s is not answered %d",
		host,
		status,
	)
}

type healthz struct {
	Status     string         `json:"status"`
	Bindings   int            `json:"bindings"`
	Custom     int            `json:"custom_hostnames"`
	Unusable   int            `json:"without_upstream"`
	Source     string         `json:"source"`
	TableError string         `json:"table_error"`
	CopyError  string         `json:"copy_error"`
	More       map[string]any `json:"more"`
}

func health(tb testing.TB, server http.Handler) (status int, told healthz) {
	tb.Helper()
	answer := get(tb, server, "/healthz", "")
	require.NoError(tb, json.Unmarshal(answer.Body.Bytes(), &told))
	return answer.Code, told
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bind(t, "acme", "acme."+zone, "127.0.0.1:8080", tenant.BindingOpen)
	w.bind(t, "acme", "portal.acme.example", "", tenant.BindingOpen)
	w.bind(t, "held", "held."+zone, "", tenant.BindingHolding)
	w.bind(t, "held", "www.held.example", "", tenant.BindingHolding)
	w.bind(t, "gone", "gone."+zone, "", tenant.BindingSuspended)
	w.bind(t, "gone", "www.gone.example", "", tenant.BindingSuspended)
	server, _ := w.start(t)
	eventually(t, server, "acme."+zone, http.StatusOK)

	for _, host := range []string{"acme." + zone, "ACME.App.Example", "acme." + zone + ".", "acme." + zone + ":5443"} {
		answer := get(t, server, "/route", host)
		require.Equal(t, http.StatusOK, answer.Code, host)
		require.Equal(t, "127.0.0.1:8080", answer.Header().Get("X-Upstream"))
		require.Equal(t, "acme", answer.Header().Get("X-Tenant"))
	}
	require.Equal(
		t,
		"127.0.0.1:1",
		get(t, server, "/route", "portal.acme.example").Header().Get("X-Upstream"),
	)

	held := get(t, server, "/route", "www.held.example")
	require.Equal(t, http.StatusServiceUnavailable, held.Code)
	require.Equal(t, "30", held.Header().Get("Retry-After"))
	require.Equal(t, "no-store", held.Header().Get("Cache-Control"))
	require.Contains(t, held.Body.String(), "www.held.example is being set up")
	require.Empty(t, held.Header().Get("X-Upstream"))

	gone := get(t, server, "/route", "gone."+zone)
	require.Equal(t, http.StatusForbidden, gone.Code)
	require.Empty(t, gone.Header().Get("Retry-After"))
	require.Contains(t, gone.Body.String(), "is closed")

	for _, host := range []string{"other." + zone, zone, "acme.example", "", "a.acme." + zone, "[::1]:80", ":", "acme"} {
		require.Equal(t, http.StatusMisdirectedRequest, route(t, server, host), host)
	}

	for domain, status := range map[string]int{
		"portal.acme.example": 200, "Portal.ACME.example.": 200, "www.held.example": 200, "www.gone.example": 200,
		"acme." + zone: 403, "other." + zone: 403, zone: 403, "unbound.example": 403, "": 403, "*.acme.example": 403,
		"portal.acme.example.evil.example": 403,
	} {
		require.Equal(t, status, ask(t, server, domain), domain)
	}
	require.Equal(
		t,
		[]string{"portal.acme.example", "www.gone.example", "www.held.example"},
		server.CustomHostnames(),
	)

	status, told := health(t, server)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, healthz{Status: "ok", Bindings: 6, Custom: 3, Source: "table"}, told)

	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/route", nil)
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, request)
	require.Equal(t, http.StatusMethodNotAllowed, answer.Code)
	require.Equal(t, http.StatusNotFound, get(t, server, "/elsewhere", "").Code)
}

func TestFollowsTheTable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, _ := w.start(t)
	require.Equal(t, http.StatusServiceUnavailable, route(t, server, "acme."+zone), "nothing is known yet")
	require.Equal(t, http.StatusForbidden, ask(t, server, "www.acme.example"))
	status, told := health(t, server)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "empty", told.Status)

	w.bind(t, "acme", "acme."+zone, "", tenant.BindingHolding)
	require.Eventually(t, func() bool { _, told := health(t, server); return told.Bindings == 1 },
		time.Minute, time.Millisecond)
	for _, state := range []struct {
		state  tenant.BindingState
		status int
	}{{tenant.BindingOpen, 200}, {tenant.BindingSuspended, 403}, {tenant.BindingOpen, 200}, {tenant.BindingHolding, 503}} {
		w.gate(t, "acme", state.state)
		eventually(t, server, "acme."+zone, state.status)
	}
	require.NoError(t, w.store.DeleteBinding(t.Context(), "acme", "acme."+zone, tenant.NoJournal{}))
	eventually(t, server, "acme."+zone, http.StatusMisdirectedRequest)

	// Another file in its place, as a restored backup is.
	w.bind(t, "acme", "acme."+zone, "", tenant.BindingOpen)
	eventually(t, server, "acme."+zone, http.StatusOK)
	require.NoError(t, w.store.Close())
	require.NoError(t, os.Rename(filepath.Dir(w.config.Bindings), filepath.Dir(w.config.Bindings)+".old"))
	w.bind(t, "other", "other."+zone, "", tenant.BindingOpen)
	eventually(t, server, "other."+zone, http.StatusOK)
	eventually(t, server, "acme."+zone, http.StatusMisdirectedRequest)
}

func TestSurvivesWithoutTheTable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bind(t, "acme", "www.acme.example", "127.0.0.1:8080", tenant.BindingOpen)
	server, stop := w.start(t)
	eventually(t, server, "www.acme.example", http.StatusOK)
	require.NoError(t, w.store.Close())
	require.NoError(t, os.Rename(filepath.Dir(w.config.Bindings), filepath.Dir(w.config.Bindings)+".away"))
	require.Eventually(t, func() bool { _, told := health(t, server); return told.TableError != "" },
		time.Minute, time.Millisecond)
	w.later(time.Hour)
	requireServed := func(source string) {
		t.Helper()
		require.Equal(t, http.StatusOK, route(t, server, "www.acme.example"))
		require.Equal(t, http.StatusOK, ask(t, server, "www.acme.example"))
		status, told := health(t, server)
		require.Equal(t, http.StatusOK, status, "stale is told, and served")
		require.Equal(t, "stale", told.Status)
		require.Equal(t, source, told.Source)
	}
	requireServed("table")
	stop()

	info, err := os.Stat(w.config.Copy)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	server, stop = w.start(t)
	requireServed("copy")

	require.NoError(t, os.Rename(filepath.Dir(w.config.Bindings)+".away", filepath.Dir(w.config.Bindings)))
	require.Eventually(
		t,
		func() bool { _, told := health(t, server); return told.Source == "table" && told.Status == "ok" },
		time.Minute,
		time.Millisecond,
	)
	w.gate(t, "acme", tenant.BindingSuspended)
	eventually(t, server, "www.acme.example", http.StatusForbidden)
	stop()

	// What is no table, and what is no copy, takes nothing away and stops nothing.
	require.NoError(t, w.store.Close())
	for _, file := range []string{w.config.Bindings, w.config.Copy} {
		require.NoError(
			t,
			os.WriteFile(file+".new", []byte("neither a table nor a copy, long enough to be read"), 0o600),
		)
		require.NoError(t, os.Rename(file+".new", file))
	}
	server, _ = w.start(t)
	require.Eventually(t, func() bool { _, told := health(t, server); return told.TableError != "" },
		time.Minute, time.Millisecond)
	require.Equal(t, http.StatusServiceUnavailable, route(t, server, "www.acme.example"))
}

func TestCopyThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, os.WriteFile(filepath.Dir(w.config.Copy), nil, 0o600))
	w.bind(t, "acme", "acme."+zone, "", tenant.BindingOpen)
	server, _ := w.start(t)
	eventually(t, server, "acme."+zone, http.StatusOK)
	require.Eventually(t, func() bool { _, told := health(t, server); return told.CopyError != "" },
		time.Minute, time.Millisecond)
}

// TestUnusableUpstreams shows a page where the proxy could be sent anywhere, or nowhere.
func TestUnusableUpstreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.Upstream = ""
	w.bind(t, "good", "good."+zone, "app-1.internal:80", tenant.BindingOpen)
	w.bind(t, "six", "six."+zone, "[::1]:80", tenant.BindingOpen)
	for id, upstream := range map[tenant.ID]string{
		"none": "", "noport": "app", "zero": "app:0", "socket": "unix//run/docker.sock", "holder": "{env.SECRET}:80",
		"range": "app:80-90", "space": "a b:80",
	} {
		w.bind(t, id, string(id)+"."+zone, upstream, tenant.BindingOpen)
	}
	server, _ := w.start(t)
	eventually(t, server, "good."+zone, http.StatusOK)
	require.Equal(t, http.StatusOK, route(t, server, "six."+zone))
	for _, id := range []string{"none", "noport", "zero", "socket", "holder", "range", "space"} {
		answer := get(t, server, "/route", id+"."+zone)
		require.Equal(t, http.StatusServiceUnavailable, answer.Code, id)
		require.Empty(t, answer.Header().Get("X-Upstream"), id)
	}
	_, told := health(t, server)
	require.Equal(t, 7, told.Unusable)
}

func TestCertificate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	there := false
	w.config.Certificate = func() ([]byte, bool) { return []byte("chain and key"), there }
	w.config.CertificateToken = tenant.NewSecret("let me in")
	w.config.Health = map[string]func() any{"wildcard": func() any { return "fine" }}
	server, err := serve.New(w.config)
	require.NoError(t, err)
	const good = "/certificate?token=let+me+in&server_name=acme." + zone
	require.Equal(t, http.StatusNoContent, get(t, server, good, "").Code)
	there = true
	answer := get(t, server, good, "")
	require.Equal(t, http.StatusOK, answer.Code)
	require.Equal(t, "chain and key", answer.Body.String())
	require.Equal(
		t,
		http.StatusNoContent,
		get(t, server, "/certificate?token=let+me+in&server_name=a.example", "").Code,
	)
	for _, target := range []string{"/certificate?server_name=acme." + zone, good + "&token=x", "/certificate?token=x"} {
		if target != good+"&token=x" { // the first one counts
			require.Equal(t, http.StatusForbidden, get(t, server, target, "").Code, target)
		}
	}
	for remote, status := range map[string]int{
		"127.9.9.9:1": 200, "[::1]:1": 200, "[::ffff:127.0.0.1]:1": 200, "192.0.2.1:1": 403, "[2001:db8::1]:1": 403, "": 403, "@": 403,
	} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, good, nil)
		request.RemoteAddr = remote
		recorder := httptest.NewRecorder()
		server.ServeHTTP(recorder, request)
		require.Equal(t, status, recorder.Code, remote)
	}
	_, told := health(t, server)
	require.Equal(t, map[string]any{"wildcard": "fine"}, told.More)
}

func TestOwnPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pages, err := serve.LoadPages(fstest.MapFS{
		"holding.html.tmpl": {Data: []byte(`<p>{{.Hostname}} of {{.Tenant}}, {{.RetryAfter}}</p>`)},
	})
	require.NoError(t, err)
	w.config.Pages, w.config.RetryAfter = pages, 2*time.Minute
	w.bind(t, "acme", "acme."+zone, "", tenant.BindingHolding)
	server, _ := w.start(t)
	require.Eventually(t, func() bool { _, told := health(t, server); return told.Bindings == 1 },
		time.Minute, time.Millisecond)
	answer := get(t, server, "/route", "acme."+zone)
	require.Equal(t, "<p>acme.app.example of acme, 2m0s</p>", answer.Body.String())
	require.Equal(t, "120", answer.Header().Get("Retry-After"))
	w.gate(t, "acme", tenant.BindingSuspended)
	eventually(t, server, "acme."+zone, http.StatusForbidden)
	require.Contains(t, get(t, server, "/route", "acme."+zone).Body.String(), "is closed")

	for name, text := range map[string]string{
		"holding.html.tmpl": "{{.Hostname", "suspended.html.tmpl": "{{.NoSuchField}}",
	} {
		_, err := serve.LoadPages(fstest.MapFS{name: {Data: []byte(text)}})
		require.Truef(t, tenant.HasCode(err, tenant.CodeInvalidConfig), "%v", err)
		require.ErrorContains(t, err, name)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*serve.Config){
		"no table": func(c *serve.Config) { c.Bindings = "" },
		"no copy":  func(c *serve.Config) { c.Copy = "" },
		"zone":     func(c *serve.Config) { c.Zone = "not a zone" },
		"upstream": func(c *serve.Config) { c.Upstream = "http://app" },
		"no pages": func(c *serve.Config) { c.Pages = serve.Pages{} },
	} {
		config := newWorld(t).config
		spoil(&config)
		_, err := serve.New(config)
		require.Truef(t, tenant.HasCode(err, tenant.CodeInvalidConfig), "%s: %v", name, err)
	}
}
