package keycloak

import (
	"context"
	"errors"
	"maps"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// kindProvider is the kind of a tenant's own identity provider; the mark is made for it.
const kindProvider tenant.Kind = "identity_provider"

// The keys of an identity provider's configuration.
const (
	configIssuer   = "issuer"
	configClientID = "clientId"
	configSecret   = "clientSecret"
	// configSecretTag tells, only to us, which secret is stored: the server shows none.
	configSecretTag = "tenantry.secret_tag"
)

// provider is a tenant's own OpenID Connect provider as the realm knows it.
type provider struct {
	Alias          string            `json:"alias"`
	ProviderID     string            `json:"providerId"`
	Enabled        bool              `json:"enabled"`
	OrganizationID string            `json:"organizationId,omitempty"`
	Config         map[string]string `json:"config"`
}

func (p provider) sameConfig(q provider) bool {
	return p.Enabled == q.Enabled && p.Config[configIssuer] == q.Config[configIssuer] &&
		p.Config[configClientID] == q.Config[configClientID] && p.Config[configSecretTag] == q.Config[configSecretTag]
}

func providerObject(id tenant.ID, alias string) tenant.Object {
	return tenant.Object{Tenant: id, Kind: kindProvider, Name: alias}
}

// findProvider returns one without an alias if there is none.
func (a *api) findProvider(ctx context.Context, alias string) (provider, error) {
	var found provider
	err := a.get(
		ctx,
		"looking for the identity provider "+alias,
		&found,
		nil,
		"identity-provider",
		"instances",
		alias,
	)
	if absent(err) {
		return provider{}, nil
	}
	return found, err
}

// tellProvider is nil for a provider that is not ours, or that is linked to no organization or to another one.
func (b *Backend) tellProvider(id tenant.ID, seen observed) *tenant.SingleSignOn {
	p := seen.provider
	if p.Alias == "" || !p.Enabled || p.OrganizationID != seen.organization.id ||
		b.config.Keyring.Owns(providerObject(id, p.Alias), p.Config[attrMark]) != nil {
		return nil
	}
	return &tenant.SingleSignOn{Issuer: p.Config[configIssuer], ClientID: p.Config[configClientID]}
}

// settleProvider makes, changes or removes the tenant's own identity provider.
func (e *ensuring) settleProvider(ctx context.Context) error {
	if e.spec.SingleSignOn == nil {
		if e.seen.organization.provider == "" {
			return nil
		}
		if err := e.deleteProvider(ctx, e.spec.Tenant, e.seen.organization, e.journal); err != nil {
			return err
		}
		e.seen.provider = provider{}
		return e.nameProvider(ctx, "")
	}
	alias := e.names.Organization
	if err := e.nameProvider(ctx, alias); err != nil {
		return err
	}
	if err := e.writeProvider(ctx, alias); err != nil {
		return err
	}
	return e.linkProvider(ctx, alias)
}

// nameProvider writes down what the provider is called before it is made, so that it is always found again.
func (e *ensuring) nameProvider(ctx context.Context, alias string) error {
	want := e.seen.organization
	want.provider = alias
	if want.same(e.seen.organization) {
		return nil
	}
	if err := e.api.updateOrganization(ctx, want); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "identity_provider.named")
	e.seen.organization = want
	return nil
}

func (e *ensuring) writeProvider(ctx context.Context, alias string) error {
	found, err := e.api.findProvider(ctx, alias)
	if err != nil {
		return err
	}
	object := providerObject(e.spec.Tenant, alias)
	if found.Alias != "" {
		if err := e.config.Keyring.Owns(object, found.Config[attrMark]); err != nil {
			return err
		}
		e.seen.provider = found
		if err := e.journal.Adopted(ctx, object, alias); err != nil {
			return err
		}
		return e.changeProvider(ctx, found)
	}
	want, err := e.wantedProvider(ctx, provider{Alias: alias, ProviderID: "oidc"})
	if err != nil {
		return err
	}
	_, err = tenant.Make(ctx, e.journal, object, func(ctx context.Context) (string, error) {
		_, err := e.api.post(
			ctx,
			"creating the identity provider "+alias,
			want,
			"identity-provider",
			"instances",
		)
		if taken(err) {
			return alias, e.writeProvider(ctx, alias)
		}
		e.seen.provider = want
		return alias, err
	})
	return err
}

func (e *ensuring) changeProvider(ctx context.Context, found provider) error {
	want := found
	want.Config = maps.Clone(found.Config)
	want.Enabled = true
	want.Config[configIssuer], want.Config[configClientID] = e.spec.SingleSignOn.Issuer, e.spec.SingleSignOn.ClientID
	if secret := e.spec.SingleSignOn.ClientSecret.Reveal(); secret != "" {
		want.Config[configSecretTag] = e.secretTag()
	}
	if want.sameConfig(found) {
		return nil
	}
	want, err := e.wantedProvider(ctx, want)
	if err != nil {
		return err
	}
	err = e.api.put(
		ctx,
		"changing the identity provider "+found.Alias,
		want,
		"identity-provider",
		"instances",
		found.Alias,
	)
	tenant.Failpoint(ctx, "identity_provider.settled")
	return err
}

func (e *ensuring) secretTag() string {
	return e.config.Keyring.Tag(
		"single-sign-on",
		string(e.spec.Tenant),
		e.spec.SingleSignOn.ClientSecret.Reveal(),
	)
}

// wantedProvider has the server itself read the provider's endpoints (OpenID Connect Discovery 1.0, section 4).
func (e *ensuring) wantedProvider(ctx context.Context, want provider) (provider, error) {
	sso := e.spec.SingleSignOn
	doing := "reading the endpoints of " + sso.Issuer
	made, err := e.api.post(ctx, doing, map[string]string{
		"providerId": "oidc", "fromUrl": sso.Issuer + "/.well-known/openid-configuration",
	}, "identity-provider", "import-config")
	if err != nil {
		return provider{}, err
	}
	config := map[string]string{}
	if err := decode(made.body, &config); err != nil || config[configIssuer] != sso.Issuer {
		return provider{}, tenant.Fail(tenant.CodeInvalidConfig, doing,
			errors.Join(errors.New("what is found there is not this issuer's configuration"), err))
	}
	stored := want.Config
	want.Enabled, want.Config = true, config
	config[configClientID] = sso.ClientID
	config["clientAuthMethod"], config["syncMode"] = "client_secret_post", "IMPORT"
	config["pkceEnabled"], config["pkceMethod"] = "true", "S256"
	config[attrMark] = e.config.Keyring.Mark(providerObject(e.spec.Tenant, want.Alias))
	config[configSecret], config[configSecretTag] = stored[configSecret], stored[configSecretTag]
	if sso.ClientSecret.Reveal() != "" {
		config[configSecret], config[configSecretTag] = sso.ClientSecret.Reveal(), e.secretTag()
	}
	return want, nil
}

func (e *ensuring) linkProvider(ctx context.Context, alias string) error {
	id := e.seen.organization.id
	if e.seen.provider.OrganizationID == id {
		return nil
	}
	_, err := e.api.post(
		ctx,
		"linking the identity provider "+alias,
		alias,
		"organizations",
		id,
		"identity-providers",
	)
	if err != nil && !taken(err) {
		return err
	}
	tenant.Failpoint(ctx, "identity_provider.linked")
	return nil
}

// deleteProvider removes the provider that the organization names, if it is ours.
func (b *Backend) deleteProvider(
	ctx context.Context, id tenant.ID, found organization, journal tenant.Journal,
) error {
	if found.provider == "" {
		return nil
	}
	stored, err := b.api.findProvider(ctx, found.provider)
	if err != nil {
		return err
	}
	object := providerObject(id, found.provider)
	if stored.Alias != "" {
		if err := b.config.Keyring.Owns(object, stored.Config[attrMark]); errors.Is(err, tenant.ErrForeign) {
			return nil
		} else if err != nil {
			return err
		}
		err := b.api.remove(
			ctx,
			"deleting the identity provider "+stored.Alias,
			"identity-provider",
			"instances",
			stored.Alias,
		)
		if err != nil {
			return err
		}
		tenant.Failpoint(ctx, "identity_provider.deleted")
	}
	return journal.Removed(ctx, object)
}
