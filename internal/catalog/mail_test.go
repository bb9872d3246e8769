package catalog_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/catalog"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func testOutboxBeforeMail(t *testing.T, s *system) {
	o := s.own(t, "acme")
	o.applied()
	require.Nil(t, o.claim(), "no mail before the pivot")
	require.True(t, o.pivot(o.request()))
	require.Nil(t, o.claim(), "no mail before the hostnames are open")
	require.Equal(t, catalog.MailWaiting, o.mail().State)
	o.acknowledge()
	require.Equal(t, catalog.MailDue, o.mail().State)
	mail := o.claim()
	require.NotNil(t, mail)
	require.Equal(t, catalog.MailClaimed, o.mail().State)
	require.NoError(t, o.MailSent(t.Context(), *mail))
	require.NoError(t, o.MailSent(t.Context(), *mail), "said twice")
	sent := o.mail()
	require.Equal(t, catalog.MailSent, sent.State)
	require.Equal(t, s.now(), sent.SentAt)
	require.False(t, sent.Uncertain)
	require.Nil(t, o.claim())

	held := s.online(t, "globex")
	require.NoError(t, held.Move(t.Context(), held.epoch, held.id, catalog.Suspended))
	held.acknowledge()
	require.Nil(t, held.claim(), "a suspended tenant is told nothing")
	require.NoError(t, held.Move(t.Context(), held.epoch, held.id, catalog.Offboarding))
	held.acknowledge()
	require.Equal(t, catalog.MailObsolete, held.mail().State)
	require.Nil(t, held.claim())
}

// testMailClaimedOnce: eight claimers on four handles; one gets it.
func testMailClaimedOnce(t *testing.T, s *system) {
	o := s.online(t, "acme")
	var (
		group   sync.WaitGroup
		claimed atomic.Int64
	)
	for range 4 {
		handle := s.open(t)
		for range 2 {
			group.Go(func() {
				mail, err := handle.ClaimMail(t.Context(), "", time.Minute)
				if err != nil {
					t.Error(err)
				}
				if mail != nil {
					claimed.Add(1)
				}
			})
		}
	}
	group.Wait()
	require.EqualValues(t, 1, claimed.Load())
	require.Equal(t, 1, o.mail().Attempts)
}

func testMailOfDeadClaimer(t *testing.T, s *system) {
	o := s.online(t, "acme")
	dead := o.claim()
	require.NotNil(t, dead)
	s.pass(time.Minute - time.Millisecond)
	require.Nil(t, o.claim(), "its time is not over")
	s.pass(time.Millisecond)
	require.Equal(t, catalog.MailUncertain, o.mail().State)
	next := o.claim()
	require.NotNil(t, next)
	require.Equal(t, dead.MessageID, next.MessageID)
	require.Equal(t, 2, next.Attempts)
	require.True(t, next.Uncertain)
	failure := &catalog.Failure{Code: tenant.CodeUnavailable}
	requireCode(t, tenant.CodeLeaseLost, o.MailSent(t.Context(), *dead))
	requireCode(t, tenant.CodeLeaseLost, o.MailFailed(t.Context(), *dead, failure, s.now()))
	requireCode(t, tenant.CodeLeaseLost, o.MailUncertain(t.Context(), *dead, failure, s.now()))
	require.NoError(t, o.MailSent(t.Context(), *next))
	require.True(t, o.mail().Uncertain, "there may be two copies")
	require.Equal(t, catalog.MailSent, o.mail().State)

	slow := s.online(t, "globex")
	mail := slow.claim()
	s.pass(time.Hour)
	require.NoError(t, slow.MailSent(t.Context(), *mail), "late, but nobody else has claimed it")
	require.Equal(t, catalog.MailSent, slow.mail().State)
}

func testMailTriedAgain(t *testing.T, s *system) {
	o := s.online(t, "acme")
	failure := &catalog.Failure{Code: tenant.CodeUnavailable, Message: "421 from mx.acme.example"}
	for attempt := range 3 {
		mail := o.claim()
		require.NotNil(t, mail)
		require.Equal(t, attempt+1, mail.Attempts)
		require.NoError(t, o.MailFailed(t.Context(), *mail, failure, s.now().Add(time.Minute)))
		got := o.mail()
		require.Equal(t, catalog.MailFailed, got.State)
		require.Equal(t, failure.Message, got.Detail)
		require.False(t, got.Uncertain)
		require.Equal(t, s.now().Add(time.Minute), got.NextAttempt)
		require.Nil(t, o.claim(), "not before its time")
		s.pass(time.Minute)
	}
	mail := o.claim()
	require.NoError(t, o.MailUncertain(t.Context(), *mail, failure, s.now()))
	require.Equal(t, catalog.MailUncertain, o.mail().State)
	mail = o.claim()
	require.NoError(t, o.MailFailed(t.Context(), *mail, failure, s.now()))
	require.Equal(t, catalog.MailUncertain, o.mail().State, "a doubt does not go away by failing")
	mail = o.claim()
	require.NoError(t, o.MailSent(t.Context(), *mail))
	require.Empty(t, o.mail().Detail)
}

func testMailResend(t *testing.T, s *system) {
	o := s.online(t, "acme")
	mail := o.claim()
	requireCode(t, tenant.CodeBusy, o.ResendMail(t.Context(), o.id, catalog.NewMail{Kind: "welcome"}))
	require.NoError(t, o.MailSent(t.Context(), *mail))
	requireCode(
		t,
		tenant.CodeInvalidConfig,
		o.ResendMail(t.Context(), o.id, catalog.NewMail{Kind: "invoice"}),
	)
	require.NoError(t, o.ResendMail(t.Context(), o.id, catalog.NewMail{Kind: "welcome"}))
	require.Equal(t, catalog.MailDue, o.mail().State)
	again := o.claim()
	require.NotNil(t, again)
	require.Equal(t, mail.MessageID, again.MessageID)
	require.NoError(
		t,
		o.MailFailed(t.Context(), *again, &catalog.Failure{Message: "x"}, s.now().Add(time.Hour)),
	)
	require.NoError(t, o.ResendMail(t.Context(), o.id, catalog.NewMail{Kind: "welcome"}))
	again = o.claim()
	require.NotNil(t, again, "it need not wait for its time")
	require.NoError(t, o.MailSent(t.Context(), *again))
	require.Contains(t, o.events(), catalog.EventMailResend)
}

func testMailCorrected(t *testing.T, s *system) {
	o := s.online(t, "acme")
	corrected := o.request()
	corrected.Mail.To, corrected.Mail.MessageID = "anna@acme.example", "<another@example.com>"
	mail := o.claim()
	require.False(t, o.pivot(corrected))
	require.Equal(t, "ann@acme.example", o.mail().To, "nobody changes what is being sent")
	require.NoError(t, o.MailFailed(t.Context(), *mail, &catalog.Failure{Message: "550"}, s.now()))
	require.False(t, o.pivot(corrected))
	mail = o.claim()
	require.Equal(t, "anna@acme.example", mail.To)
	require.Equal(t, "<acme@example.com>", mail.MessageID, "it is the same mail")
	require.NoError(t, o.MailSent(t.Context(), *mail))
	require.False(t, o.pivot(o.request()))
	require.Equal(t, "anna@acme.example", o.mail().To, "what was sent stays")
}

// testReclaimedMail: the next owner need not wait for the claim of one who died.
func testReclaimedMail(t *testing.T, s *system) {
	first := s.online(t, "acme")
	mail := first.claim()
	require.NotNil(t, mail)
	first.release()
	next := s.own(t, "acme")
	again, err := next.ClaimMail(t.Context(), "acme", time.Minute)
	require.NoError(t, err)
	require.Nil(t, again, "the claim still holds")
	err = next.ReclaimMails(t.Context(), first.epoch, "acme")
	require.True(t, tenant.HasCode(err, tenant.CodeLeaseLost), "only the owner may")
	require.NoError(t, next.ReclaimMails(t.Context(), next.epoch, "acme"))
	again = next.claim()
	require.NotNil(t, again)
	require.True(t, again.Uncertain, "nobody knows how the first attempt ended")
	require.Equal(t, mail.MessageID, again.MessageID)
	require.True(t, tenant.HasCode(first.MailSent(t.Context(), *mail), tenant.CodeLeaseLost))
	require.NoError(t, next.MailSent(t.Context(), *again))
}

func testMailsInOrder(t *testing.T, s *system) {
	for _, id := range []tenant.ID{"zeta", "acme", "mid"} {
		s.online(t, id)
		s.pass(time.Second)
	}
	c := s.open(t)
	for _, want := range []tenant.ID{"zeta", "acme", "mid"} {
		mail, err := c.ClaimMail(t.Context(), "", time.Minute)
		require.NoError(t, err)
		require.Equal(t, want, mail.Tenant, "the longest due one comes first")
	}
	mails, err := c.ListMails(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, mails, 3)
	require.Equal(t, tenant.ID("acme"), mails[0].Tenant)
	mails, err = c.ListMails(t.Context(), "mid")
	require.NoError(t, err)
	require.Len(t, mails, 1)
}
