package keycloak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func decode(text []byte, into any) error { return json.Unmarshal(text, into) }

func errProfile(realm string) error {
	return fmt.Errorf("the realm %s does not keep the user attribute %q, which carries the mark: set "+
		"unmanagedAttributePolicy to ADMIN_EDIT in its user profile, or declare the attribute there", realm, userAttribute)
}

func errScope(realm string) error {
	return fmt.Errorf("the realm %s has no client scope %q: make it again", realm, scopeOrganization)
}

// offered refuses what this isolation does not have.
func (b *Backend) offered(spec tenant.IdentitySpec) error {
	if b.config.Isolation == Organization {
		return nil
	}
	return tenant.Fail(tenant.CodeInvalidConfig, "checking the identity of tenant "+string(spec.Tenant),
		fmt.Errorf("there is no isolation %q", b.config.Isolation))
}

// PlanIdentity says what Ensure would refuse.
func (b *Backend) PlanIdentity(ctx context.Context, spec tenant.IdentitySpec) ([]string, error) {
	if err := errors.Join(b.offered(spec), checkSpec(spec)); err != nil {
		return nil, err
	}
	if _, err := b.Read(ctx, spec.Tenant, spec.Names); !errors.Is(err, tenant.ErrAbsent) {
		return nil, err
	}
	return nil, nil
}
