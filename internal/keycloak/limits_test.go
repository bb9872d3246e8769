package keycloak_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/keycloak"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

// counter stands in for the network, so that waiting costs no time: it gives tokens, answers every list as empty, and lets
// a test answer otherwise. What a real server says is the other tests' matter.
type counter struct {
	tokens, requests, now, most atomic.Int64

	answer func(n int64, request *http.Request) *http.Response // nil is the usual answer
	hold   time.Duration                                       // how long an answer takes
}

func (c *counter) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.HasSuffix(request.URL.Path, "/openid-connect/token") {
		c.tokens.Add(1)
		return reply(http.StatusOK, `{"access_token":"t","expires_in":300}`), nil
	}
	c.most.Store(max(c.most.Load(), c.now.Add(1)))
	defer c.now.Add(-1)
	n := c.requests.Add(1)
	if c.hold > 0 {
		timer := time.NewTimer(c.hold)
		<-timer.C
	}
	if c.answer != nil {
		if out := c.answer(n, request); out != nil {
			return out, nil
		}
	}
	return reply(http.StatusOK, `[]`), nil
}

func reply(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader([]byte(body))),
	}
}

func (c *counter) backend(tb testing.TB, changes ...func(*keycloak.Config)) *keycloak.Backend {
	tb.Helper()
	config := keycloak.Config{
		URL: "http://identity.invalid", Realm: "saas", ClientID: "a", ClientSecret: tenant.NewSecret("b"),
		Keyring: tenanttest.Keyring(tb), ApplicationURL: applicationURL, Transport: c,
	}
	for _, change := range changes {
		change(&config)
	}
	return keycloak.New(config)
}

func readAbsent(tb testing.TB, on tenant.Identities) {
	tb.Helper()
	_, err := on.Read(tb.Context(), "acme", tenant.IdentityNames{})
	require.ErrorIs(tb, err, tenant.ErrAbsent)
}

// TestBusyServer waits as long as the server asks for, and not longer.
func TestBusyServer(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			c := &counter{answer: func(n int64, _ *http.Request) *http.Response {
				if n > 2 {
					return nil
				}
				out := reply(status, `{}`)
				out.Header.Set("Retry-After", "7")
				return out
			}}
			backend, start := c.backend(t), time.Now()
			readAbsent(t, backend)
			require.Equal(t, 14*time.Second, time.Since(start))
			require.Equal(t, int64(1), c.tokens.Load())
		})
	}
}

// TestBusyForLong hands a long wait to the driver: it is told how long, and nothing is spent here.
func TestBusyForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &counter{answer: func(int64, *http.Request) *http.Response {
			out := reply(http.StatusServiceUnavailable, `{}`)
			out.Header.Set("Retry-After", "120")
			return out
		}}
		backend, start := c.backend(t), time.Now()
		_, err := backend.Read(t.Context(), "acme", tenant.IdentityNames{})
		failure := tenant.FailureOf(err)
		require.Equal(t, tenant.CodeUnavailable, failure.Code)
		require.Equal(t, tenant.Retryable, failure.Class)
		require.Equal(t, 2*time.Minute, failure.RetryAfter)
		require.Zero(t, time.Since(start))
	})
}

// TestTokenRenewed has the server forget a token: it is renewed once, and a second refusal is told.
func TestTokenRenewed(t *testing.T) {
	t.Parallel()
	c := &counter{answer: func(n int64, _ *http.Request) *http.Response {
		if n == 1 {
			return reply(http.StatusUnauthorized, `{}`)
		}
		return nil
	}}
	readAbsent(t, c.backend(t))
	require.Equal(t, int64(2), c.tokens.Load())

	always := &counter{
		answer: func(int64, *http.Request) *http.Response { return reply(http.StatusUnauthorized, `{}`) },
	}
	_, err := always.backend(t).Read(t.Context(), "acme", tenant.IdentityNames{})
	require.True(t, tenant.HasCode(err, tenant.CodeInvalidConfig), "of %v", err)
	require.Equal(t, int64(2), always.requests.Load())
}

// TestOneBudget sends many tenants' requests: never more at once than configured, and no faster.
func TestOneBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &counter{hold: 10 * time.Millisecond}
		backend := c.backend(t, func(config *keycloak.Config) {
			config.RequestsPerSecond, config.MaxInFlight = 50, 3
		})
		start := time.Now()
		var group sync.WaitGroup
		for range 200 {
			group.Go(func() { readAbsent(t, backend) })
		}
		group.Wait()
		require.LessOrEqual(t, c.most.Load(), int64(3))
		perSecond := float64(
			c.requests.Load(),
		) / (time.Since(start).Seconds() + 1) // a second's worth may be made up for
		require.LessOrEqual(t, perSecond, 51.0)
		require.Equal(t, int64(1), c.tokens.Load(), "one token for all")
	})
}

// TestRefusedByStatus has the server answer with each status: the code follows from it alone.
func TestRefusedByStatus(t *testing.T) {
	t.Parallel()
	for status, code := range map[int]tenant.Code{
		http.StatusForbidden: tenant.CodeInvalidConfig, http.StatusInternalServerError: tenant.CodeUnavailable,
		http.StatusBadGateway: tenant.CodeUnavailable, http.StatusConflict: tenant.CodeConflict,
		http.StatusFound: tenant.CodeInvalidConfig,
	} {
		c := &counter{answer: func(int64, *http.Request) *http.Response {
			return reply(status, `{"errorMessage":"not found\nabsent"}`)
		}}
		_, err := c.backend(t).Read(t.Context(), "acme", tenant.IdentityNames{})
		require.True(t, tenant.HasCode(err, code), "of %d: %v", status, err)
		require.NotErrorIs(t, err, tenant.ErrAbsent)
		require.NotContains(t, err.Error(), "\n")
	}
}
