package main

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/acctest"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// postgresExample is a copy of examples/postgres on a real server.
type postgresExample struct {
	*scratch

	trial, shared, premium string
}

func newPostgresExample(t *testing.T, version string) postgresExample {
	t.Helper()
	s := newExample(t, "postgres")
	p := postgresExample{
		s, acctest.PostgresURL(t, version), acctest.PostgresURL(t, version), acctest.PostgresURL(t, version),
	}
	s.edit("main.tf", `installation = "ledgerline"`, `installation = "`+p.ownInstallation()+`"`)
	s.env = append(
		s.env,
		"TF_VAR_trial_url="+p.trial,
		"TF_VAR_shared_url="+p.shared,
		"TF_VAR_premium_url="+p.premium,
	)
	s.ok("init")
	return p
}

// ownInstallation is for a test alone: servers are shared.
func (p postgresExample) ownInstallation() string {
	return "acc-" + strings.TrimPrefix(nameOf(p.t, p.premium), "acc_")
}

func nameOf(t *testing.T, at string) string {
	t.Helper()
	parsed, err := url.Parse(at)
	require.NoError(t, err)
	return strings.TrimPrefix(parsed.Path, "/")
}

// TestAccPostgres onboards tenants of three plans into three isolations, twice, and has an application log in.
func TestAccPostgres(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"15", "18"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := newPostgresExample(t, version)
			behind := p.run("apply", "acme")
			require.Equal(t, exitFailed, behind.code, behind.all())
			require.Contains(t, behind.stderr, "pool_behind")
			require.Contains(t, behind.stderr, "tenantctl pool migrate")
			p.ok("pool", "migrate", "trial", "--migrations", "shared_migrations")
			require.Equal(t, exitFailed, p.run("pool", "migrate", "premium").code)

			p.ok("apply")
			require.Contains(t, p.ok("apply").stdout, "4 without changes")
			rows := p.status()
			require.Len(t, rows, 4)
			for id, row := range rows {
				require.Equal(t, "online", string(row.Status), id)
				require.Equal(t, "sent", string(row.Mail.State), id)
			}
			require.Len(t, p.mails(), 4)
			for id, at := range map[string]string{"acme": p.trial, "birch": p.trial, "brightside": p.shared, "northwind": p.premium} {
				p.requireApplication(id, at)
			}
			p.removeAll()
		})
	}
}

// requireApplication logs in as the tenant's application would, with the derived password, and does its work.
func (p postgresExample) requireApplication(id, pool string) {
	t := p.t
	t.Helper()
	at := p.login(id, pool)
	require.Equal(t, "2", acctest.PostgresText(t, at, "SELECT count(*)::text FROM accounts"), id)
	require.Equal(
		t,
		"Cash",
		acctest.PostgresText(t, at, "UPDATE accounts SET name = name WHERE code = '1000' RETURNING name"),
	)
}

// login is the URL with which the tenant's application connects.
func (p postgresExample) login(id, pool string) string {
	t := p.t
	t.Helper()
	var state struct {
		Outputs struct {
			Credentials struct {
				Value struct {
					Database struct {
						Username    string `json:"username"`
						KeyID       string `json:"key_id"`
						Version     int64  `json:"version"`
						Incarnation string `json:"incarnation"`
					} `json:"database"`
				} `json:"value"`
			} `json:"credentials"`
			Tenant struct {
				Value struct {
					Database struct{ Isolation, Name string } `json:"database"`
				} `json:"value"`
			} `json:"tenant"`
		} `json:"outputs"`
	}
	require.NoError(t, json.Unmarshal([]byte(p.read("terraform.tfstate.d/"+id+"/terraform.tfstate")), &state))
	credentials, place := state.Outputs.Credentials.Value.Database, state.Outputs.Tenant.Value.Database
	keys, err := tenant.ParseKeys(strings.TrimSpace(p.read(".tenant/key")))
	require.NoError(t, err)
	ring, err := tenant.NewKeyring(p.installation(), keys)
	require.NoError(t, err)
	password, err := ring.Derive(tenant.SecretRef{
		Tenant: tenant.ID(id), Purpose: tenant.DatabasePassword, Version: credentials.Version,
		Incarnation: credentials.Incarnation, KeyID: credentials.KeyID,
	})
	require.NoError(t, err)
	parsed, err := url.Parse(pool)
	require.NoError(t, err)
	parsed.User = url.UserPassword(credentials.Username, password.Reveal())
	if place.Isolation == string(tenant.IsolationDatabase) {
		parsed.Path = "/" + place.Name
	}
	return parsed.String()
}

func (p postgresExample) installation() string {
	_, after, _ := strings.Cut(p.read("main.tf"), `installation = "`)
	name, _, _ := strings.Cut(after, `"`)
	return name
}

// removeAll destroys every tenant by hand, without a trace but the archives.
func (p postgresExample) removeAll() {
	t := p.t
	t.Helper()
	for id := range p.status() {
		p.write("tenants/"+id+".tfvars", p.read("tenants/"+id+".tfvars")+"\ndeletion_protection = false\n")
	}
	p.ok("apply")
	p.installProvider()
	for id := range p.status() {
		for _, args := range [][]string{
			{"init", "-no-color"},
			{"workspace", "select", id},
			{"destroy", "-no-color", "-auto-approve", "-var", "tenant_id=" + id, "-var-file=tenants/" + id + ".tfvars"},
		} {
			done := p.command("terraform", args...)
			require.Zero(t, done.code, "%s %v: %s", id, args, done.all())
		}
	}
}
