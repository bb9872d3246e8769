package resources_test

import (
	"fmt"
	"testing"
	"time"

	acc "github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	domainAddress = "tenant_domain.this"
	ours          = "acme." + zone
	theirs        = "portal.acme.example"
)

func domainConfig(arguments string) string { return domainOf("this", "acme", arguments) }

func domainOf(name, id, arguments string) string {
	return fmt.Sprintf("resource \"tenant_domain\" %q {\n  tenant_id = %q\n  %s\n}\n", name, id, arguments)
}

var withTheirs = domainConfig(fmt.Sprintf("custom_hostname = %q", theirs))

// prove publishes what the tenant's claim asks its customer for.
func (w *world) prove(t *testing.T, id tenant.ID) {
	t.Helper()
	claim, err := w.bindings.ReadClaim(t.Context(), id, theirs)
	require.NoError(t, err)
	write(
		t,
		w.path("proofs.zone"),
		fmt.Sprintf("_tenant-challenge.%s. 300 IN CNAME %s.", theirs, claim.Target),
	)
}

func plans(attribute string, want knownvalue.Check) plancheck.PlanCheck {
	return plancheck.ExpectKnownValue(domainAddress, tfjsonpath.New(attribute), want)
}

func has(attribute string, want knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(domainAddress, tfjsonpath.New(attribute), want)
}

func texts(values ...string) knownvalue.Check {
	checks := make([]knownvalue.Check, 0, len(values))
	for _, value := range values {
		checks = append(checks, knownvalue.StringExact(value))
	}
	return knownvalue.ListExact(checks)
}

func text(value string) knownvalue.Check { return knownvalue.StringExact(value) }

func TestAccDomain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.run(
		t,
		acc.TestStep{
			Config: domainConfig(""),
			ConfigPlanChecks: planned(
				plans("active_hostname", text(ours)),
				plans("usable_hostnames", texts(ours)),
				plans("verification", text("none")),
				plans("required_records", texts()),
			),
		},
		acc.TestStep{
			Config: domainConfig("ttl = 60"),
			ConfigPlanChecks: planned(
				action(domainAddress, plancheck.ResourceActionUpdate),
				plans("active_hostname", text(ours)),
			),
		},
		acc.TestStep{
			PreConfig: func() {
				require.NoError(t, w.records.Delete(ctx, "acme", ours, "CNAME", tenant.NoJournal{}))
			},
			Config:           domainConfig("ttl = 60"),
			ConfigPlanChecks: planned(action(domainAddress, plancheck.ResourceActionUpdate)),
			Check: func(*terraformState) error {
				_, err := w.records.Read(ctx, "acme", ours, "CNAME")
				return err
			},
		},
		acc.TestStep{
			PreConfig: func() {
				require.NoError(t, w.bindings.DeleteBinding(ctx, "acme", ours, tenant.NoJournal{}))
				require.NoError(t, w.records.Ensure(ctx, "acme", tenant.Record{
					Name: ours, Type: "CNAME", Values: []string{"evil.example"}, TTL: time.Second,
				}, tenant.NoJournal{}))
			},
			Config:           domainConfig("ttl = 60"),
			ConfigPlanChecks: planned(action(domainAddress, plancheck.ResourceActionUpdate)),
			Check: func(*terraformState) error {
				record, err := w.records.Read(ctx, "acme", ours, "CNAME")
				require.Equal(t, []string{"edge." + zone}, record.Values)
				require.Equal(t, time.Minute, record.TTL)
				return err
			},
		},
		acc.TestStep{
			PreConfig: func() {
				require.NoError(t, w.meta.Backends.Domains.Delete(ctx, "acme", tenant.NoJournal{}))
			},
			Config:           domainConfig("ttl = 60"),
			ConfigPlanChecks: planned(action(domainAddress, plancheck.ResourceActionCreate)),
		},
		forget(domainAddress),
		acc.TestStep{
			Config:           domainConfig("ttl = 60"),
			ConfigPlanChecks: planned(action(domainAddress, plancheck.ResourceActionCreate)),
		},
		acc.TestStep{
			Config: domainOf("this", "globex", ""), PlanOnly: true,
			ExpectError: failsWith(tenant.CodeTenantIDChanged, "acme"),
		},
		acc.TestStep{
			PreConfig: func() {
				w.meta.Backends.Upstreams = map[string]string{"": "app:80", "pro": "pro:80"}
			},
			Config:           domainConfig(`plan = "pro"`),
			ConfigPlanChecks: planned(plans("upstream", text("pro:80"))),
			Check: func(*terraformState) error {
				binding, err := w.bindings.ReadBinding(ctx, "acme", ours)
				require.Equal(t, "pro:80", binding.Upstream)
				return err
			},
		},
	)
}

func TestAccDomainIsVerifiedByAPlannedChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(
		t,
		acc.TestStep{Config: domainConfig("")},
		acc.TestStep{
			Config: withTheirs,
			ConfigPlanChecks: planned(
				plancheck.ExpectUnknownValue(domainAddress, tfjsonpath.New("usable_hostnames")),
			),
			ConfigStateChecks: []statecheck.StateCheck{
				has(
					"verification",
					text("pending"),
				),
				has("active_hostname", text(ours)),
				has("usable_hostnames", texts(ours)),
				has("required_records", knownvalue.ListSizeExact(2)),
			},
		},
		acc.TestStep{
			PreConfig: func() { w.prove(t, "acme") },
			Config:    withTheirs,
			ConfigPlanChecks: planned(
				plans("verification", text("verified")),
				plans("active_hostname", text(theirs)),
				plans(
					"usable_hostnames",
					texts(ours, theirs),
				),
				plans("required_records", knownvalue.ListSizeExact(2)),
			),
		},
		acc.TestStep{PreConfig: func() { write(t, w.path("proofs.zone")) }, Config: withTheirs},
		forget(domainAddress),
		acc.TestStep{
			Config:            withTheirs,
			ConfigStateChecks: []statecheck.StateCheck{has("verification", text("verified"))},
		},
		acc.TestStep{
			PreConfig: func() {
				require.NoError(t, w.bindings.DeleteBinding(t.Context(), "acme", theirs, tenant.NoJournal{}))
			},
			Config: withTheirs,
			ConfigPlanChecks: planned(
				action(domainAddress, plancheck.ResourceActionUpdate),
				plans("verification", text("verified")),
			),
		},
		acc.TestStep{
			PreConfig: func() {
				require.NoError(t, w.bindings.DeleteBinding(t.Context(), "acme", theirs, tenant.NoJournal{}))
				require.NoError(t, w.bindings.GiveUp(t.Context(), "acme", theirs, tenant.NoJournal{}))
			},
			Config: withTheirs,
			ConfigPlanChecks: planned(
				plancheck.ExpectUnknownValue(domainAddress, tfjsonpath.New("verification")),
			),
			ConfigStateChecks: []statecheck.StateCheck{has("verification", text("pending"))},
		},
		acc.TestStep{
			Config: domainConfig(`custom_hostname = "other.acme.example"`),
			Check: func(*terraformState) error {
				claims, err := w.bindings.OpenClaims(t.Context(), "acme")
				require.Len(t, claims, 1)
				return err
			},
		},
		acc.TestStep{
			Config:           domainConfig(""),
			ConfigPlanChecks: planned(plans("verification", text("none"))),
			Check: func(*terraformState) error {
				claims, err := w.bindings.OpenClaims(t.Context(), "acme")
				require.Empty(t, claims)
				return err
			},
		},
	)
}

func TestAccDomainExpires(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(
		t,
		acc.TestStep{Config: withTheirs},
		acc.TestStep{
			PreConfig: func() { w.pass(71 * time.Hour) }, Config: withTheirs,
			ConfigStateChecks: []statecheck.StateCheck{has("verification", text("pending"))},
		},
		acc.TestStep{
			PreConfig: func() { w.pass(time.Hour) },
			Config:    withTheirs,
			ConfigPlanChecks: planned(
				plans("verification", text("expired")),
				plans("active_hostname", text(ours)),
			),
		},
		acc.TestStep{
			PreConfig: func() { w.prove(t, "acme") }, Config: withTheirs,
			ConfigPlanChecks: planned(plans("verification", text("verified"))),
		},
		acc.TestStep{
			Config: domainConfig("custom_hostname = \"late.acme.example\"\nverification_window = \"2h\""),
		},
		acc.TestStep{
			PreConfig: func() { w.pass(time.Hour) },
			Config: domainConfig(
				"custom_hostname = \"late.acme.example\"\nverification_window = \"30m\"",
			),
			ConfigStateChecks: []statecheck.StateCheck{has("verification", text("expired"))},
		},
	)
}

func TestAccDomainRivals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	both := withTheirs + domainOf("rival", "globex", fmt.Sprintf("custom_hostname = %q", theirs))
	w.run(
		t,
		acc.TestStep{Config: withTheirs, Check: func(*terraformState) error {
			require.Empty(t, w.warned())
			return nil
		}},
		acc.TestStep{Config: both, Check: func(*terraformState) error {
			require.Contains(t, w.warned(), "is claimed by tenant acme too")
			return nil
		}},
		acc.TestStep{
			PreConfig: func() { w.prove(t, "globex") },
			Config: domainOf(
				"rival",
				"globex",
				fmt.Sprintf("custom_hostname = %q", theirs),
			) + withTheirs,
			ExpectError: failsWith(tenant.CodeHostnameTaken, theirs, "globex"),
		},
		acc.TestStep{
			Config: domainConfig(
				"",
			) + domainOf(
				"rival",
				"globex",
				fmt.Sprintf("custom_hostname = %q", theirs),
			),
		},
		acc.TestStep{
			Config: both, PlanOnly: true, ExpectError: failsWith(tenant.CodeHostnameTaken, theirs, "globex"),
		},
	)
}

func TestAccDomainHostnameIsChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, hostname := range []string{zone, "portal." + zone, "localhost", "Portal.Example", "a..example", "*.acme.example", ""} {
		w.run(t, acc.TestStep{
			Config: domainConfig(fmt.Sprintf("custom_hostname = %q", hostname)), PlanOnly: true,
			ExpectError: failsWith(tenant.CodeHostnameForbidden),
		})
	}
	w.run(
		t,
		acc.TestStep{
			Config:      domainConfig("ttl = 0"),
			PlanOnly:    true,
			ExpectError: failsWith(tenant.CodeInvalidConfig, "ttl"),
		},
	)
}

func TestAccDomainRefusesForeignObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rogue, ctx := w.rogue(t), t.Context()
	evil := tenant.Record{Name: ours, Type: "A", Values: []string{"192.0.2.1"}, TTL: time.Minute}
	require.NoError(t, rogue.records.Ensure(ctx, "acme", evil, tenant.NoJournal{}))
	refused := acc.TestStep{
		Config:      domainConfig(""),
		PlanOnly:    true,
		ExpectError: failsWith(tenant.CodeForeign, ours),
	}
	w.run(t, refused)
	seen, err := rogue.records.Read(ctx, "acme", ours, "A")
	require.NoError(t, err)
	require.Equal(t, evil, seen)
	require.NoError(t, rogue.records.Delete(ctx, "acme", ours, "A", tenant.NoJournal{}))

	_, err = rogue.bindings.EnsureBinding(
		ctx,
		tenant.Binding{Hostname: ours, Tenant: "acme"},
		tenant.NoJournal{},
	)
	require.NoError(t, err)
	w.run(t, refused)
	_, err = rogue.bindings.ReadBinding(ctx, "acme", ours)
	require.NoError(t, err)
}
