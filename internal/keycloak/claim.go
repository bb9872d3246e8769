package keycloak

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// claims reports whether the spec takes over an object with that mark: only one that carries nobody's.
func (e *ensuring) claims(mark string) bool { return e.spec.Claim && mark == "" }

// claim marks the organization and the application of the names, and looks again: somebody else may have claimed them at
// the same time.
func (e *ensuring) claim(ctx context.Context) error {
	if !e.spec.Claim {
		return nil
	}
	o, a := e.seen.organization, e.seen.application
	if o.id == "" {
		return e.nothingToClaim()
	}
	if o.mark != "" && (a.id == "" || a.mark != "") {
		return nil
	}
	if o.mark == "" {
		o.mark, o.incarnation = e.config.Keyring.Mark(e.organizationObject()), strings.ToLower(rand.Text())
		o.call, o.application = e.spec.Administrator, e.names.Application
		if err := e.api.updateOrganization(ctx, o); err != nil {
			return err
		}
		tenant.Failpoint(ctx, "organization.claimed")
		e.seen.organization = o
	}
	if a.id != "" && a.mark == "" {
		want, err := e.wantedApplication()
		if err != nil {
			return err
		}
		want.enabled = a.enabled
		if err := e.api.updateApplication(ctx, want); err != nil {
			return err
		}
		tenant.Failpoint(ctx, "application.claimed")
	}
	return e.look(ctx)
}

func (e *ensuring) nothingToClaim() error {
	return tenant.Fail(tenant.CodeNotFound, "claiming the organization "+e.names.Organization,
		errors.New("there is no organization of that name"))
}
