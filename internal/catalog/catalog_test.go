package catalog_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/catalog"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

// TestMain lets this binary be the other process of a test: see other.
func TestMain(m *testing.M) {
	if os.Getenv(otherEnv) != "" {
		other(os.Stdout, os.Getenv(otherEnv), os.Args[1:])
		return
	}
	m.Run()
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	testCatalog(t, func(t *testing.T) *system {
		dir := t.TempDir()
		return &system{config: catalog.Config{
			Path: filepath.Join(dir, "catalog.db"), LockDir: filepath.Join(dir, "locks"),
		}}
	})
}

// testCatalog is what every database under a catalog must do. fresh returns an empty one.
func testCatalog(t *testing.T, fresh func(t *testing.T) *system) {
	t.Helper()
	t.Run("leases", func(t *testing.T) {
		t.Parallel()
		tenanttest.Leases(t, func(t *testing.T) (tenant.Leases, tenant.Leases) {
			s := fresh(t)
			return s.open(t).Leases(), s.open(t).Leases()
		})
	})
	t.Run("journal", func(t *testing.T) {
		t.Parallel()
		tenanttest.Journals(t, func(t *testing.T) tenanttest.OpenJournal { return openJournal(t, fresh(t)) })
	})
	for name, check := range map[string]func(t *testing.T, s *system){
		"declare":                          testDeclare,
		"declare a failed one":             testDeclareFailed,
		"absent":                           testAbsent,
		"late owner":                       testLateOwner,
		"canceled":                         testCanceled,
		"hostile text":                     testHostileText,
		"run":                              testRun,
		"failed run":                       testFailedRun,
		"failed run of an online one":      testFailedRunOnline,
		"abandoned run":                    testAbandonedRun,
		"older generation":                 testOlderGeneration,
		"conditions":                       testConditions,
		"pivot":                            testPivot,
		"pivot once":                       testPivotOnce,
		"pivot needs every step":           testPivotNeedsSteps,
		"pivot of an older generation":     testPivotOlderGeneration,
		"pivot of an online one":           testPivotAgain,
		"pivot without a mail":             testPivotSilent,
		"domain wait":                      testDomainWait,
		"move":                             testMove,
		"another onboarding":               testAnotherOnboarding,
		"outbox before mail":               testOutboxBeforeMail,
		"replaced order":                   testReplacedOrder,
		"mail claimed once":                testMailClaimedOnce,
		"mail of a dead claimer":           testMailOfDeadClaimer,
		"mail tried again":                 testMailTriedAgain,
		"mail sent again":                  testMailResend,
		"mail corrected before it is sent": testMailCorrected,
		"mails in order":                   testMailsInOrder,
		"reclaimed mail":                   testReclaimedMail,
		"journal of an onboarding":         testJournalOfOnboarding,
		"list":                             testList,
		"history":                          testHistory,
		"killed owner":                     testKilledOwner,
		"killed claimer":                   testKilledClaimer,
		"first migration":                  testFirstMigration,
		"many processes":                   testManyProcesses,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, fresh(t))
		})
	}
}

// system is one catalog that several handles and processes have open, and its clock.
type system struct {
	config catalog.Config

	mu      sync.Mutex
	forward time.Duration
}

// start is when the clock of every test stands at first.
func start() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func (s *system) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return start().Add(s.forward)
}

func (s *system) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forward += d
}

func (s *system) open(t *testing.T) *catalog.Catalog {
	t.Helper()
	config := s.config
	config.Now = s.now
	c, err := catalog.Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// owner is one who owns a tenant.
type owner struct {
	*catalog.Catalog
	t     *testing.T
	s     *system
	id    tenant.ID
	lease tenant.Lease
	epoch int64
}

func (s *system) own(t *testing.T, id tenant.ID) *owner {
	t.Helper()
	return s.ownBy(t, s.open(t), id)
}

func (s *system) ownBy(t *testing.T, c *catalog.Catalog, id tenant.ID) *owner {
	t.Helper()
	lease, err := c.Leases().Acquire(t.Context(), id)
	require.NoError(t, err)
	return &owner{Catalog: c, t: t, s: s, id: id, lease: lease, epoch: lease.Epoch()}
}

// release gives the tenant back and keeps the epoch: from now on the owner is a late one.
func (o *owner) release() {
	o.t.Helper()
	require.NoError(o.t, o.lease.Release())
}

func spec(plan string) catalog.Spec {
	return catalog.Spec{
		Values: json.RawMessage(
			`{"display_name":"Acme","plan":"` + plan + `"}`,
		),
		DisplayName: "Acme",
		Plan:        plan,
	}
}

func (o *owner) declare(plan string) catalog.Tenant {
	o.t.Helper()
	declared, err := o.Declare(o.t.Context(), o.epoch, o.id, spec(plan))
	require.NoError(o.t, err)
	return declared
}

func (o *owner) get() catalog.Tenant {
	o.t.Helper()
	got, err := o.Get(o.t.Context(), o.id)
	require.NoError(o.t, err)
	return got
}

func (o *owner) startRun(generation int64) catalog.Run {
	o.t.Helper()
	run, err := o.StartRun(o.t.Context(), o.epoch, o.id, generation, "apply")
	require.NoError(o.t, err)
	return run
}

const output = `{"hostname":"acme.example.com"}`

// ready is the outcome of a run that succeeded.
func ready() catalog.Outcome {
	outcome := catalog.Outcome{
		Changes:  "4 added, 0 changed, 0 removed",
		Outputs:  json.RawMessage(output),
		Hostname: "acme.example.com",
	}
	for _, step := range tenant.Steps() {
		outcome.Conditions = append(outcome.Conditions,
			catalog.Condition{Step: step, Status: catalog.StepReady, Reason: "Applied"})
	}
	return outcome
}

// applied declares the tenant and runs with success.
func (o *owner) applied() {
	o.t.Helper()
	declared := o.declare("pro")
	require.NoError(o.t, o.FinishRun(o.t.Context(), o.startRun(declared.Generation), ready()))
}

func (o *owner) request() catalog.PivotRequest {
	return catalog.PivotRequest{
		Generation: o.get().Generation, Outputs: json.RawMessage(output), Hostname: "acme.example.com",
		Mail: catalog.NewMail{
			Kind:      "welcome",
			MessageID: "<" + string(o.id) + "@example.com>",
			To:        "ann@acme.example",
			ToName:    "Ann",
		},
	}
}

func (o *owner) pivot(request catalog.PivotRequest) bool {
	o.t.Helper()
	pivoted, err := o.Pivot(o.t.Context(), o.epoch, o.id, request)
	require.NoError(o.t, err)
	return pivoted
}

func (o *owner) acknowledge() {
	o.t.Helper()
	orders, err := o.DueOutbox(o.t.Context(), o.id)
	require.NoError(o.t, err)
	for _, order := range orders {
		require.NoError(o.t, o.AckOutbox(o.t.Context(), order))
	}
}

// online onboards the tenant as far as its mail being due.
func (s *system) online(t *testing.T, id tenant.ID) *owner {
	t.Helper()
	o := s.own(t, id)
	o.applied()
	require.True(t, o.pivot(o.request()))
	o.acknowledge()
	return o
}

func (o *owner) claim() *catalog.Mail {
	o.t.Helper()
	mail, err := o.ClaimMail(o.t.Context(), o.id, time.Minute)
	require.NoError(o.t, err)
	return mail
}

func (o *owner) mail() catalog.Mail {
	o.t.Helper()
	mail := o.get().Mail
	require.NotNil(o.t, mail)
	return *mail
}

// events are the kinds of the tenant's history.
func (o *owner) events() []catalog.EventKind {
	o.t.Helper()
	history, err := o.History(o.t.Context(), o.id)
	require.NoError(o.t, err)
	kinds := make([]catalog.EventKind, 0, len(history))
	for _, event := range history {
		kinds = append(kinds, event.Kind)
	}
	return kinds
}

func requireCode(t *testing.T, code tenant.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, tenant.FailureOf(err).Code, "%v", err)
}

func openJournal(t *testing.T, s *system) tenanttest.OpenJournal {
	t.Helper()
	o := s.own(t, "acme")
	o.declare("pro")
	return tenanttest.OpenJournal{
		Tenant: o.id, Journal: o.Journal(o.epoch, o.id),
		Next: func(t *testing.T) tenant.Journal {
			t.Helper()
			o.release()
			next := s.own(t, "acme")
			return next.Journal(next.epoch, next.id)
		},
		Made: func(t *testing.T) map[tenant.Object]string {
			t.Helper()
			entries, err := o.Entries(context.WithoutCancel(t.Context()), o.id)
			require.NoError(t, err)
			made := map[tenant.Object]string{}
			for _, entry := range entries {
				if entry.State == catalog.JournalCreated {
					made[entry.Object] = entry.ExternalID
				}
			}
			return made
		},
	}
}
