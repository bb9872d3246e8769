package keycloak_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/keycloak"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

// scissors carries requests and loses the answer of the nth write: the server has done it, and nobody is told.
type scissors struct {
	mu    sync.Mutex
	cutAt int // counted from 1; 0 cuts nothing
	done  int // writes
	cut   string
}

var errCut = errors.New("connection cut")

func (s *scissors) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil || !strings.Contains(request.URL.Path, "/admin/") ||
		!slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodDelete}, request.Method) {
		return response, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	if s.done != s.cutAt {
		return response, nil
	}
	s.cut = request.Method + " " + request.URL.Path
	_, err = io.Copy(io.Discard, response.Body)
	return nil, errors.Join(errCut, err, response.Body.Close())
}

func through(transport http.RoundTripper) func(*keycloak.Config) {
	return func(config *keycloak.Config) { config.Transport = transport }
}

// TestCutConnections loses the answer of each write of a creation, a change and a deletion, one after the other. The same
// call again finds what the lost one has made.
func TestCutConnections(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	for n := 1; ; n++ {
		spec := specOf(tenant.ID(fmt.Sprintf("cut-%d", n)))
		journal, line := &tenanttest.Journal{}, &scissors{cutAt: n}
		backend := r.backend(t, through(line))
		again := func(work func() error) {
			t.Helper()
			if err := work(); err != nil {
				failure := tenant.FailureOf(err)
				require.Equal(t, tenant.CodeUnavailable, failure.Code, "after %s: %v", line.cut, err)
				require.Equal(t, tenant.Retryable, failure.Class)
				require.NoError(t, work(), "after %s", line.cut)
			}
		}
		ensureAgain := func() tenant.Identity {
			t.Helper()
			var got tenant.Identity
			again(func() (err error) {
				got, err = backend.Ensure(t.Context(), spec, journal)
				return err
			})
			journal.RequireSound(t)
			return got
		}
		first := ensureAgain()
		require.Len(t, journal.Made(), 3, "after %s: what a lost answer has made is ours", line.cut)
		spec.DisplayName, spec.Roles, spec.SecretVersion, spec.Enabled = "Other Ltd", []string{
			"other",
		}, 2, no()
		spec.Administrator = tenant.Administrator{
			Email: "grace@" + string(spec.Tenant) + ".example.com",
			Name:  "Grace Hopper",
		}
		second := ensureAgain()
		require.Equal(t, first.OrganizationID, second.OrganizationID)
		require.Equal(t, first.ApplicationID, second.ApplicationID)
		require.Nil(t, r.user(t, first.Administrator.Email))
		again(func() error {
			return backend.Delete(t.Context(), spec.Tenant, tenant.IdentityNames{}, journal)
		})
		require.Empty(t, journal.Made(), "after %s", line.cut)
		require.Nil(t, r.organization(t, named(spec.Tenant)))
		require.Nil(t, r.client(t, named(spec.Tenant)))
		require.Nil(t, r.user(t, spec.Administrator.Email))
		if line.cut == "" {
			require.Greater(t, n, 10, "an identity is more than a few writes")
			return
		}
	}
}

// TestServerDown has nobody answer: every operation is a failure that time may mend.
func TestServerDown(t *testing.T) {
	t.Parallel()
	backend := keycloak.New(keycloak.Config{
		URL: "http://127.0.0.1:1", Realm: "saas", ClientID: "a", ClientSecret: tenant.NewSecret("b"),
		Keyring: tenanttest.Keyring(t), ApplicationURL: applicationURL,
	})
	_, ensureErr := backend.Ensure(t.Context(), specOf("acme"), tenant.NoJournal{})
	_, readErr := backend.Read(t.Context(), "acme", tenant.IdentityNames{})
	deleteErr := backend.Delete(t.Context(), "acme", tenant.IdentityNames{}, tenant.NoJournal{})
	_, inviteErr := backend.Invite(t.Context(), "acme", tenant.IdentityNames{})
	_, listErr := backend.ListIdentities(t.Context())
	for _, err := range []error{ensureErr, readErr, deleteErr, inviteErr, listErr} {
		require.True(t, tenant.HasCode(err, tenant.CodeUnavailable), "of %v", err)
		require.NotErrorIs(t, err, tenant.ErrAbsent)
	}
}
