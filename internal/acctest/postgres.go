package acctest

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// PostgresURL is a fresh database of a test's own on the real server of that version (15 or 18), as its administrator, and
// is removed at the test's end.
func PostgresURL(t *testing.T, version string) string {
	t.Helper()
	root := Service(t, "TENANT_TEST_POSTGRES_"+version+"_ROOT_URL")
	admin := Service(t, "TENANT_TEST_POSTGRES_"+version+"_URL")
	name := "acc_" + strings.ToLower(rand.Text()[:12])
	parsed, err := url.Parse(admin)
	require.NoError(t, err)
	PostgresExec(t, root, "CREATE DATABASE "+name+" OWNER "+parsed.User.Username())
	t.Cleanup(func() { PostgresExec(t, root, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })
	parsed.Path = "/" + name
	return parsed.String()
}

// PostgresExec runs statements as whoever the URL names.
func PostgresExec(t *testing.T, at, statements string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, at)
	require.NoError(t, err)
	_, err = conn.Exec(ctx, statements)
	require.NoError(t, err)
	require.NoError(t, conn.Close(ctx))
}

// PostgresText returns the one value of a query as text.
func PostgresText(t *testing.T, at, query string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), at)
	require.NoError(t, err)
	var text string
	require.NoError(t, conn.QueryRow(t.Context(), query).Scan(&text))
	require.NoError(t, conn.Close(t.Context()))
	return text
}

// Service returns what scripts/services/run has told of a real system.
func Service(t *testing.T, variable string) string {
	t.Helper()
	value := os.Getenv(variable)
	require.NotEmpty(t, value, "%s is not set: `make services` starts what is missing", variable)
	return value
}
