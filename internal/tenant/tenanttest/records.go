package tenanttest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// RecordsWorld is an empty zone for one test, and the hands of other people in it.
type RecordsWorld struct {
	// Open returns a handle of its own on the zone, as another process has it.
	Open func(ring *tenant.Keyring) tenant.Records
	// Add puts a record into the zone as somebody else would. data is in presentation form (RFC 1035, section 5.1).
	Add func(t testing.TB, name, recordType, data string)
	// Replace gives the record set other data, as somebody else would; its owner record stays.
	Replace func(t testing.TB, name, recordType, data string)
	// Lookup returns the data of all records at that name and type, sorted: addresses, names without a trailing dot, texts.
	Lookup func(t testing.TB, name, recordType string) []string
	// Serial is the zone's serial, 0 while there is no zone.
	Serial func(t testing.TB) uint32
}

// Records runs the suite for tenant.Records on worlds that fresh makes.
func Records(t *testing.T, fresh func(t testing.TB) RecordsWorld) {
	t.Helper()
	cases := map[string]func(t *testing.T, w RecordsWorld){
		"create, read, delete":        recordsLife,
		"values of each type":         recordsTypes,
		"adopt":                       recordsAdopt,
		"refuse foreign":              recordsForeign,
		"refuse neighbours":           recordsNeighbours,
		"foreign beside ours":         recordsBeside,
		"wildcard is no obstacle":     recordsWildcard,
		"update in place":             recordsUpdate,
		"repair":                      recordsRepair,
		"left-over owner":             recordsLeftOver,
		"two creators":                recordsTwoCreators,
		"two rivals":                  recordsTwoRivals,
		"twenty at once":              recordsTwenty,
		"twenty rivals":               recordsTwentyRivals,
		"claims of records":           recordsClaims,
		"claims of what is not ours":  recordsClaimsRefused,
		"long names":                  recordsLong,
		"hostile records are refused": recordsHostile,
		"listing":                     recordsListing,
		"key rotation":                recordsRotation,
		"canceled":                    recordsCanceled,
	}
	for name, run := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, fresh(t))
		})
	}
	t.Run("crash", func(t *testing.T) {
		t.Parallel()
		recordsCrash(t, fresh)
	})
}

func (w RecordsWorld) ours(tb testing.TB) tenant.Records {
	tb.Helper()
	return w.Open(Keyring(tb))
}

func (w RecordsWorld) name(tb testing.TB, id tenant.ID) string {
	tb.Helper()
	return tenant.DefaultHostname(id, w.ours(tb).Zone())
}

// cname is the record that most of the suite uses.
func (w RecordsWorld) cname(tb testing.TB, id tenant.ID) tenant.Record {
	tb.Helper()
	return tenant.Record{
		Name: w.name(
			tb,
			id,
		),
		Type:   "CNAME",
		Values: []string{"edge." + w.ours(tb).Zone()},
		TTL:    5 * time.Minute,
	}
}

// requireSame runs work and requires that it changed nothing in the zone.
func (w RecordsWorld) requireSame(tb testing.TB, work func()) {
	tb.Helper()
	before := w.Serial(tb)
	work()
	require.Equal(tb, before, w.Serial(tb), "the serial moved")
}

func recordsLife(t *testing.T, w RecordsWorld) {
	records, record, journal := w.ours(t), w.cname(t, "acme"), &Journal{}
	object := record.Object("acme")
	_, err := records.Read(t.Context(), "acme", record.Name, "CNAME")
	require.ErrorIs(t, err, tenant.ErrAbsent)

	require.NoError(t, records.Ensure(t.Context(), "acme", record, journal))
	require.Equal(t, []string{"intent " + object.String(), "created " + object.String()}, journal.Events)
	require.Contains(t, journal.Made(), object)
	seen, err := records.Read(t.Context(), "acme", record.Name, "CNAME")
	require.NoError(t, err)
	require.Equal(t, record, seen)
	require.Equal(t, record.Values, w.Lookup(t, record.Name, "CNAME"))

	w.requireSame(t, func() { require.NoError(t, records.Ensure(t.Context(), "acme", record, &Journal{})) })

	before := w.Serial(t)
	require.NoError(t, records.Delete(t.Context(), "acme", record.Name, "CNAME", journal))
	require.NotEqual(t, before, w.Serial(t))
	require.Empty(t, journal.Made())
	require.Empty(t, w.Lookup(t, record.Name, "CNAME"))
	require.Empty(t, w.Lookup(t, "_tenantry."+record.Name, "TXT"), "an owner record was left")
	_, err = records.Read(t.Context(), "acme", record.Name, "CNAME")
	require.ErrorIs(t, err, tenant.ErrAbsent)
	w.requireSame(t, func() {
		require.NoError(t, records.Delete(t.Context(), "acme", record.Name, "CNAME", journal))
	})
	journal.RequireSound(t)
}

func recordsTypes(t *testing.T, w RecordsWorld) {
	records := w.ours(t)
	long := strings.Repeat("x", 254) + `"\;` + strings.Repeat("y", 300)
	sets := []tenant.Record{
		{Name: w.name(t, "a"), Type: "A", Values: []string{"192.0.2.1", "192.0.2.2"}, TTL: time.Minute},
		{Name: w.name(t, "a"), Type: "AAAA", Values: []string{"2001:db8::1"}, TTL: time.Hour},
		{Name: w.name(t, "b"), Type: "CNAME", Values: []string{"else.where.example"}, TTL: 0},
		{
			Name:   w.name(t, "c"),
			Type:   "TXT",
			Values: []string{long, "with \"quotes\" and \\ and ; and ( and \n and ü"},
			TTL:    1 * time.Second,
		},
	}
	for _, record := range sets {
		require.NoError(t, records.Ensure(t.Context(), "acme", record, tenant.NoJournal{}), record.Type)
	}
	for _, record := range sets {
		seen, err := w.ours(t).Read(t.Context(), "acme", record.Name, record.Type)
		require.NoError(t, err)
		require.ElementsMatch(t, record.Values, seen.Values)
		require.Equal(t, record.TTL, seen.TTL)
		require.ElementsMatch(t, record.Values, w.Lookup(t, record.Name, record.Type))
		w.requireSame(t, func() {
			require.NoError(t, records.Ensure(t.Context(), "acme", record, tenant.NoJournal{}), record.Type)
		})
	}
	require.NoError(t, records.Delete(t.Context(), "acme", sets[0].Name, "A", tenant.NoJournal{}))
	seen, err := records.Read(t.Context(), "acme", sets[1].Name, "AAAA")
	require.NoError(t, err, "the other record set of that name has gone, too")
	require.Equal(t, sets[1], seen)
}

func recordsAdopt(t *testing.T, w RecordsWorld) {
	record := w.cname(t, "acme")
	require.NoError(t, w.ours(t).Ensure(t.Context(), "acme", record, tenant.NoJournal{}))
	journal := &Journal{}
	w.requireSame(t, func() { require.NoError(t, w.ours(t).Ensure(t.Context(), "acme", record, journal)) })
	require.Equal(t, []string{"adopted " + record.Object("acme").String()}, journal.Events)
	require.Empty(t, journal.Made())
}

func recordsForeign(t *testing.T, w RecordsWorld) {
	foreign := map[string]string{
		"A": "192.0.2.9", "AAAA": "2001:db8::9", "CNAME": "other.example", "TXT": "hands off",
		"MX": "10 mail.example.", "SRV": "0 0 443 host.example.", "CAA": `0 issue "ca.example"`,
	}
	records := w.ours(t)
	for recordType, data := range foreign {
		id := tenant.ID("t-" + strings.ToLower(recordType))
		record := w.cname(t, id)
		w.Add(t, record.Name, recordType, data)
		there := w.Lookup(t, record.Name, recordType)
		require.Len(t, there, 1, recordType)
		w.requireSame(t, func() {
			journal := &Journal{}
			err := records.Ensure(t.Context(), id, record, journal)
			requireForeign(t, err, record.Name)
			require.Empty(t, journal.Events, "nothing was to be made")
			_, err = records.Read(t.Context(), id, record.Name, "CNAME")
			requireForeign(t, err, record.Name)
			requireForeign(t, records.Delete(t.Context(), id, record.Name, "CNAME", journal), record.Name)
			require.Empty(t, journal.Events)
		})
		require.Equal(t, there, w.Lookup(t, record.Name, recordType), "it was touched")
		require.Empty(t, w.Lookup(t, "_tenantry."+record.Name, "TXT"))
	}
}

// requireForeign requires a terminal failure that names the object in the way.
func requireForeign(tb testing.TB, err error, name string) {
	tb.Helper()
	require.Error(tb, err)
	require.True(tb, tenant.HasCode(err, tenant.CodeForeign), "%v", err)
	require.ErrorIs(tb, err, tenant.ErrForeign)
	require.Equal(tb, tenant.Terminal, tenant.FailureOf(err).Class)
	require.ErrorContains(tb, err, name)
}

// recordsNeighbours: what another installation, or another tenant, has made is foreign, and so is a copied mark.
func recordsNeighbours(t *testing.T, w RecordsWorld) {
	record, neighbour := w.cname(t, "acme"), w.Open(KeyringOf(t, "test-us"))
	require.NoError(t, neighbour.Ensure(t.Context(), "acme", record, tenant.NoJournal{}))
	copied := w.cname(t, "copied")
	for _, mark := range w.Lookup(t, "_tenantry."+record.Name, "TXT") {
		w.Add(t, "_tenantry."+copied.Name, "TXT", mark)
	}
	w.Add(t, copied.Name, "CNAME", "other.example")
	w.requireSame(t, func() {
		requireForeign(t, w.ours(t).Ensure(t.Context(), "acme", record, tenant.NoJournal{}), record.Name)
		requireForeign(
			t,
			w.ours(t).Delete(t.Context(), "acme", record.Name, "CNAME", tenant.NoJournal{}),
			record.Name,
		)
		requireForeign(
			t,
			neighbour.Delete(t.Context(), "beta", record.Name, "CNAME", tenant.NoJournal{}),
			record.Name,
		)
		requireForeign(
			t,
			neighbour.Delete(t.Context(), "acme", copied.Name, "CNAME", tenant.NoJournal{}),
			copied.Name,
		)
		requireForeign(t, neighbour.Ensure(t.Context(), "acme", copied, tenant.NoJournal{}), copied.Name)
	})
	seen, err := neighbour.Read(t.Context(), "acme", record.Name, "CNAME")
	require.NoError(t, err)
	require.Equal(t, record, seen)
}

// recordsBeside: somebody puts a record of another type beside ours. It stays, and ours can go.
func recordsBeside(t *testing.T, w RecordsWorld) {
	records, name := w.ours(t), w.name(t, "acme")
	record := tenant.Record{Name: name, Type: "TXT", Values: []string{"ours"}, TTL: time.Minute}
	require.NoError(t, records.Ensure(t.Context(), "acme", record, tenant.NoJournal{}))
	w.Add(t, name, "MX", "10 mail.example.")
	there := w.Lookup(t, name, "MX")
	requireForeign(t, records.Ensure(t.Context(), "acme", record, tenant.NoJournal{}), name)
	require.NoError(t, records.Delete(t.Context(), "acme", name, "TXT", tenant.NoJournal{}))
	require.Empty(t, w.Lookup(t, name, "TXT"))
	require.Equal(t, there, w.Lookup(t, name, "MX"))
}

func recordsWildcard(t *testing.T, w RecordsWorld) {
	records, record := w.ours(t), w.cname(t, "acme")
	w.Add(t, "*."+records.Zone(), "CNAME", "other.example")
	_, err := records.Read(t.Context(), "acme", record.Name, "CNAME")
	require.ErrorIs(t, err, tenant.ErrAbsent)
	require.NoError(t, records.Ensure(t.Context(), "acme", record, tenant.NoJournal{}))
	require.Equal(t, record.Values, w.Lookup(t, record.Name, "CNAME"))
}

// recordsUpdate changes values and TTL many times while somebody keeps looking: the set is never absent.
func recordsUpdate(t *testing.T, w RecordsWorld) {
	records, name := w.ours(t), w.name(t, "acme")
	record := tenant.Record{Name: name, Type: "A", Values: []string{"192.0.2.1"}, TTL: time.Minute}
	require.NoError(t, records.Ensure(t.Context(), "acme", record, tenant.NoJournal{}))
	done, looks := make(chan struct{}), make(chan string, 1)
	go func() {
		defer close(looks)
		for {
			if len(w.Lookup(t, name, "A")) == 0 || len(w.Lookup(t, "_tenantry."+name, "TXT")) == 0 {
				looks <- "the record or its mark was absent for a moment"
				return
			}
			select {
			case <-done:
				return
			default:
			}
		}
	}()
	for n := range 20 {
		journal := &Journal{}
		record.Values = []string{fmt.Sprintf("192.0.2.%d", n+2)}
		record.TTL += time.Second
		before := w.Serial(t)
		require.NoError(t, records.Ensure(t.Context(), "acme", record, journal))
		require.NotEqual(t, before, w.Serial(t))
		require.Equal(t, []string{"adopted " + record.Object("acme").String()}, journal.Events)
	}
	close(done)
	require.Empty(t, <-looks)
	seen, err := w.ours(t).Read(t.Context(), "acme", name, "A")
	require.NoError(t, err)
	require.Equal(t, record, seen)
}

func recordsRepair(t *testing.T, w RecordsWorld) {
	records, record := w.ours(t), w.cname(t, "acme")
	require.NoError(t, records.Ensure(t.Context(), "acme", record, tenant.NoJournal{}))
	w.Replace(t, record.Name, "CNAME", "evil.example")
	seen, err := records.Read(t.Context(), "acme", record.Name, "CNAME")
	require.NoError(t, err, "a set with our mark stays ours")
	require.Equal(t, []string{"evil.example"}, seen.Values)
	require.NoError(t, records.Ensure(t.Context(), "acme", record, tenant.NoJournal{}))
	require.Equal(t, record.Values, w.Lookup(t, record.Name, "CNAME"))
}

// recordsLeftOver: somebody removed our record and left its owner record.
func recordsLeftOver(t *testing.T, w RecordsWorld) {
	records, record := w.ours(t), w.cname(t, "acme")
	require.NoError(t, records.Ensure(t.Context(), "acme", record, tenant.NoJournal{}))
	w.Replace(t, record.Name, "CNAME", "")
	_, err := records.Read(t.Context(), "acme", record.Name, "CNAME")
	require.ErrorIs(t, err, tenant.ErrAbsent)
	journal := &Journal{}
	require.NoError(t, records.Ensure(t.Context(), "acme", record, journal))
	require.Contains(t, journal.Made(), record.Object("acme"))
	require.Len(t, w.Lookup(t, "_tenantry."+record.Name, "TXT"), 1)

	w.Replace(t, record.Name, "CNAME", "")
	require.NoError(t, records.Delete(t.Context(), "acme", record.Name, "CNAME", journal))
	require.Empty(t, w.Lookup(t, "_tenantry."+record.Name, "TXT"))
}

func recordsTwoCreators(t *testing.T, w RecordsWorld) {
	record := w.cname(t, "acme")
	errs := allAtOnce(2, func(int) error {
		return w.ours(t).Ensure(context.Background(), "acme", record, &Journal{})
	})
	require.Equal(t, []error{nil, nil}, errs)
	require.Equal(t, record.Values, w.Lookup(t, record.Name, "CNAME"))
	require.Len(t, w.Lookup(t, "_tenantry."+record.Name, "TXT"), 1)
}

// recordsTwoRivals: two installations want one name; one gets it, the other is told so.
func recordsTwoRivals(t *testing.T, w RecordsWorld) {
	record := w.cname(t, "acme")
	rings := []*tenant.Keyring{Keyring(t), KeyringOf(t, "test-us")}
	errs := allAtOnce(2, func(n int) error {
		return w.Open(rings[n]).Ensure(context.Background(), "acme", record, tenant.NoJournal{})
	})
	winners := 0
	for n, err := range errs {
		if err == nil {
			winners++
			continue
		}
		requireForeign(t, err, record.Name)
		_, err = w.Open(rings[1-n]).Read(t.Context(), "acme", record.Name, "CNAME")
		require.NoError(t, err)
	}
	require.Equal(t, 1, winners)
}

func recordsTwenty(t *testing.T, w RecordsWorld) {
	shared := w.ours(t)
	errs := allAtOnce(20, func(n int) error {
		id := tenant.ID(fmt.Sprintf("t%d", n))
		records := shared
		if n%2 == 0 {
			records = w.ours(t)
		}
		return records.Ensure(context.Background(), id, w.cname(t, id), tenant.NoJournal{})
	})
	for n, err := range errs {
		require.NoError(t, err)
		record := w.cname(t, tenant.ID(fmt.Sprintf("t%d", n)))
		require.Equal(t, record.Values, w.Lookup(t, record.Name, "CNAME"))
	}
}

// recordsTwentyRivals: twenty tenants want one name; one gets it, the others are told who has it.
func recordsTwentyRivals(t *testing.T, w RecordsWorld) {
	record := w.cname(t, "acme")
	errs := allAtOnce(20, func(n int) error {
		id := tenant.ID(fmt.Sprintf("t%d", n))
		return w.ours(t).Ensure(context.Background(), id, record, tenant.NoJournal{})
	})
	winners := []tenant.ID{}
	for n, err := range errs {
		if err == nil {
			winners = append(winners, tenant.ID(fmt.Sprintf("t%d", n)))
		}
	}
	require.Len(t, winners, 1)
	for _, err := range errs {
		if err != nil {
			requireForeign(t, err, record.Name)
			require.ErrorContains(t, err, fmt.Sprintf("%q", winners[0]), "it doesn't say who has it")
		}
	}
	seen, err := w.ours(t).Read(t.Context(), winners[0], record.Name, "CNAME")
	require.NoError(t, err)
	require.Equal(t, record, seen)
	require.Len(t, w.Lookup(t, "_tenantry."+record.Name, "TXT"), 1)
}

func (w RecordsWorld) claimer(tb testing.TB, ring *tenant.Keyring) tenant.RecordClaimer {
	tb.Helper()
	claimer, ok := w.Open(ring).(tenant.RecordClaimer)
	require.True(tb, ok, "records can't be claimed")
	return claimer
}

// recordsClaims: a record set that was there before is taken over as it is, then changed, then removed.
func recordsClaims(t *testing.T, w RecordsWorld) {
	records, record := w.ours(t), w.cname(t, "acme")
	claimer, object := w.claimer(t, Keyring(t)), record.Object("acme")
	w.requireSame(t, func() {
		journal := &Journal{}
		require.ErrorIs(t, claimer.ClaimRecord(t.Context(), "acme", record, journal), tenant.ErrAbsent)
		require.Empty(t, journal.Events)
	})
	w.Add(t, record.Name, "CNAME", "old.example")
	journal := &Journal{}
	require.NoError(t, claimer.ClaimRecord(t.Context(), "acme", record, journal))
	require.Equal(t, []string{"adopted " + object.String()}, journal.Events)
	require.Empty(t, journal.Made(), "a compensation must never delete what was claimed")
	require.Equal(t, []string{"old.example"}, w.Lookup(t, record.Name, "CNAME"))
	w.requireSame(t, func() {
		require.NoError(t, claimer.ClaimRecord(t.Context(), "acme", record, &Journal{}))
	})
	require.NoError(t, records.Ensure(t.Context(), "acme", record, journal))
	seen, err := records.Read(t.Context(), "acme", record.Name, "CNAME")
	require.NoError(t, err)
	require.Equal(t, record, seen)
	require.Empty(t, journal.Made())
	w.requireSame(t, func() {
		require.NoError(t, claimer.ClaimRecord(t.Context(), "acme", record, &Journal{}))
	})
	require.NoError(t, records.Delete(t.Context(), "acme", record.Name, "CNAME", journal))
	require.Empty(t, w.Lookup(t, record.Name, "CNAME"))
	require.Empty(t, w.Lookup(t, "_tenantry."+record.Name, "TXT"))
}

// recordsClaimsRefused: another type, a type beside, somebody's mark, and a wildcard that only looks like the name.
func recordsClaimsRefused(t *testing.T, w RecordsWorld) {
	claimer := w.claimer(t, Keyring(t))
	other, beside, taken, rival := w.cname(
		t,
		"other",
	), w.cname(
		t,
		"beside",
	), w.cname(
		t,
		"taken",
	), w.cname(
		t,
		"rival",
	)
	beside.Type, beside.Values = "A", []string{"192.0.2.1"}
	w.Add(t, other.Name, "A", "192.0.2.1")
	w.Add(t, beside.Name, "A", "192.0.2.1")
	w.Add(t, beside.Name, "MX", "10 mail.example.")
	neighbour := w.Open(KeyringOf(t, "test-us"))
	require.NoError(t, neighbour.Ensure(t.Context(), "taken", taken, tenant.NoJournal{}))
	require.NoError(t, w.ours(t).Ensure(t.Context(), "somebody", rival, tenant.NoJournal{}))
	w.Add(t, "*."+w.ours(t).Zone(), "CNAME", "other.example")
	w.requireSame(t, func() {
		for id, record := range map[tenant.ID]tenant.Record{
			"other": other, "beside": beside, "taken": taken, "rival": rival,
		} {
			journal := &Journal{}
			requireForeign(t, claimer.ClaimRecord(t.Context(), id, record, journal), record.Name)
			require.Empty(t, journal.Events)
		}
		absent := w.cname(t, "absent")
		err := claimer.ClaimRecord(t.Context(), "absent", absent, tenant.NoJournal{})
		require.ErrorIs(t, err, tenant.ErrAbsent)
		absent.Type = "MX"
		err = claimer.ClaimRecord(t.Context(), "absent", absent, tenant.NoJournal{})
		require.True(t, tenant.HasCode(err, tenant.CodeInvalidConfig), "%v", err)
	})
}

// allAtOnce runs work n times at once and returns its errors in order.
func allAtOnce(n int, work func(n int) error) []error {
	errs, group := make([]error, n), sync.WaitGroup{}
	for i := range n {
		group.Go(func() { errs[i] = work(i) })
	}
	group.Wait()
	return errs
}

// recordsLong: names that agree in their first 62 bytes, and one that leaves no room for the label of its owner record.
func recordsLong(t *testing.T, w RecordsWorld) {
	records := w.ours(t)
	first, second := LongIDs()
	require.NoError(t, records.Ensure(t.Context(), first, w.cname(t, first), tenant.NoJournal{}))
	require.NoError(t, records.Ensure(t.Context(), second, w.cname(t, second), tenant.NoJournal{}))

	deep := w.cname(t, first)
	for len(deep.Name) < 253-1 {
		deep.Name = strings.Repeat("b", min(63, 253-1-len(deep.Name))) + "." + deep.Name
	}
	deeper := deep
	deeper.Name = "c" + deep.Name[1:]
	for _, record := range []tenant.Record{deep, deeper} {
		require.NoError(t, records.Ensure(t.Context(), first, record, tenant.NoJournal{}))
		w.requireSame(t, func() {
			require.NoError(t, records.Ensure(t.Context(), first, record, tenant.NoJournal{}))
		})
	}
	requireForeign(t, records.Ensure(t.Context(), second, deep, tenant.NoJournal{}), deep.Name)
	for _, record := range []tenant.Record{deep, deeper} {
		require.NoError(t, records.Delete(t.Context(), first, record.Name, "CNAME", tenant.NoJournal{}))
		require.Empty(t, w.Lookup(t, record.Name, "CNAME"))
	}
	seen, err := records.Read(t.Context(), second, w.name(t, second), "CNAME")
	require.NoError(t, err)
	require.Equal(t, w.cname(t, second), seen)
}

func recordsHostile(t *testing.T, w RecordsWorld) {
	records, zone := w.ours(t), w.ours(t).Zone()
	good := w.cname(t, "acme")
	names := []string{
		"",
		".",
		zone,
		"acme",
		"acme.example",
		"acme." + zone + ".",
		"Acme." + zone,
		"a b." + zone,
		"a\n." + zone,
		"*." + zone,
		`a\.b.` + zone,
		"a;." + zone,
		"$ORIGIN." + zone,
		"ü." + zone,
		".." + zone,
		"_tenantry." + zone,
		"_tenantry.acme." + zone,
		strings.Repeat("a", 64) + "." + zone,
		strings.Repeat("a.", 130) + zone,
	}
	bad := []tenant.Record{
		{Type: "MX", Values: []string{"10 mail.example"}},
		{Type: "CNAME", Values: []string{"a.example", "b.example"}},
		{Type: "CNAME", Values: []string{"a.example\n@ IN NS evil.example."}},
		{Type: "CNAME", Values: []string{""}},
		{Type: "CNAME"},
		{Type: "A", Values: []string{"2001:db8::1"}},
		{Type: "AAAA", Values: []string{"192.0.2.1"}},
		{Type: "A", Values: []string{"192.0.2.1 ; x"}},
		{Type: "A", Values: []string{"192.0.2.1"}, TTL: -time.Second},
		{Type: "A", Values: []string{"192.0.2.1"}, TTL: time.Millisecond},
		{Type: "A", Values: []string{"192.0.2.1"}, TTL: (1 << 31) * time.Second},
	}
	for i := range bad {
		bad[i].Name = good.Name
	}
	for _, name := range names {
		record := good
		record.Name = name
		bad = append(bad, record)
	}
	w.requireSame(t, func() {
		for _, record := range bad {
			journal := &Journal{}
			err := records.Ensure(t.Context(), "acme", record, journal)
			require.True(t, tenant.HasCode(err, tenant.CodeInvalidConfig), "%+v: %v", record, err)
			require.Empty(t, journal.Events)
		}
	})
}

func recordsListing(t *testing.T, w RecordsWorld) {
	lister, ok := w.ours(t).(tenant.RecordLister)
	require.True(t, ok, "records are read one by one only")
	found, err := lister.ListRecords(t.Context())
	require.NoError(t, err)
	require.Empty(t, found)
	records := w.ours(t)
	text := tenant.Record{Name: w.name(t, "text"), Type: "TXT", Values: []string{"a", "b"}, TTL: time.Minute}
	for id, record := range map[tenant.ID]tenant.Record{"acme": w.cname(t, "acme"), "beta": w.cname(t, "beta")} {
		require.NoError(t, records.Ensure(t.Context(), id, record, tenant.NoJournal{}))
	}
	require.NoError(t, records.Ensure(t.Context(), "acme", text, tenant.NoJournal{}))
	require.NoError(
		t,
		w.Open(KeyringOf(t, "test-us")).Ensure(t.Context(), "other", w.cname(t, "other"), tenant.NoJournal{}),
	)
	w.Add(t, w.name(t, "foreign"), "A", "192.0.2.1")
	found, err = lister.ListRecords(t.Context())
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.ElementsMatch(t, []tenant.Record{w.cname(t, "acme"), text}, found["acme"])
	require.Equal(t, []tenant.Record{w.cname(t, "beta")}, found["beta"])
}

// forgetfulKeyring is a keyring of Installation without the key of Keyring.
func forgetfulKeyring(tb testing.TB) *tenant.Keyring {
	tb.Helper()
	ring, err := tenant.NewKeyring(Installation, []tenant.Key{
		{ID: "k9", Secret: bytes.Repeat([]byte{9}, tenant.MinKeyLen)},
	})
	require.NoError(tb, err)
	return ring
}

// recordsRotation: an old key still proves what it marked; a key that is gone is named, and the record is not foreign.
func recordsRotation(t *testing.T, w RecordsWorld) {
	record := w.cname(t, "acme")
	require.NoError(t, w.ours(t).Ensure(t.Context(), "acme", record, tenant.NoJournal{}))
	w.requireSame(t, func() {
		require.NoError(t, w.Open(RotatedKeyring(t)).Ensure(t.Context(), "acme", record, tenant.NoJournal{}))
		forgetful := w.Open(forgetfulKeyring(t))
		for _, err := range []error{
			forgetful.Ensure(t.Context(), "acme", record, tenant.NoJournal{}),
			forgetful.Delete(t.Context(), "acme", record.Name, "CNAME", tenant.NoJournal{}),
		} {
			require.True(t, tenant.HasCode(err, tenant.CodeUnknownKey), "%v", err)
		}
	})
}

func recordsCanceled(t *testing.T, w RecordsWorld) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.requireSame(t, func() {
		err := w.ours(t).Ensure(ctx, "acme", w.cname(t, "acme"), tenant.NoJournal{})
		require.ErrorIs(t, err, context.Canceled)
		require.True(t, tenant.HasCode(err, tenant.CodeCanceled), "%v", err)
	})
}

func recordsCrash(t *testing.T, fresh func(t testing.TB) RecordsWorld) {
	t.Helper()
	CrashEverywhere(t, func(t *testing.T, _ int) (func(context.Context) error, func(*testing.T)) {
		t.Helper()
		w, journal := fresh(t), &Journal{}
		record := w.cname(t, "acme")
		longer := record
		longer.TTL = time.Hour
		gone, old := w.cname(t, "gone"), w.cname(t, "old")
		w.Add(t, old.Name, "CNAME", "old.example")
		work := func(ctx context.Context) error {
			records := w.ours(t)
			for _, step := range []func() error{
				func() error { return records.Ensure(ctx, "acme", record, journal) },
				func() error { return records.Ensure(ctx, "acme", longer, journal) },
				func() error { return records.Ensure(ctx, "gone", gone, journal) },
				func() error { return records.Delete(ctx, "gone", gone.Name, "CNAME", journal) },
				func() error { return w.claimer(t, Keyring(t)).ClaimRecord(ctx, "old", old, journal) },
				func() error { return records.Ensure(ctx, "old", old, journal) },
			} {
				if err := step(); err != nil {
					return err
				}
			}
			return nil
		}
		return work, func(t *testing.T) {
			t.Helper()
			seen, err := w.ours(t).Read(t.Context(), "acme", record.Name, "CNAME")
			require.NoError(t, err)
			require.Equal(t, longer, seen)
			require.Len(t, w.Lookup(t, "_tenantry."+record.Name, "TXT"), 1)
			require.Empty(t, w.Lookup(t, gone.Name, "CNAME"))
			require.Empty(t, w.Lookup(t, "_tenantry."+gone.Name, "TXT"))
			require.Equal(t, old.Values, w.Lookup(t, old.Name, "CNAME"))
			journal.RequireSound(t)
			require.Len(t, journal.Made(), 1)
			require.Contains(t, journal.Made(), record.Object("acme"))
		}
	})
}
