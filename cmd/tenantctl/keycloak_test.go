package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/acctest"
)

// TestAccKeycloak onboards two tenants onto PostgreSQL and Keycloak, twice, and takes them down again.
func TestAccKeycloak(t *testing.T) {
	t.Parallel()
	realm := acctest.NewKeycloakRealm(t)
	s := newExample(t, "keycloak")
	at := acctest.PostgresURL(t, "15")
	p := postgresExample{scratch: s, premium: at}
	s.edit("main.tf", `installation = "ledgerline"`, `installation = "`+p.ownInstallation()+`"`)
	s.env = append(s.env, "TF_VAR_postgres_url="+at, "TF_VAR_keycloak_url="+realm.URL,
		"TF_VAR_keycloak_realm="+realm.Realm, "TF_VAR_keycloak_client_secret="+realm.ClientSecret)
	s.ok("init")
	s.ok("apply")
	require.Contains(t, s.ok("apply").stdout, "2 without changes")
	for id, row := range s.status() {
		require.Equal(t, "online", string(row.Status), id)
		require.Equal(t, "sent", string(row.Mail.State), id)
	}
	mails := s.mails()
	require.Len(t, mails, 2)
	mail, err := os.ReadFile(mails[0])
	require.NoError(t, err)
	require.Contains(t, string(mail), "Forgot password?")
	for path, content := range s.contents() {
		require.NotContains(t, content, realm.ClientSecret, path)
	}
	p.removeAll()
}
