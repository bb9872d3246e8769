package tenanttest

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Edge is what the suite for bindings asks of a handle on the edge's table.
type Edge interface {
	tenant.Bindings
	tenant.BindingLister
	tenant.Gate
}

// BindingsWorld is an empty table of bindings for one test.
type BindingsWorld struct {
	// Open returns a handle of its own on the table, as another process has it.
	Open func(ring *tenant.Keyring) Edge
	// Forge puts a row into the table as somebody else would; installation, tenant and mark are what the row says.
	Forge func(t testing.TB, installation, mark string, binding tenant.Binding)
	// Rows returns all rows, in any form that shows each change of a row.
	Rows func(t testing.TB) []string
}

// Bindings runs the suite for tenant.Bindings, tenant.BindingLister and tenant.Gate on worlds that fresh makes.
func Bindings(t *testing.T, fresh func(t testing.TB) BindingsWorld) {
	t.Helper()
	cases := map[string]func(t *testing.T, w BindingsWorld){
		"bind, read, unbind":     bindingsLife,
		"update keeps the state": bindingsUpdate,
		"refuse foreign":         bindingsForeign,
		"two creators":           bindingsTwoCreators,
		"two rivals":             bindingsTwoRivals,
		"twenty at once":         bindingsTwenty,
		"long and hostile names": bindingsHostile,
		"listing":                bindingsListing,
		"gate":                   bindingsGate,
		"gate and epochs":        bindingsEpochs,
		"gate and foreign rows":  bindingsGateForeign,
		"key rotation":           bindingsRotation,
	}
	for name, run := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, fresh(t))
		})
	}
	t.Run("crash", func(t *testing.T) {
		t.Parallel()
		bindingsCrash(t, fresh)
	})
}

func (w BindingsWorld) ours(tb testing.TB) Edge {
	tb.Helper()
	return w.Open(Keyring(tb))
}

func (w BindingsWorld) bind(tb testing.TB, hostname string, id tenant.ID) tenant.Binding {
	tb.Helper()
	bound, err := w.ours(tb).EnsureBinding(tb.Context(),
		tenant.Binding{Hostname: hostname, Tenant: id, Upstream: "app:80"}, tenant.NoJournal{})
	require.NoError(tb, err)
	return bound
}

// requireSame runs work and requires that it changed no row.
func (w BindingsWorld) requireSame(tb testing.TB, work func()) {
	tb.Helper()
	before := w.Rows(tb)
	work()
	require.Equal(tb, before, w.Rows(tb))
}

func bindingsLife(t *testing.T, w BindingsWorld) {
	edge, journal, hostname := w.ours(t), &Journal{}, "acme.app.example"
	object := tenant.Object{Tenant: "acme", Kind: tenant.KindBinding, Name: hostname}
	_, err := edge.ReadBinding(t.Context(), "acme", hostname)
	require.ErrorIs(t, err, tenant.ErrAbsent)
	require.NoError(t, edge.DeleteBinding(t.Context(), "acme", hostname, tenant.NoJournal{}))

	want := tenant.Binding{
		Hostname: hostname,
		Tenant:   "acme",
		Upstream: "10.0.0.1:8080",
		State:    tenant.BindingOpen,
	}
	bound, err := edge.EnsureBinding(t.Context(), want, journal)
	require.NoError(t, err)
	want.State = tenant.BindingHolding
	require.Equal(t, want, bound, "a new binding is holding, whatever is asked for")
	require.Equal(t, []string{"intent " + object.String(), "created " + object.String()}, journal.Events)
	w.requireSame(t, func() {
		again := &Journal{}
		bound, err := w.ours(t).EnsureBinding(t.Context(), want, again)
		require.NoError(t, err)
		require.Equal(t, want, bound)
		require.Equal(t, []string{"adopted " + object.String()}, again.Events)
		seen, err := w.ours(t).ReadBinding(t.Context(), "acme", hostname)
		require.NoError(t, err)
		require.Equal(t, want, seen)
	})
	require.NoError(t, edge.DeleteBinding(t.Context(), "acme", hostname, journal))
	require.Empty(t, w.Rows(t))
	require.Empty(t, journal.Made())
	_, err = edge.ReadBinding(t.Context(), "acme", hostname)
	require.ErrorIs(t, err, tenant.ErrAbsent)
	require.NoError(t, edge.DeleteBinding(t.Context(), "acme", hostname, journal))
	journal.RequireSound(t)
}

func bindingsUpdate(t *testing.T, w BindingsWorld) {
	edge := w.ours(t)
	bound := w.bind(t, "acme.app.example", "acme")
	_, err := edge.SetGate(t.Context(), "acme", tenant.BindingOpen, 1)
	require.NoError(t, err)
	bound.Upstream, bound.State = "other:81", tenant.BindingHolding
	bound, err = edge.EnsureBinding(t.Context(), bound, tenant.NoJournal{})
	require.NoError(t, err)
	require.Equal(t, tenant.BindingOpen, bound.State, "an upstream moved the state")
	seen, err := w.ours(t).ReadBinding(t.Context(), "acme", "acme.app.example")
	require.NoError(t, err)
	require.Equal(t, bound, seen)
}

// bindingsForeign: no mark, a neighbour's, another tenant's, a copied one, and a right one on a row that says something else.
func bindingsForeign(t *testing.T, w BindingsWorld) {
	hostname := "acme.app.example"
	object := tenant.Object{Tenant: "acme", Kind: tenant.KindBinding, Name: hostname}
	elsewhere := object
	elsewhere.Name = "other.app.example"
	row := tenant.Binding{Hostname: hostname, Tenant: "acme", Upstream: "evil:1", State: tenant.BindingOpen}
	another := row
	another.Tenant = "beta"
	cases := []struct {
		name, installation, mark string
		row                      tenant.Binding
	}{
		{"no mark", Installation, "", row},
		{"a neighbour's", "test-us", KeyringOf(t, "test-us").Mark(object), row},
		{"copied", Installation, Keyring(t).Mark(elsewhere), row},
		{
			"another tenant",
			Installation,
			Keyring(t).Mark(tenant.Object{Tenant: "beta", Kind: tenant.KindBinding, Name: hostname}),
			another,
		},
		{"a mark that the row belies", Installation, Keyring(t).Mark(object), another},
	}
	for _, c := range cases {
		w.Forge(t, c.installation, c.mark, c.row)
		w.requireSame(t, func() {
			edge, journal := w.ours(t), &Journal{}
			_, err := edge.EnsureBinding(
				t.Context(),
				tenant.Binding{Hostname: hostname, Tenant: "acme"},
				journal,
			)
			requireForeign(t, err, hostname)
			_, err = edge.ReadBinding(t.Context(), "acme", hostname)
			requireForeign(t, err, hostname)
			requireForeign(t, edge.DeleteBinding(t.Context(), "acme", hostname, journal), hostname)
			require.Empty(t, journal.Events, c.name)
		})
	}
}

func bindingsTwoCreators(t *testing.T, w BindingsWorld) {
	errs := allAtOnce(2, func(int) error {
		_, err := w.ours(t).EnsureBinding(context.Background(),
			tenant.Binding{Hostname: "acme.app.example", Tenant: "acme"}, &Journal{})
		return err
	})
	require.Equal(t, []error{nil, nil}, errs)
	require.Len(t, w.Rows(t), 1)
}

func bindingsTwoRivals(t *testing.T, w BindingsWorld) {
	ids := []tenant.ID{"acme", "beta"}
	errs := allAtOnce(2, func(n int) error {
		_, err := w.ours(t).EnsureBinding(context.Background(),
			tenant.Binding{Hostname: "www.customer.example", Tenant: ids[n]}, tenant.NoJournal{})
		return err
	})
	winners := 0
	for n, err := range errs {
		if err == nil {
			winners++
			continue
		}
		requireForeign(t, err, "www.customer.example")
		_, err = w.ours(t).ReadBinding(t.Context(), ids[1-n], "www.customer.example")
		require.NoError(t, err)
	}
	require.Equal(t, 1, winners)
}

func bindingsTwenty(t *testing.T, w BindingsWorld) {
	shared := w.ours(t)
	errs := allAtOnce(20, func(n int) error {
		edge, id := shared, tenant.ID(fmt.Sprintf("t%d", n))
		if n%2 == 0 {
			edge = w.ours(t)
		}
		hostname := string(id) + ".app.example"
		if _, err := edge.EnsureBinding(context.Background(),
			tenant.Binding{Hostname: hostname, Tenant: id}, tenant.NoJournal{}); err != nil {
			return err
		}
		_, err := edge.SetGate(context.Background(), id, tenant.BindingOpen, 1)
		return err
	})
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Len(t, w.Rows(t), 20)
}

func bindingsHostile(t *testing.T, w BindingsWorld) {
	first, second := LongIDs()
	for _, id := range []tenant.ID{first, second} {
		w.bind(t, string(id)+".app.example", id)
	}
	w.bind(t, "x'; DROP TABLE bindings; --", first)
	w.bind(t, "%", second)
	require.Len(t, w.Rows(t), 4)
	moved, err := w.ours(t).SetGate(t.Context(), first, tenant.BindingOpen, 1)
	require.NoError(t, err)
	require.Len(t, moved, 2)
	seen, err := w.ours(t).ReadBinding(t.Context(), second, "%")
	require.NoError(t, err)
	require.Equal(t, tenant.BindingHolding, seen.State)
}

func bindingsListing(t *testing.T, w BindingsWorld) {
	found, err := w.ours(t).ListBindings(t.Context())
	require.NoError(t, err)
	require.Empty(t, found)
	first, second := w.bind(t, "a.example", "acme"), w.bind(t, "b.example", "acme")
	third := w.bind(t, "c.example", "beta")
	_, err = w.Open(KeyringOf(t, "test-us")).EnsureBinding(t.Context(),
		tenant.Binding{Hostname: "d.example", Tenant: "acme"}, tenant.NoJournal{})
	require.NoError(t, err)
	w.Forge(
		t,
		Installation,
		"",
		tenant.Binding{Hostname: "e.example", Tenant: "acme", State: tenant.BindingOpen},
	)
	found, err = w.ours(t).ListBindings(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[tenant.ID][]tenant.Binding{"acme": {first, second}, "beta": {third}}, found)
}

func bindingsGate(t *testing.T, w BindingsWorld) {
	edge := w.ours(t)
	moved, err := edge.SetGate(t.Context(), "acme", tenant.BindingOpen, 1)
	require.NoError(t, err, "a tenant without hostnames")
	require.Empty(t, moved)
	w.bind(t, "b.example", "acme")
	w.bind(t, "a.example", "acme")
	other := w.bind(t, "c.example", "beta")
	for _, state := range []tenant.BindingState{tenant.BindingOpen, tenant.BindingSuspended, tenant.BindingHolding} {
		moved, err = edge.SetGate(t.Context(), "acme", state, 1)
		require.NoError(t, err)
		require.Equal(t, []string{"a.example", "b.example"}, moved)
		w.requireSame(t, func() {
			moved, err = w.ours(t).SetGate(t.Context(), "acme", state, 1)
			require.NoError(t, err)
			require.Empty(t, moved)
		})
		seen, err := edge.ReadBinding(t.Context(), "acme", "b.example")
		require.NoError(t, err)
		require.Equal(t, state, seen.State)
	}
	seen, err := edge.ReadBinding(t.Context(), "beta", "c.example")
	require.NoError(t, err)
	require.Equal(t, other, seen)
	_, err = edge.SetGate(t.Context(), "acme", "ajar", 1)
	require.Error(t, err)
}

// bindingsEpochs: an owner that lost its tenant moves nothing any more.
func bindingsEpochs(t *testing.T, w BindingsWorld) {
	w.bind(t, "acme.app.example", "acme")
	_, err := w.ours(t).SetGate(t.Context(), "acme", tenant.BindingOpen, 7)
	require.NoError(t, err)
	w.requireSame(t, func() {
		_, err := w.ours(t).SetGate(t.Context(), "acme", tenant.BindingSuspended, 6)
		require.True(t, tenant.HasCode(err, tenant.CodeLeaseLost), "%v", err)
	})
	_, err = w.ours(t).SetGate(t.Context(), "beta", tenant.BindingOpen, 1)
	require.NoError(t, err, "epochs are each tenant's own")
	_, err = w.Open(KeyringOf(t, "test-us")).SetGate(t.Context(), "acme", tenant.BindingOpen, 1)
	require.NoError(t, err, "and each installation's")
	require.NoError(t, w.ours(t).DeleteBinding(t.Context(), "acme", "acme.app.example", tenant.NoJournal{}))
	_, err = w.ours(t).SetGate(t.Context(), "acme", tenant.BindingOpen, 6)
	require.True(t, tenant.HasCode(err, tenant.CodeLeaseLost), "the epoch outlives the hostnames: %v", err)
}

func bindingsGateForeign(t *testing.T, w BindingsWorld) {
	w.Forge(
		t,
		Installation,
		"",
		tenant.Binding{Hostname: "e.example", Tenant: "acme", State: tenant.BindingHolding},
	)
	w.requireSame(t, func() {
		moved, err := w.ours(t).SetGate(t.Context(), "acme", tenant.BindingOpen, 1)
		require.NoError(t, err)
		require.Empty(t, moved)
	})
}

func bindingsRotation(t *testing.T, w BindingsWorld) {
	bound := w.bind(t, "acme.app.example", "acme")
	seen, err := w.Open(RotatedKeyring(t)).ReadBinding(t.Context(), "acme", bound.Hostname)
	require.NoError(t, err)
	require.Equal(t, bound, seen)
	w.requireSame(t, func() {
		err := w.Open(forgetfulKeyring(t)).
			DeleteBinding(t.Context(), "acme", bound.Hostname, tenant.NoJournal{})
		require.True(t, tenant.HasCode(err, tenant.CodeUnknownKey), "%v", err)
	})
}

func bindingsCrash(t *testing.T, fresh func(t testing.TB) BindingsWorld) {
	t.Helper()
	CrashEverywhere(t, func(t *testing.T, _ int) (func(context.Context) error, func(*testing.T)) {
		t.Helper()
		w, journal := fresh(t), &Journal{}
		want := tenant.Binding{Hostname: "acme.app.example", Tenant: "acme", Upstream: "new:1"}
		work := func(ctx context.Context) error {
			edge, old := w.ours(t), want
			old.Upstream = "old:1"
			for _, binding := range []tenant.Binding{old, want, {Hostname: "gone.example", Tenant: "acme"}} {
				if _, err := edge.EnsureBinding(ctx, binding, journal); err != nil {
					return err
				}
			}
			if _, err := edge.SetGate(ctx, "acme", tenant.BindingOpen, 1); err != nil {
				return err
			}
			return edge.DeleteBinding(ctx, "acme", "gone.example", journal)
		}
		return work, func(t *testing.T) {
			t.Helper()
			seen, err := w.ours(t).ReadBinding(t.Context(), "acme", want.Hostname)
			require.NoError(t, err)
			require.Equal(t, tenant.BindingOpen, seen.State)
			require.Equal(t, want.Upstream, seen.Upstream)
			require.Len(t, w.Rows(t), 1)
			journal.RequireSound(t)
			require.Len(t, journal.Made(), 1)
		}
	})
}
