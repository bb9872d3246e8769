package catalog_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/catalog"
	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func testJournalOfOnboarding(t *testing.T, s *system) {
	o := s.own(t, "acme")
	o.declare("pro")
	ctx, journal := t.Context(), o.Journal(o.epoch, o.id)
	object := func(name string) tenant.Object {
		return tenant.Object{Tenant: o.id, Kind: tenant.KindBinding, Name: name}
	}
	for _, name := range []string{"z", "a", "m"} {
		require.NoError(t, journal.Intent(ctx, object(name)))
	}
	require.NoError(t, journal.Created(ctx, object("a"), "1"))
	require.NoError(t, journal.Created(ctx, object("m"), "2"))
	require.NoError(t, journal.Removed(ctx, object("m")))
	entries, err := o.Entries(ctx, o.id)
	require.NoError(t, err)
	at := s.now()
	require.Equal(t, []catalog.JournalEntry{
		{Object: object("z"), State: catalog.JournalIntended, ChangedAt: at},
		{Object: object("a"), State: catalog.JournalCreated, ExternalID: "1", ChangedAt: at},
		{Object: object("m"), State: catalog.JournalRemoved, ExternalID: "2", ChangedAt: at},
	}, entries, "in the order of work")
	require.Equal(t, entries[:2], o.get().ExternalIDs)

	require.NoError(t, o.Move(ctx, o.epoch, o.id, catalog.Offboarding))
	require.NoError(t, o.Move(ctx, o.epoch, o.id, catalog.Offboarded))
	o.declare("pro")
	require.Empty(t, o.get().ExternalIDs)
	require.NoError(t, journal.Adopted(ctx, object("z"), "9"))
	entries, err = o.Entries(ctx, o.id)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(
		t,
		catalog.JournalAdopted,
		entries[0].State,
		"an earlier onboarding's intent is none of this one's",
	)
}

func testList(t *testing.T, s *system) {
	ids := []tenant.ID{"globex", "acme", "initech"}
	for _, id := range ids {
		o := s.online(t, id)
		o2 := tenant.Object{Tenant: id, Kind: tenant.KindDatabase, Name: "db_" + string(id)}
		require.NoError(t, o.Journal(o.epoch, id).Adopted(t.Context(), o2, "x"))
	}
	waiting := s.own(t, "hooli")
	waiting.declare("trial")
	c := s.open(t)
	all, err := c.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 4)
	for n, id := range []tenant.ID{"acme", "globex", "hooli", "initech"} {
		one, err := c.Get(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, one, all[n], "a list says what each says")
		require.Equal(t, id, all[n].ID)
	}
	require.Nil(t, all[2].Mail)
	require.Len(t, all[1].ExternalIDs, 1)
	require.NotNil(t, all[3].Mail)
}

func testHistory(t *testing.T, s *system) {
	first := s.online(t, "acme")
	first.release()
	s.online(t, "globex")
	o := s.own(t, "acme")
	require.NoError(t, o.MailSent(t.Context(), *o.claim()))
	history, err := o.History(t.Context(), o.id)
	require.NoError(t, err)
	require.NotEmpty(t, history)
	for n, event := range history {
		require.Equal(t, tenant.ID("acme"), event.Tenant)
		require.NotEmpty(t, event.Text)
		require.Equal(t, s.now(), event.Time)
		require.EqualValues(t, 1, event.Onboarding)
		if n > 0 {
			require.Greater(t, event.Sequence, history[n-1].Sequence)
		}
	}
	require.Equal(t, first.epoch, history[0].Epoch)
	require.Equal(t, catalog.EventMailSent, history[len(history)-1].Kind)
}

// TestHistoryIsNeverChanged tries it with the file's own SQL.
func TestHistoryIsNeverChanged(t *testing.T) {
	t.Parallel()
	s := &system{config: catalog.Config{Path: t.TempDir() + "/catalog.db"}}
	o := s.online(t, "acme")
	before := o.events()
	db, err := sqlitefile.OpenExisting(s.config.Path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for _, attack := range []string{
		"UPDATE history SET text = 'nothing happened'",
		"DELETE FROM history",
		"DELETE FROM history WHERE sequence = 1",
		"INSERT OR REPLACE INTO history SELECT * FROM history WHERE sequence = 1",
	} {
		requireRefused(t, db, attack)
	}
	require.Equal(t, before, o.events())
}

func requireRefused(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), statement)
	require.Error(t, err, statement)
}
