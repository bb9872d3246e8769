package catalog_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/catalog"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func testRun(t *testing.T, s *system) {
	o := s.own(t, "acme")
	o.declare("pro")
	_, err := o.StartRun(t.Context(), o.epoch, o.id, 2, "apply")
	requireCode(t, tenant.CodeConflict, err)
	run := o.startRun(1)
	require.Equal(t, catalog.RunRunning, run.Result)
	s.pass(time.Minute)
	outcome := ready()
	outcome.NextReconcile = s.now().Add(time.Hour)
	require.NoError(t, o.FinishRun(t.Context(), run, outcome))
	requireCode(t, tenant.CodeConflict, o.FinishRun(t.Context(), run, outcome))
	got := o.get()
	require.Equal(t, catalog.Provisioning, got.Status, "only the pivot sets a tenant online")
	require.EqualValues(t, 1, got.ObservedGeneration)
	require.JSONEq(t, output, string(got.Outputs))
	require.Equal(t, "acme.example.com", got.Hostname)
	require.Equal(t, s.now(), got.LastReconcile)
	require.Equal(t, s.now().Add(time.Hour), got.NextReconcile)
	for _, condition := range got.Conditions {
		require.Equal(t, catalog.StepReady, condition.Status)
		require.EqualValues(t, 1, condition.Generation)
	}
	runs, err := o.Runs(t.Context(), o.id)
	require.NoError(t, err)
	require.Equal(t, []catalog.Run{
		{
			ID:         run.ID,
			Tenant:     "acme",
			Generation: 1,
			Epoch:      o.epoch,
			Action:     "apply",
			Result:     catalog.RunSucceeded,
			Changes:    outcome.Changes,
			StartedAt:  start(),
			FinishedAt: start().Add(time.Minute),
		},
	}, runs)
}

func testFailedRun(t *testing.T, s *system) {
	o := s.own(t, "acme")
	o.applied()
	failure := &catalog.Failure{
		Code: tenant.CodeUnavailable, Class: tenant.Retryable, Step: tenant.StepIdentity,
		Message: "creating the organization of ann@acme.example: 503", Remedy: "Wait.",
	}
	for attempt := range int64(3) {
		require.NoError(t, o.FinishRun(t.Context(), o.startRun(1), catalog.Outcome{Failure: failure}))
		got := o.get()
		require.Equal(t, catalog.Failed, got.Status)
		require.Equal(t, failure, got.Failure)
		require.Equal(t, attempt+1, got.Attempts)
		require.JSONEq(t, output, string(got.Outputs), "a failed run takes nothing away")
	}
	_, err := o.Pivot(t.Context(), o.epoch, o.id, o.request())
	requireCode(t, tenant.CodeConflict, err)
	run := o.startRun(1)
	require.Equal(t, catalog.Provisioning, o.get().Status)
	require.NoError(t, o.FinishRun(t.Context(), run, ready()))
	require.Nil(t, o.get().Failure)
	require.Zero(t, o.get().Attempts)
	history, err := o.History(t.Context(), o.id)
	require.NoError(t, err)
	told := 0
	for _, event := range history {
		require.NotContains(t, event.Text, "ann@acme.example", "what can't be erased names no person")
		if event.Kind == catalog.EventRunFailed {
			told++
			require.Equal(t, failure.Message, event.Detail)
		}
	}
	require.Equal(t, 3, told)
}

func testFailedRunOnline(t *testing.T, s *system) {
	o := s.online(t, "acme")
	failed := catalog.Outcome{
		Failure: &catalog.Failure{Code: tenant.CodeUnavailable, Class: tenant.Retryable},
	}
	require.NoError(t, o.FinishRun(t.Context(), o.startRun(1), failed))
	got := o.get()
	require.Equal(t, catalog.Online, got.Status)
	require.NotNil(t, got.Failure)
}

func testAbandonedRun(t *testing.T, s *system) {
	dead := s.own(t, "acme")
	dead.declare("pro")
	first := dead.startRun(1)
	dead.release()
	heir := s.own(t, "acme")
	second := heir.startRun(1)
	require.NoError(t, heir.FinishRun(t.Context(), second, ready()))
	runs, err := heir.Runs(t.Context(), heir.id)
	require.NoError(t, err)
	require.Len(t, runs, 2)
	require.Equal(t, first.ID, runs[0].ID)
	require.Equal(t, catalog.RunAbandoned, runs[0].Result)
	require.Equal(t, catalog.RunSucceeded, runs[1].Result)
	require.Contains(t, heir.events(), catalog.EventRunAbandoned)
}

// testOlderGeneration: what a run found out about an older spec says nothing about the current one.
func testOlderGeneration(t *testing.T, s *system) {
	for _, outcome := range []catalog.Outcome{
		ready(),
		{
			Failure:    &catalog.Failure{Code: tenant.CodeInternal, Class: tenant.Terminal},
			Conditions: []catalog.Condition{{Step: tenant.StepSeed, Status: catalog.StepFailed}},
		},
	} {
		o := s.own(t, "acme")
		o.declare("pro")
		run := o.startRun(o.get().Generation)
		newer := o.declare("enterprise")
		require.NoError(t, o.FinishRun(t.Context(), run, outcome))
		got := o.get()
		require.Equal(t, newer, got)
		require.NoError(t, o.SetConditions(t.Context(), o.epoch, o.id, run.Generation, ready().Conditions))
		require.Equal(t, newer, o.get())
		runs, err := o.Runs(t.Context(), o.id)
		require.NoError(t, err)
		require.False(t, runs[len(runs)-1].FinishedAt.IsZero())
		require.NoError(t, o.FinishRun(t.Context(), o.startRun(newer.Generation), ready()))
		require.Equal(t, newer.Generation, o.get().ObservedGeneration)
		o.release()
	}
}

func testConditions(t *testing.T, s *system) {
	o := s.own(t, "acme")
	o.declare("pro")
	set := func(status catalog.StepStatus, message string) catalog.Condition {
		condition := catalog.Condition{Step: tenant.StepDomain, Status: status, Reason: "R", Message: message}
		odd := catalog.Condition{Step: "storage", Status: catalog.StepReady}
		require.NoError(
			t,
			o.SetConditions(t.Context(), o.epoch, o.id, 1, []catalog.Condition{odd, condition}),
		)
		got := o.get().Conditions
		require.Len(t, got, len(tenant.Steps())+1)
		require.Equal(t, tenant.Step("storage"), got[len(got)-1].Step, "an unknown step comes last")
		require.Equal(t, tenant.StepDomain, got[1].Step)
		return got[1]
	}
	require.Equal(t, start(), set(catalog.StepProgressing, "").Since)
	s.pass(time.Minute)
	require.Equal(t, start(), set(catalog.StepProgressing, "waiting").Since, "since is about the status")
	require.Equal(t, "waiting", set(catalog.StepProgressing, "waiting").Message)
	require.Equal(t, s.now(), set(catalog.StepReady, "").Since)
}
