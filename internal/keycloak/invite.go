package keycloak

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// InvitationLifetime is for how long a link that the server mails by itself stays valid.
const InvitationLifetime = 7 * 24 * time.Hour

// Invite returns the application's plain address: it carries no secret, never expires, and is right for a person who has
// an account already. There the person chooses "Forgot password?", and the server mails the way in. It fails with
// CodeInvalidConfig if the realm is seen to offer no such way.
func (b *Backend) Invite(
	ctx context.Context, id tenant.ID, names tenant.IdentityNames,
) (tenant.Invitation, error) {
	seen, err := b.invited(ctx, id, names)
	if err != nil {
		return tenant.Invitation{}, err
	}
	realm, err := b.api.realm(ctx)
	if err != nil {
		return tenant.Invitation{}, err
	}
	if realm.visible() && len(realm.noWayIn()) > 0 {
		return tenant.Invitation{}, tenant.Fail(tenant.CodeInvalidConfig,
			"inviting the administrator of "+seen.Organization, errors.Join(realm.noWayIn()...))
	}
	return tenant.Invitation{Link: tenant.NewSecret(b.config.ApplicationURL(id)), Reset: true}, nil
}

// invited is the tenant's identity, which has an administrator; otherwise ErrAbsent.
func (b *Backend) invited(
	ctx context.Context, id tenant.ID, names tenant.IdentityNames,
) (tenant.Identity, error) {
	seen, err := b.Read(ctx, id, names)
	if err == nil && seen.AdministratorID == "" {
		err = tenant.ErrAbsent
	}
	return seen, err
}

// MailInvitation has the server mail a link with which the administrator sets a password. It works in realms that allow
// no reset of passwords, too. Links of earlier mails stay valid until they expire.
func (b *Backend) MailInvitation(ctx context.Context, id tenant.ID, names tenant.IdentityNames) error {
	seen, err := b.invited(ctx, id, names)
	if err != nil {
		return err
	}
	doing := "having the administrator of " + seen.Organization + " mailed a way in"
	if len(seen.RedirectURIs) == 0 {
		return tenant.Fail(
			tenant.CodeInvalidConfig,
			doing,
			errors.New("the application has no redirect URI yet"),
		)
	}
	_, err = b.api.do(ctx, request{
		doing:  doing,
		method: http.MethodPut,
		path:   []string{"users", seen.AdministratorID, "execute-actions-email"},
		query: url.Values{
			"client_id": {seen.ClientID}, "redirect_uri": {seen.RedirectURIs[0]},
			"lifespan": {strconv.Itoa(int(InvitationLifetime / time.Second))},
		},
		body: []string{"UPDATE_PASSWORD"},
	})
	return err
}
