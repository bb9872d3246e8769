package catalog_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/catalog"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func testPivot(t *testing.T, s *system) {
	o := s.own(t, "acme")
	o.applied()
	require.True(t, o.pivot(o.request()))
	got := o.get()
	require.Equal(t, catalog.Online, got.Status)
	require.Equal(t, s.now(), got.AnnouncedAt)
	require.NotNil(t, got.Mail)
	require.Equal(t, catalog.MailWaiting, got.Mail.State)
	require.JSONEq(t, output, string(got.Mail.Claims))
	orders, err := o.DueOutbox(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, orders, 1)
	require.Equal(t, tenant.ID("acme"), orders[0].Tenant)
	require.Equal(t, "open", orders[0].State)
	require.Equal(t, o.epoch, orders[0].Epoch)
	require.Equal(t, []catalog.EventKind{
		catalog.EventDeclared, catalog.EventRunStarted, catalog.EventRunSucceeded,
		catalog.EventStatus, catalog.EventGateOrdered, catalog.EventMailQueued,
	}, o.events())
}

// testPivotOnce: eight callers on four handles; one of them does it.
func testPivotOnce(t *testing.T, s *system) {
	o := s.own(t, "acme")
	o.applied()
	request := o.request()
	var (
		group   sync.WaitGroup
		pivoted atomic.Int64
	)
	for range 4 {
		handle := s.open(t)
		for n := range 2 {
			mine := request
			mine.Mail.MessageID = fmt.Sprintf("<%d@example.com>", n)
			group.Go(func() {
				did, err := handle.Pivot(t.Context(), o.epoch, o.id, mine)
				if err != nil {
					t.Error(err)
				}
				if did {
					pivoted.Add(1)
				}
			})
		}
	}
	group.Wait()
	require.EqualValues(t, 1, pivoted.Load())
	mails, err := o.ListMails(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, mails, 1)
	queued, opened := 0, 0
	for _, kind := range o.events() {
		switch kind {
		case catalog.EventMailQueued:
			queued++
		case catalog.EventGateOrdered:
			opened++
		}
	}
	require.Equal(t, 1, queued)
	require.Equal(t, 1, opened)
}

func testPivotNeedsSteps(t *testing.T, s *system) {
	o := s.own(t, "acme")
	o.declare("pro")
	for _, lacking := range tenant.Steps() {
		outcome := ready()
		for n := range outcome.Conditions {
			if outcome.Conditions[n].Step == lacking {
				outcome.Conditions[n].Status = catalog.StepProgressing
			}
		}
		require.NoError(t, o.FinishRun(t.Context(), o.startRun(1), outcome))
		pivoted, err := o.Pivot(t.Context(), o.epoch, o.id, o.request())
		requireCode(t, tenant.CodeConflict, err)
		require.ErrorContains(t, err, string(lacking))
		require.False(t, pivoted)
		require.Equal(t, catalog.Provisioning, o.get().Status)
		require.Nil(t, o.get().Mail)
	}
	fresh := s.own(t, "globex")
	fresh.declare("pro")
	_, err := fresh.Pivot(t.Context(), fresh.epoch, fresh.id, fresh.request())
	requireCode(t, tenant.CodeConflict, err)
}

func testPivotOlderGeneration(t *testing.T, s *system) {
	o := s.own(t, "acme")
	o.applied()
	old := o.request()
	o.declare("enterprise")
	_, err := o.Pivot(t.Context(), o.epoch, o.id, old)
	requireCode(t, tenant.CodeConflict, err)
	_, err = o.Pivot(t.Context(), o.epoch, o.id, o.request())
	requireCode(t, tenant.CodeConflict, err)
	require.ErrorContains(t, err, "not ready in generation 2")
}

func testPivotAgain(t *testing.T, s *system) {
	o := s.online(t, "acme")
	require.NoError(t, o.MailSent(t.Context(), *o.claim()))
	before := o.events()
	require.False(t, o.pivot(o.request()))
	require.Equal(t, before, o.events(), "the same again leaves no trace")

	due := func() int {
		orders, err := o.DueOutbox(t.Context(), o.id)
		require.NoError(t, err)
		o.acknowledge()
		return len(orders)
	}
	moved := o.request()
	moved.Hostname, moved.Outputs = "www.acme.example", json.RawMessage(`{"hostname":"www.acme.example"}`)
	require.False(t, o.pivot(moved))
	require.Equal(t, "www.acme.example", o.get().Hostname)
	require.JSONEq(t, `{"hostname":"www.acme.example"}`, string(o.get().Outputs))
	require.Equal(t, 1, due(), "a changed hostname is opened")
	require.False(t, o.pivot(moved))
	require.Zero(t, due())
	moved.Reopen = true
	require.False(t, o.pivot(moved))
	require.Equal(t, 1, due())
	require.Nil(t, o.claim(), "no second mail")
	mails, err := o.ListMails(t.Context(), o.id)
	require.NoError(t, err)
	require.Len(t, mails, 1)
	require.JSONEq(t, output, string(mails[0].Claims), "what was sent is kept as it was")

	require.NoError(t, o.Move(t.Context(), o.epoch, o.id, catalog.Suspended))
	o.acknowledge()
	require.False(t, o.pivot(o.request()))
	require.Zero(t, due(), "an apply opens no suspended tenant")
	require.Equal(t, catalog.Suspended, o.get().Status)
}

func testPivotSilent(t *testing.T, s *system) {
	o := s.own(t, "acme")
	o.applied()
	silent := o.request()
	silent.Mail = catalog.NewMail{}
	require.True(t, o.pivot(silent))
	require.Nil(t, o.get().Mail)
	require.Equal(t, catalog.Online, o.get().Status)
}

func testReplacedOrder(t *testing.T, s *system) {
	o := s.own(t, "acme")
	o.applied()
	require.True(t, o.pivot(o.request()))
	opening, err := o.DueOutbox(t.Context(), o.id)
	require.NoError(t, err)
	require.Len(t, opening, 1)
	require.NoError(t, o.Move(t.Context(), o.epoch, o.id, catalog.Suspended))
	require.NoError(t, o.AckOutbox(t.Context(), opening[0]))
	closing, err := o.DueOutbox(t.Context(), o.id)
	require.NoError(t, err)
	require.Len(t, closing, 1, "an answer to an older order is none to the newer one")
	require.Equal(t, "suspended", closing[0].State)
	for range 2 {
		require.NoError(t, o.AckOutbox(t.Context(), closing[0]))
	}
	moved := 0
	for _, kind := range o.events() {
		if kind == catalog.EventGateMoved {
			moved++
		}
	}
	require.Equal(t, 1, moved)
}
