package catalog_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/catalog"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func testDeclare(t *testing.T, s *system) {
	o := s.own(t, "acme")
	first := o.declare("pro")
	require.Equal(t, catalog.Provisioning, first.Status)
	require.EqualValues(t, 1, first.Generation)
	require.EqualValues(t, 1, first.Onboarding)
	require.Zero(t, first.ObservedGeneration)
	require.Equal(t, "pro", first.Plan)
	require.Equal(t, "Acme", first.DisplayName)
	require.JSONEq(t, string(spec("pro").Values), string(first.Spec))
	require.Equal(t, o.epoch, first.Epoch)
	require.Nil(t, first.Mail)
	require.Nil(t, first.Failure)
	require.Nil(t, first.Outputs)
	require.Len(t, first.Conditions, len(tenant.Steps()))
	for n, step := range tenant.Steps() {
		require.Equal(t, catalog.Condition{Step: step, Status: catalog.StepUnknown}, first.Conditions[n])
	}
	require.Equal(t, first, o.declare("pro"), "the same again changes nothing")
	require.Equal(t, first, o.get())
	second := o.declare("enterprise")
	require.EqualValues(t, 2, second.Generation)
	require.Equal(t, "enterprise", second.Plan)
	require.Equal(t, []catalog.EventKind{catalog.EventDeclared, catalog.EventDeclared}, o.events())
	spaced := spec("enterprise")
	spaced.Values = json.RawMessage(`{ "display_name": "Acme", "plan": "enterprise" }`)
	third, err := o.Declare(t.Context(), o.epoch, o.id, spaced)
	require.NoError(t, err)
	require.EqualValues(t, 2, third.Generation, "only the white space differs")
}

func testDeclareFailed(t *testing.T, s *system) {
	o := s.own(t, "acme")
	o.declare("pro")
	failed := catalog.Outcome{
		Failure: &catalog.Failure{Code: tenant.CodeUnavailable, Class: tenant.Retryable},
	}
	require.NoError(t, o.FinishRun(t.Context(), o.startRun(1), failed))
	require.Equal(t, catalog.Failed, o.get().Status)
	again := o.declare("pro")
	require.Equal(t, catalog.Provisioning, again.Status)
	require.EqualValues(t, 1, again.Attempts, "attempts are kept")
	require.EqualValues(t, 1, again.Generation)
}

func testAbsent(t *testing.T, s *system) {
	o := s.own(t, "acme")
	ctx := t.Context()
	_, err := o.Get(ctx, o.id)
	require.ErrorIs(t, err, tenant.ErrAbsent)
	_, err = o.StartRun(ctx, o.epoch, o.id, 1, "apply")
	require.ErrorIs(t, err, tenant.ErrAbsent)
	_, err = o.Pivot(ctx, o.epoch, o.id, catalog.PivotRequest{Generation: 1})
	require.ErrorIs(t, err, tenant.ErrAbsent)
	require.ErrorIs(t, o.Journal(o.epoch, o.id).Intent(ctx, tenant.Object{Name: "x"}), tenant.ErrAbsent)
	requireCode(t, tenant.CodeInvalidConfig, o.ResendMail(ctx, o.id, catalog.NewMail{Kind: "welcome"}))
	require.Nil(t, o.claim())
	all, err := o.List(ctx)
	require.NoError(t, err)
	require.Empty(t, all)
	require.Empty(t, o.events())
	_, err = o.Leases().Acquire(ctx, "../acme")
	requireCode(t, tenant.CodeInvalidTenantID, err)
}

// testLateOwner: an owner whose tenant was taken over can write nothing.
func testLateOwner(t *testing.T, s *system) {
	late := s.own(t, "acme")
	late.applied()
	run := late.startRun(1)
	request := late.request()
	late.release()
	heir := s.own(t, "acme")
	before := heir.get()
	ctx, o := t.Context(), tenant.Object{Tenant: "acme", Kind: tenant.KindDatabase, Name: "app"}

	_, err := late.Declare(ctx, late.epoch, late.id, spec("enterprise"))
	requireCode(t, tenant.CodeLeaseLost, err)
	_, err = late.StartRun(ctx, late.epoch, late.id, 1, "apply")
	requireCode(t, tenant.CodeLeaseLost, err)
	requireCode(t, tenant.CodeLeaseLost, late.FinishRun(ctx, run, ready()))
	requireCode(
		t,
		tenant.CodeLeaseLost,
		late.SetConditions(
			ctx,
			late.epoch,
			late.id,
			1,
			[]catalog.Condition{{Step: "seed", Status: catalog.StepFailed}},
		),
	)
	pivoted, err := late.Pivot(ctx, late.epoch, late.id, request)
	requireCode(t, tenant.CodeLeaseLost, err)
	require.False(t, pivoted)
	_, err = late.AwaitDomain(ctx, late.epoch, late.id, "www.acme.example", time.Hour)
	requireCode(t, tenant.CodeLeaseLost, err)
	requireCode(t, tenant.CodeLeaseLost, late.Move(ctx, late.epoch, late.id, catalog.Offboarding))
	journal := late.Journal(late.epoch, late.id)
	requireCode(t, tenant.CodeLeaseLost, journal.Intent(ctx, o))
	requireCode(t, tenant.CodeLeaseLost, journal.Created(ctx, o, "1"))
	requireCode(t, tenant.CodeLeaseLost, journal.Adopted(ctx, o, "1"))
	requireCode(t, tenant.CodeLeaseLost, journal.Removed(ctx, o))

	require.Equal(t, before, heir.get())
	require.True(t, heir.pivot(request), "the heir goes on")
}

func testCanceled(t *testing.T, s *system) {
	o := s.own(t, "acme")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := o.Declare(ctx, o.epoch, o.id, spec("pro"))
	requireCode(t, tenant.CodeCanceled, err)
	o.declare("pro")
	requireCode(t, tenant.CodeCanceled, o.Journal(o.epoch, o.id).Intent(ctx, tenant.Object{Name: "x"}))
	_, err = o.Get(ctx, o.id)
	requireCode(t, tenant.CodeCanceled, err)
}

func testHostileText(t *testing.T, s *system) {
	o := s.own(t, "acme")
	hostile := `Robert'); DROP TABLE tenants;-- "名前" $1 ?` + "\n\t\x01"
	values, err := json.Marshal(map[string]string{"display_name": hostile})
	require.NoError(t, err)
	_, err = o.Declare(
		t.Context(),
		o.epoch,
		o.id,
		catalog.Spec{Values: values, DisplayName: hostile, Plan: hostile},
	)
	require.NoError(t, err)
	outcome := catalog.Outcome{
		Changes: hostile,
		Failure: &catalog.Failure{Code: "x", Class: tenant.Terminal, Message: hostile, Remedy: hostile},
	}
	require.NoError(t, o.FinishRun(t.Context(), o.startRun(1), outcome))
	got := o.get()
	require.Equal(t, hostile, got.DisplayName)
	require.Equal(t, hostile, got.Plan)
	require.JSONEq(t, string(values), string(got.Spec))
	require.Equal(t, outcome.Failure, got.Failure)
	_, err = o.Declare(t.Context(), o.epoch, o.id, catalog.Spec{Values: json.RawMessage(`{`)})
	requireCode(t, tenant.CodeInternal, err)
}

func testDomainWait(t *testing.T, s *system) {
	o := s.own(t, "acme")
	o.applied()
	await := func(hostname string, wait time.Duration) time.Time {
		until, err := o.AwaitDomain(t.Context(), o.epoch, o.id, hostname, wait)
		require.NoError(t, err)
		return until
	}
	require.Equal(t, start(), await("www.acme.example", 0))
	require.Empty(t, o.get().WaitingFor, "nothing waits that does not wait")
	require.Equal(t, start().Add(time.Hour), await("www.acme.example", time.Hour))
	s.pass(10 * time.Minute)
	require.Equal(
		t,
		start().Add(time.Hour),
		await("www.acme.example", time.Hour),
		"counted from the first time",
	)
	require.Equal(
		t,
		start().Add(2*time.Hour),
		await("www.acme.example", 2*time.Hour),
		"another wait, the same begin",
	)
	waiting := o.get()
	require.Equal(t, "www.acme.example", waiting.WaitingFor)
	require.Equal(t, start().Add(2*time.Hour), waiting.WaitUntil)
	require.Equal(
		t,
		s.now().Add(time.Hour),
		await("shop.acme.example", time.Hour),
		"another hostname begins anew",
	)
	require.True(t, o.pivot(o.request()))
	require.Empty(t, o.get().WaitingFor)
	require.Zero(t, o.get().WaitUntil)
}

func testMove(t *testing.T, s *system) {
	o := s.online(t, "acme")
	for _, step := range []struct {
		to     catalog.Status
		orders []string
	}{
		{catalog.Suspended, []string{"suspended"}},
		{catalog.Suspended, nil},
		{catalog.Online, []string{"open"}},
		{catalog.Suspended, []string{"suspended"}},
		{catalog.Offboarding, []string{"suspended"}},
		{catalog.Offboarded, nil},
		{catalog.Offboarded, nil},
	} {
		require.NoError(t, o.Move(t.Context(), o.epoch, o.id, step.to))
		require.Equal(t, step.to, o.get().Status)
		orders, err := o.DueOutbox(t.Context(), o.id)
		require.NoError(t, err)
		var states []string
		for _, order := range orders {
			states = append(states, order.State)
			require.NoError(t, o.AckOutbox(t.Context(), order))
		}
		require.Equal(t, step.orders, states, "on the way to %s", step.to)
	}
	for _, to := range []catalog.Status{
		catalog.Online, catalog.Suspended, catalog.Offboarding, catalog.Failed, "odd",
	} {
		requireCode(t, tenant.CodeConflict, o.Move(t.Context(), o.epoch, o.id, to))
	}
}

func testAnotherOnboarding(t *testing.T, s *system) {
	o := s.online(t, "acme")
	require.NoError(t, o.MailSent(t.Context(), *o.claim()))
	require.NoError(t, o.Move(t.Context(), o.epoch, o.id, catalog.Offboarding))
	_, err := o.Declare(t.Context(), o.epoch, o.id, spec("pro"))
	requireCode(t, tenant.CodeConflict, err)
	require.NoError(t, o.Move(t.Context(), o.epoch, o.id, catalog.Offboarded))

	again := o.declare("pro")
	require.Equal(t, catalog.Provisioning, again.Status)
	require.EqualValues(t, 2, again.Onboarding)
	require.EqualValues(t, 2, again.Generation)
	require.Nil(t, again.Outputs)
	require.Nil(t, again.Mail)
	require.Zero(t, again.AnnouncedAt)
	for _, condition := range again.Conditions {
		require.Equal(t, catalog.StepUnknown, condition.Status)
	}
	o.applied()
	request := o.request()
	request.Mail.MessageID = "<second@example.com>"
	require.True(t, o.pivot(request))
	o.acknowledge()
	mail := o.claim()
	require.NotNil(t, mail)
	require.Equal(t, "<second@example.com>", mail.MessageID)
	require.NoError(t, o.MailSent(t.Context(), *mail))
	mails, err := o.ListMails(t.Context(), o.id)
	require.NoError(t, err)
	require.Len(t, mails, 2)
	require.Equal(t, "<acme@example.com>", mails[0].MessageID)
}
