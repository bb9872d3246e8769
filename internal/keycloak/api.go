package keycloak

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	requestTimeout = 60 * time.Second
	answerLimit    = 16 << 20 // bytes
	// busyAttempts is how often a request is made that the server answers with "too busy"; busyWaitMax is the longest
	// wait that is spent within a call. A longer one is the driver's to wait.
	busyAttempts = 4
	busyWaitMax  = 10 * time.Second
	busyWait     = time.Second // where the server does not say how long
	// tokenMargin is how long before its end a token is renewed.
	tokenMargin = 10 * time.Second
)

// api is the way to the server's admin interface: one token, and one budget of requests for all tenants.
type api struct {
	config Config
	client *http.Client
	slots  chan struct{}
	pace   pace

	mu      sync.Mutex
	token   tenant.Secret
	expires time.Time
	scoped  bool          // see givesScope
	ahead   time.Duration // of the server's clock before ours, as the token told
}

func newAPI(config Config) *api {
	return &api{
		config: config,
		client: &http.Client{
			Transport: config.Transport,
			Timeout:   requestTimeout,
			// The token goes to the configured server and nowhere else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		slots: make(chan struct{}, config.MaxInFlight),
		pace:  pace{every: time.Duration(float64(time.Second) / config.RequestsPerSecond)},
	}
}

// request is one call of the admin interface.
type request struct {
	doing  string
	method string
	path   []string // below the realm, unescaped
	query  url.Values
	body   any // JSON; nil is none
}

// answer is what a successful request returned.
type answer struct {
	header http.Header
	body   []byte
}

// id is that of the object that a POST has made.
func (a answer) id() string {
	location := a.header.Get("Location")
	return location[strings.LastIndex(location, "/")+1:]
}

// get reads JSON into out.
func (a *api) get(ctx context.Context, doing string, out any, query url.Values, path ...string) error {
	got, err := a.do(ctx, request{doing: doing, method: http.MethodGet, path: path, query: query})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(got.body, out); err != nil {
		return tenant.Fail(
			tenant.CodeUnavailable,
			doing,
			errors.Join(errors.New("the answer is no JSON"), err),
		)
	}
	return nil
}

func (a *api) post(ctx context.Context, doing string, body any, path ...string) (answer, error) {
	return a.do(ctx, request{doing: doing, method: http.MethodPost, path: path, body: body})
}

func (a *api) put(ctx context.Context, doing string, body any, path ...string) error {
	_, err := a.do(ctx, request{doing: doing, method: http.MethodPut, path: path, body: body})
	return err
}

// remove deletes; what is absent is done.
func (a *api) remove(ctx context.Context, doing string, path ...string) error {
	_, err := a.do(ctx, request{doing: doing, method: http.MethodDelete, path: path})
	if absent(err) {
		return nil
	}
	return err
}

// do makes the request. Every error is a Failure; the server's status is in its chain.
func (a *api) do(ctx context.Context, r request) (answer, error) {
	got, err := a.patiently(ctx, r)
	return got, classify(ctx, r.doing, err)
}

// patiently repeats a request that the server was too busy for: it has not begun with it.
func (a *api) patiently(ctx context.Context, r request) (answer, error) {
	for attempt := 1; ; attempt++ {
		got, err := a.authorized(ctx, r)
		fault, ok := errors.AsType[*statusError](err)
		if !ok || attempt == busyAttempts ||
			fault.status != http.StatusTooManyRequests && fault.status != http.StatusServiceUnavailable {
			return got, err
		}
		wait := fault.retryAfter
		if wait == 0 {
			wait = busyWait
		}
		if wait > busyWaitMax {
			return got, err
		}
		if err := pause(ctx, wait); err != nil {
			return answer{}, err
		}
	}
}

// authorized makes the request with a token, and once more with a new one if the server knows the token no longer.
func (a *api) authorized(ctx context.Context, r request) (answer, error) {
	token, err := a.currentToken(ctx)
	if err != nil {
		return answer{}, err
	}
	got, err := a.once(ctx, r, token)
	if statusOf(err) != http.StatusUnauthorized {
		return got, err
	}
	a.forget(token)
	if token, err = a.currentToken(ctx); err != nil {
		return answer{}, err
	}
	return a.once(ctx, r, token)
}

func (a *api) once(ctx context.Context, r request, token tenant.Secret) (answer, error) {
	var body io.Reader
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return answer{}, tenant.Fail(tenant.CodeInternal, r.doing, err)
		}
		body = bytes.NewReader(text)
	}
	escaped := []string{a.config.URL, "admin", "realms", url.PathEscape(a.config.Realm)}
	for _, part := range r.path {
		escaped = append(escaped, url.PathEscape(part))
	}
	target := strings.Join(escaped, "/")
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return answer{}, tenant.Fail(tenant.CodeInvalidConfig, r.doing, err)
	}
	req.Header.Set("Authorization", "Bearer "+token.Reveal())
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return a.send(ctx, req)
}

// send is where the budget is kept.
func (a *api) send(ctx context.Context, req *http.Request) (answer, error) {
	select {
	case a.slots <- struct{}{}:
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
	defer func() { <-a.slots }()
	if err := a.pace.wait(ctx); err != nil {
		return answer{}, err
	}
	response, err := a.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }() // it was only read from
	body, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if err != nil {
		return answer{}, err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return answer{}, newStatusError(response, body, a.config.Now())
	}
	return answer{response.Header, body}, nil
}

// currentToken returns the service account's token. Callers wait for the one that fetches it.
func (a *api) currentToken(ctx context.Context) (tenant.Secret, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.config.Now().Before(a.expires.Add(-tokenMargin)) {
		return a.token, nil
	}
	token, lifetime, err := a.fetchToken(ctx)
	if err != nil {
		return tenant.Secret{}, err
	}
	now := a.config.Now()
	a.token, a.expires = token, now.Add(lifetime)
	if issued := issuedAt(token); !issued.IsZero() {
		a.ahead = issued.Sub(now.Truncate(time.Second))
	}
	return token, nil
}

// forget drops the token, unless somebody has renewed it already.
func (a *api) forget(token tenant.Secret) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.token.Reveal() == token.Reveal() {
		a.expires = time.Time{}
	}
}

func (a *api) fetchToken(ctx context.Context) (tenant.Secret, time.Duration, error) {
	const doing = "logging in to the identity provider as the service account"
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {a.config.ClientID},
		"client_secret": {a.config.ClientSecret.Reveal()},
	}
	target := a.config.URL + "/realms/" + url.PathEscape(a.config.Realm) + "/protocol/openid-connect/token"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(form.Encode()))
	if err != nil {
		return tenant.Secret{}, 0, tenant.Fail(tenant.CodeInvalidConfig, doing, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	got, err := a.send(ctx, req)
	if err != nil {
		return tenant.Secret{}, 0, tokenFailure(ctx, doing, err)
	}
	var said struct {
		Token   string `json:"access_token"`
		Seconds int64  `json:"expires_in"`
	}
	if err := json.Unmarshal(got.body, &said); err != nil || said.Token == "" {
		return tenant.Secret{}, 0, tenant.Fail(tenant.CodeInvalidConfig, doing,
			errors.New("the answer holds no token: is it a Keycloak server's URL?"))
	}
	return tenant.NewSecret(said.Token), time.Duration(said.Seconds) * time.Second, nil
}

// tokenFailure leaves the status out of the chain: it is no answer to the caller's own request. One that says "too busy"
// stays, so that it is waited for.
func tokenFailure(ctx context.Context, doing string, err error) error {
	status := statusOf(err)
	if status == 0 || status == http.StatusTooManyRequests || status >= 500 {
		return classify(ctx, doing, err)
	}
	failure := tenant.Fail(tenant.CodeInvalidConfig, doing, errors.New(err.Error()))
	failure.Remedy = remedyOf(http.StatusUnauthorized)
	if status == http.StatusNotFound {
		failure.Remedy = "Correct url and realm of the identity provider."
	}
	return failure
}

// issuedAt reads when the server issued a token (RFC 7519, section 4.1.6); the zero time if it is no such token.
func issuedAt(token tenant.Secret) time.Time {
	parts := strings.Split(token.Reveal(), ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	var claims struct {
		IssuedAt int64 `json:"iat"`
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(text, &claims) != nil || claims.IssuedAt == 0 {
		return time.Time{}
	}
	return time.Unix(claims.IssuedAt, 0)
}

// serverTime is the time by the server's clock, which its answers do not tell.
func (a *api) serverTime() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.config.Now().Add(a.ahead)
}
