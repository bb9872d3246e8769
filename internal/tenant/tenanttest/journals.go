package tenanttest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// OpenJournal is the journal of one onboarding, opened by one owner of the tenant.
type OpenJournal struct {
	Tenant  tenant.ID
	Journal tenant.Journal
	Next    func(t *testing.T) tenant.Journal           // as the next owner opens it, after this one died
	Made    func(t *testing.T) map[tenant.Object]string // what counts as created by this onboarding
}

// Journals runs the contract of tenant.Journal. open returns a fresh, empty journal.
func Journals(t *testing.T, open func(t *testing.T) OpenJournal) {
	t.Helper()
	for name, check := range map[string]func(t *testing.T, j OpenJournal){
		"made":                               journalMade,
		"every entry may be repeated":        journalRepeated,
		"killed between object and record":   journalKilled,
		"killed before the object":           journalKilledEarly,
		"adopted objects are not ours":       journalAdopted,
		"made, then found again":             journalFoundAgain,
		"removed":                            journalRemoved,
		"adopted, lost, then made":           journalMadeAnew,
		"a create that fails":                journalFailed,
		"kinds, tenants and names are exact": journalExact,
		"many objects at once":               journalContended,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t))
		})
	}
}

func (j OpenJournal) object(name string) tenant.Object {
	return tenant.Object{Tenant: j.Tenant, Kind: tenant.KindDatabase, Name: name}
}

func journalMade(t *testing.T, j OpenJournal) {
	o := j.object("app")
	require.NoError(t, j.Journal.Intent(t.Context(), o))
	require.Empty(t, j.Made(t))
	require.NoError(t, j.Journal.Created(t.Context(), o, "17"))
	require.Equal(t, map[tenant.Object]string{o: "17"}, j.Made(t))
}

func journalRepeated(t *testing.T, j OpenJournal) {
	made, found, gone := j.object("made"), j.object("found"), j.object("gone")
	for range 2 {
		require.NoError(t, j.Journal.Intent(t.Context(), made))
	}
	for range 2 {
		require.NoError(t, j.Journal.Created(t.Context(), made, "1"))
		require.NoError(t, j.Journal.Adopted(t.Context(), found, "2"))
		require.NoError(t, j.Journal.Removed(t.Context(), gone))
	}
	require.Equal(t, map[tenant.Object]string{made: "1"}, j.Made(t))
}

func journalKilled(t *testing.T, j OpenJournal) {
	o := j.object("app")
	require.NoError(t, j.Journal.Intent(t.Context(), o))
	next := j.Next(t)
	require.NoError(t, next.Adopted(t.Context(), o, "17"))
	require.Equal(t, map[tenant.Object]string{o: "17"}, j.Made(t), "found after our own intent: made by us")
	require.NoError(t, next.Adopted(t.Context(), o, "17"))
	require.Equal(t, map[tenant.Object]string{o: "17"}, j.Made(t))
}

func journalKilledEarly(t *testing.T, j OpenJournal) {
	o := j.object("app")
	require.NoError(t, j.Journal.Intent(t.Context(), o))
	next := j.Next(t)
	require.NoError(t, next.Intent(t.Context(), o))
	require.NoError(t, next.Created(t.Context(), o, "17"))
	require.Equal(t, map[tenant.Object]string{o: "17"}, j.Made(t))
}

func journalAdopted(t *testing.T, j OpenJournal) {
	require.NoError(t, j.Journal.Adopted(t.Context(), j.object("app"), "17"))
	require.NoError(t, j.Next(t).Adopted(t.Context(), j.object("app"), "17"))
	require.Empty(t, j.Made(t))
}

func journalFoundAgain(t *testing.T, j OpenJournal) {
	o := j.object("app")
	require.NoError(t, j.Journal.Intent(t.Context(), o))
	require.NoError(t, j.Journal.Created(t.Context(), o, "17"))
	require.NoError(t, j.Next(t).Adopted(t.Context(), o, "17"))
	require.Equal(t, map[tenant.Object]string{o: "17"}, j.Made(t))
}

func journalRemoved(t *testing.T, j OpenJournal) {
	o := j.object("app")
	require.NoError(t, j.Journal.Intent(t.Context(), o))
	require.NoError(t, j.Journal.Created(t.Context(), o, "17"))
	require.NoError(t, j.Journal.Removed(t.Context(), o))
	require.Empty(t, j.Made(t))
	require.NoError(t, j.Journal.Adopted(t.Context(), o, "18"))
	require.Empty(t, j.Made(t), "the intent went with the removed object")
}

func journalMadeAnew(t *testing.T, j OpenJournal) {
	o := j.object("app")
	require.NoError(t, j.Journal.Adopted(t.Context(), o, "17"))
	require.NoError(t, j.Journal.Intent(t.Context(), o))
	require.NoError(t, j.Journal.Created(t.Context(), o, "18"))
	require.Equal(t, map[tenant.Object]string{o: "18"}, j.Made(t))
}

func journalFailed(t *testing.T, j OpenJournal) {
	o, full := j.object("app"), errors.New("disk full")
	_, err := tenant.Make(
		t.Context(),
		j.Journal,
		o,
		func(context.Context) (string, error) { return "", full },
	)
	require.ErrorIs(t, err, full)
	require.Empty(t, j.Made(t))
	id, err := tenant.Make(
		t.Context(),
		j.Journal,
		o,
		func(context.Context) (string, error) { return "17", nil },
	)
	require.NoError(t, err)
	require.Equal(t, "17", id)
	require.Equal(t, map[tenant.Object]string{o: "17"}, j.Made(t))
}

func journalExact(t *testing.T, j OpenJournal) {
	want := map[tenant.Object]string{}
	for n, name := range []string{
		"app", "APP", "app ", "", `'; DROP TABLE journal; --`, `"app"`, "a\nb", "a%b_c", "$1", "ümläut/名前",
		strings.Repeat("a", 300) + "x", strings.Repeat("a", 300) + "y",
	} {
		for _, kind := range []tenant.Kind{tenant.KindDatabase, tenant.KindRecord} {
			o := tenant.Object{Tenant: j.Tenant, Kind: kind, Name: name}
			want[o] = fmt.Sprintf("%s-%d", kind, n)
			require.NoError(t, j.Journal.Intent(t.Context(), o))
			require.NoError(t, j.Journal.Created(t.Context(), o, want[o]))
		}
	}
	require.Equal(t, want, j.Made(t))
}

func journalContended(t *testing.T, j OpenJournal) {
	const objects = 16
	var group sync.WaitGroup
	for n := range objects {
		group.Go(func() {
			o := j.object(fmt.Sprintf("app%d", n))
			_, err := tenant.Make(
				t.Context(),
				j.Journal,
				o,
				func(context.Context) (string, error) { return o.Name, nil },
			)
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	require.Len(t, j.Made(t), objects)
}
