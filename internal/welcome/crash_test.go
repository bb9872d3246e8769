package welcome_test

import (
	"context"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
	"github.com/tenantry/terraform-provider-tenant/internal/welcome"
)

func TestMaildirKilledAnywhere(t *testing.T) {
	t.Parallel()
	tenanttest.CrashEverywhere(t, func(t *testing.T, _ int) (func(context.Context) error, func(*testing.T)) {
		t.Helper()
		folder := t.TempDir()
		sender := welcome.Maildir{Dir: folder}
		earlier := newMessage(t, newData(t, "", nil))
		require.NoError(t, sender.Send(t.Context(), earlier))
		message := newMessage(t, newData(t, "", nil))
		message.MessageID = welcome.MessageID("prod-eu", "acme", welcome.Kind, 2, "app.example.com")
		work := func(ctx context.Context) error { return sender.Send(ctx, message) }
		return work, func(t *testing.T) {
			t.Helper()
			require.ElementsMatch(t, []string{
				"acme.welcome.eml", "acme.welcome." + earlier.MessageID + ".eml",
			}, mails(t, folder))
			raw, err := fs.ReadFile(os.DirFS(folder), "acme.welcome.eml")
			require.NoError(t, err)
			head, _ := parts(t, raw)
			require.Equal(t, "<"+message.MessageID+">", head.Get("Message-Id"))
		}
	})
}
