package catalog

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	// insertMail relies on the primary key: an onboarding has one mail of a kind, whoever asks for it
	// again.
	insertMail = `INSERT INTO mails (tenant_id, kind, onboarding, message_id, recipient, recipient_name, claims,
 queued_ms, next_attempt_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
 ON CONFLICT (tenant_id, kind, onboarding) DO NOTHING`
	correctMail = `UPDATE mails SET recipient = $4, recipient_name = $5, claims = $6
 WHERE tenant_id = $1 AND kind = $2 AND onboarding = $3 AND sent_ms = 0
 AND (claim = '' OR next_attempt_ms <= $7)
 AND (recipient <> $4 OR recipient_name <> $5 OR claims <> $6)`
	selectMails = `SELECT m.tenant_id, m.kind, m.onboarding, m.message_id, m.recipient, m.recipient_name,
 m.claims, m.claim, m.attempts, m.uncertain, m.detail, m.queued_ms, m.next_attempt_ms, m.sent_ms,
 t.onboarding, t.status, COALESCE(o.acked_ms, 1)
 FROM mails m JOIN tenants t ON t.tenant_id = m.tenant_id LEFT JOIN outbox o ON o.tenant_id = m.tenant_id`
	selectMailsOfAll = selectMails + ` ORDER BY m.tenant_id, m.onboarding, m.kind`
	selectMailsOfOne = selectMails + ` WHERE m.tenant_id = $1 ORDER BY m.onboarding, m.kind`
	selectDue        = selectMails + ` WHERE m.sent_ms = 0 AND m.next_attempt_ms <= $1
 AND m.onboarding = t.onboarding AND t.status = 'online' AND COALESCE(o.acked_ms, 1) > 0`
	dueFirst     = ` ORDER BY m.next_attempt_ms, m.tenant_id LIMIT 1`
	selectDueAny = selectDue + dueFirst
	selectDueOne = selectDue + ` AND m.tenant_id = $2` + dueFirst

	ofMail    = ` WHERE tenant_id = $1 AND kind = $2 AND onboarding = $3`
	claimMail = `UPDATE mails SET claim = $4, attempts = attempts + 1, uncertain = $5,
 next_attempt_ms = $6` + ofMail
	sentMail  = `UPDATE mails SET sent_ms = $5, detail = ''` + ofMail + ` AND claim = $4 AND sent_ms = 0`
	retryMail = `UPDATE mails SET claim = '', next_attempt_ms = $5, detail = $6,
 uncertain = CASE WHEN $7 = 1 THEN 1 ELSE uncertain END` + ofMail + ` AND claim = $4 AND sent_ms = 0`
	reclaimMails = `UPDATE mails SET next_attempt_ms = $2
 WHERE tenant_id = $1 AND claim <> '' AND sent_ms = 0 AND next_attempt_ms > $2`
	hastenMails = `UPDATE mails SET next_attempt_ms = $2
 WHERE tenant_id = $1 AND claim = '' AND sent_ms = 0 AND next_attempt_ms > $2`
	resendMail = `UPDATE mails SET claim = '', sent_ms = 0, next_attempt_ms = $4, detail = '',
 recipient = CASE WHEN $5 = '' THEN recipient ELSE $5 END,
 recipient_name = CASE WHEN $5 = '' THEN recipient_name ELSE $6 END,
 claims = COALESCE((SELECT t.outputs FROM tenants t WHERE t.tenant_id = $1), claims)` + ofMail
)

func (t *txn) queue(ctx context.Context, r row, mail NewMail) error {
	queued, err := t.exec(
		ctx,
		insertMail,
		r.id,
		mail.Kind,
		r.onboarding,
		mail.MessageID,
		mail.To,
		mail.ToName,
		r.outputs,
		t.now,
	)
	if err != nil || queued == 0 {
		return err
	}
	return t.note(ctx, r, 0, EventMailQueued, "the "+mail.Kind+" mail")
}

// correct brings a mail up to date that is not sent and that nobody is sending.
func (t *txn) correct(ctx context.Context, r row, mail NewMail) error {
	changed, err := t.exec(ctx, correctMail, r.id, mail.Kind, r.onboarding,
		mail.To, mail.ToName, r.outputs, t.now)
	if err != nil || changed == 0 {
		return err
	}
	return t.note(ctx, r, 0, EventMailChanged, "the "+mail.Kind+" mail, before it was sent")
}

// scanMail reads one row of selectMails.
func (t *txn) scanMail(scan func(...any) error) (Mail, error) {
	var (
		mail                                     Mail
		claims, status                           string
		uncertain, queued, next, sent, now, open int64
	)
	err := scan(&mail.Tenant, &mail.Kind, &mail.Onboarding, &mail.MessageID, &mail.To, &mail.ToName, &claims,
		&mail.token, &mail.Attempts, &uncertain, &mail.Detail, &queued, &next, &sent, &now, &status, &open)
	mail.Claims, mail.Uncertain = document(claims), uncertain == 1
	mail.QueuedAt, mail.NextAttempt, mail.SentAt = timeOf(queued), timeOf(next), timeOf(sent)
	gone := mail.Onboarding != now || status == string(Offboarding) || status == string(Offboarded)
	mail.State = mail.state(t.now, gone, open == 0)
	return mail, err
}

func (m *Mail) state(now int64, gone, closed bool) MailState {
	claimed := m.token != ""
	switch {
	case !m.SentAt.IsZero():
		return MailSent
	case gone:
		return MailObsolete
	case claimed && m.NextAttempt.UnixMilli() > now:
		return MailClaimed
	case claimed, m.Uncertain:
		return MailUncertain
	case m.Attempts > 0 && m.Detail != "":
		return MailFailed
	case closed:
		return MailWaiting
	default:
		return MailDue
	}
}

// ClaimMail hands out the mail that has been due for longest, of one tenant or, with "", of any, and nobody
// else gets it for the given time; nil if none is due. A mail whose tenant's order to the edge is not
// acknowledged, or whose tenant is not Online, is not due. A claimer that died loses its mail when the time
// is over, and the mail then counts as uncertain.
func (c *Catalog) ClaimMail(ctx context.Context, id tenant.ID, visibility time.Duration) (*Mail, error) {
	var claimed *Mail
	err := c.store.write(ctx, "claiming a mail", func(ctx context.Context, t *txn) error {
		mail, err := t.dueMail(ctx, id)
		if mail == nil || err != nil {
			return err
		}
		if mail.token != "" {
			text := "the " + mail.Kind + " mail: whoever was sending it did not say how that ended"
			if err := t.note(ctx, mail.row(), 0, EventMailUncertain, text); err != nil {
				return err
			}
			mail.Uncertain = true
		}
		mail.token, mail.State = rand.Text(), MailClaimed
		mail.Attempts++
		mail.NextAttempt = timeOf(t.now + visibility.Milliseconds())
		_, err = t.exec(ctx, claimMail, string(mail.Tenant), mail.Kind, mail.Onboarding,
			mail.token, flag(mail.Uncertain), mail.NextAttempt.UnixMilli())
		claimed = mail
		return err
	})
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

// ReclaimMails ends the claims that earlier owners have made on the tenant's mails, so that ClaimMail hands them out at
// once. Whoever delivers a tenant's mail owns the tenant meanwhile: a new owner proves that the claimer is gone.
func (c *Catalog) ReclaimMails(ctx context.Context, epoch int64, id tenant.ID) error {
	doing := fmt.Sprintf("taking over the mails of tenant %s", id)
	return c.store.write(ctx, doing, func(ctx context.Context, t *txn) error {
		if _, err := t.owned(ctx, epoch, id); err != nil {
			return err
		}
		_, err := t.exec(ctx, reclaimMails, string(id), t.now)
		return err
	})
}

// HastenMails makes the tenant's mails due that wait for their next attempt.
func (c *Catalog) HastenMails(ctx context.Context, epoch int64, id tenant.ID) error {
	doing := fmt.Sprintf("trying the mails of tenant %s at once", id)
	return c.store.write(ctx, doing, func(ctx context.Context, t *txn) error {
		if _, err := t.owned(ctx, epoch, id); err != nil {
			return err
		}
		_, err := t.exec(ctx, hastenMails, string(id), t.now)
		return err
	})
}

func flag(set bool) int64 {
	if set {
		return 1
	}
	return 0
}

// row is what the history needs of a mail's tenant. Mails belong to no owner, hence to no epoch.
func (m *Mail) row() row { return row{id: string(m.Tenant), onboarding: m.Onboarding} }

func (t *txn) dueMail(ctx context.Context, id tenant.ID) (*Mail, error) {
	query, args := selectDueAny, []any{t.now}
	if id != "" {
		query, args = selectDueOne, []any{t.now, string(id)}
	}
	var due *Mail
	err := t.each(ctx, query+t.skip, args, func(scan func(...any) error) error {
		mail, err := t.scanMail(scan)
		due = &mail
		return err
	})
	return due, err
}

// MailSent records that the mail system took the mail. A claimer whose time was over and whose mail
// somebody else has claimed since is refused with tenant.CodeLeaseLost. Repeating it changes nothing.
func (c *Catalog) MailSent(ctx context.Context, mail Mail) error {
	late := false
	doing := fmt.Sprintf("recording that the %s mail of tenant %s is sent", mail.Kind, mail.Tenant)
	err := c.store.write(ctx, doing, func(ctx context.Context, t *txn) error {
		sent, err := t.exec(ctx, sentMail, string(mail.Tenant), mail.Kind, mail.Onboarding, mail.token, t.now)
		if err != nil {
			return err
		}
		if sent == 1 {
			return t.note(ctx, mail.row(), 0, EventMailSent,
				fmt.Sprintf("the %s mail, attempt %d, as %s", mail.Kind, mail.Attempts, mail.MessageID))
		}
		if late, err = t.late(ctx, mail); err != nil || !late {
			return err
		}
		return t.note(ctx, mail.row(), 0, EventMailUncertain, fmt.Sprintf(
			"the %s mail: attempt %d sent it after its time was over; another one sends it, too",
			mail.Kind, mail.Attempts))
	})
	if err == nil && late {
		return mail.lost(doing)
	}
	return err
}

// late reports whether the mail is not the claimer's any more.
func (t *txn) late(ctx context.Context, mail Mail) (bool, error) {
	var claim string
	err := t.one(ctx, `SELECT claim FROM mails`+ofMail,
		[]any{string(mail.Tenant), mail.Kind, mail.Onboarding}, &claim)
	if errors.Is(err, sql.ErrNoRows) {
		return false, tenant.ErrAbsent
	}
	return claim != mail.token, err
}

func (m *Mail) lost(doing string) error {
	return tenant.Fail(tenant.CodeLeaseLost, doing,
		errors.New("the time to send it was over, and the mail is not this sender's any more"))
}

// MailFailed records that the mail was not taken, and when to try again. Refused as MailSent is.
func (c *Catalog) MailFailed(ctx context.Context, mail Mail, failure *Failure, next time.Time) error {
	return c.retry(ctx, mail, failure, next, EventMailFailed)
}

// MailUncertain is MailFailed for a mail that may have been taken.
func (c *Catalog) MailUncertain(ctx context.Context, mail Mail, failure *Failure, next time.Time) error {
	return c.retry(ctx, mail, failure, next, EventMailUncertain)
}

func (c *Catalog) retry(
	ctx context.Context, mail Mail, failure *Failure, next time.Time, event EventKind,
) error {
	doing := fmt.Sprintf("recording that the %s mail of tenant %s is not sent", mail.Kind, mail.Tenant)
	f := columnsOf(failure)
	return c.store.write(ctx, doing, func(ctx context.Context, t *txn) error {
		kept, err := t.exec(ctx, retryMail, string(mail.Tenant), mail.Kind, mail.Onboarding, mail.token,
			next.UnixMilli(), f.message, flag(event == EventMailUncertain))
		if err != nil {
			return err
		}
		if kept == 0 {
			return mail.lost(doing)
		}
		return t.note(ctx, mail.row(), 0, event, fmt.Sprintf("the %s mail, attempt %d: %s; again at %s",
			mail.Kind, mail.Attempts, f.code, next.UTC().Format(time.RFC3339)))
	})
}

// ListMails returns the mails of one tenant or, with "", of all, ordered by tenant, onboarding and kind.
func (c *Catalog) ListMails(ctx context.Context, id tenant.ID) ([]Mail, error) {
	var mails []Mail
	err := c.store.read(ctx, "reading the mails", func(ctx context.Context, t *txn) (err error) {
		mails, err = t.mails(ctx, string(id))
		return err
	})
	return mails, err
}

func (t *txn) mails(ctx context.Context, id string) ([]Mail, error) {
	query, args := selectMailsOfAll, []any(nil)
	if id != "" {
		query, args = selectMailsOfOne, []any{id}
	}
	var mails []Mail
	err := t.each(ctx, query, args, func(scan func(...any) error) error {
		mail, err := t.scanMail(scan)
		mails = append(mails, mail)
		return err
	})
	return mails, err
}

// ResendMail makes the mail of the current onboarding due now, sent or not, under the same Message-ID, with what the last apply
// recorded. It goes to the recipient that again names, who may be another one by now; "" keeps the old one. A tenant that is
// Online without one, because it was taken over, gets its first. tenant.CodeInvalidConfig if there is none yet;
// tenant.CodeBusy while somebody is delivering it.
func (c *Catalog) ResendMail(ctx context.Context, id tenant.ID, again NewMail) error {
	doing := fmt.Sprintf("sending the %s mail of tenant %s again", again.Kind, id)
	return c.store.write(ctx, doing, func(ctx context.Context, t *txn) error {
		mails, err := t.mails(ctx, string(id))
		if err != nil {
			return err
		}
		for _, mail := range mails {
			if mail.Kind == again.Kind && mail.State != MailObsolete {
				return t.resend(ctx, doing, mail, again)
			}
		}
		var r row
		err = t.one(ctx, selectRow, []any{string(id)}, r.fields()...)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if r.status == string(Online) && again.MessageID != "" && again.To != "" {
			return t.queue(ctx, r, again)
		}
		return &tenant.Failure{
			Code:   tenant.CodeInvalidConfig,
			Doing:  doing,
			Err:    errors.New("there is none yet: it is written when the tenant goes Online"),
			Remedy: "See with `tenantctl status` what the tenant waits for; `tenantctl apply` sends its mail then.",
		}
	})
}

func (t *txn) resend(ctx context.Context, doing string, mail Mail, again NewMail) error {
	if mail.State == MailClaimed {
		return tenant.Fail(tenant.CodeBusy, doing, fmt.Errorf("it is being sent until %s at the latest",
			mail.NextAttempt.Format(time.RFC3339)))
	}
	_, err := t.exec(ctx, resendMail, string(mail.Tenant), mail.Kind, mail.Onboarding, t.now,
		again.To, again.ToName)
	if err != nil {
		return err
	}
	return t.note(ctx, mail.row(), 0, EventMailResend, "the "+mail.Kind+" mail, as "+mail.MessageID)
}
