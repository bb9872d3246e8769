package postgres_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/postgres"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

func now() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// server is the urls of a real server: the administrator's and the superuser's.
type server struct{ name, url, root string }

// serverOf reads them from TENANT_TEST_POSTGRES_NAME_URL and …_ROOT_URL.
func serverOf(tb testing.TB, name string) server {
	tb.Helper()
	prefix := "TENANT_TEST_POSTGRES_" + name
	out := server{name, os.Getenv(prefix + "_URL"), os.Getenv(prefix + "_ROOT_URL")}
	if out.url != "" && out.root != "" {
		return out
	}
	if os.Getenv("CI") != "" {
		tb.Fatalf("%s_URL and %s_ROOT_URL are not set: start the servers with make services", prefix, prefix)
	}
	//nolint:forbidigo // a clone without servers must be able to run its tests; CI has them, and fails above without
	tb.Skipf("%s_URL and %s_ROOT_URL are not set: start the servers with make services", prefix, prefix)
	return server{}
}

// versions are the servers that every suite runs on; the two between them only if TENANT_TEST_PG_ALL is 1.
func versions() []string {
	if os.Getenv("TENANT_TEST_PG_ALL") == "1" {
		return []string{"15", "16", "17", "18"}
	}
	return []string{"15", "18"}
}

// world is one pool on a real server, under an installation that nobody else has.
type world struct {
	server

	isolation tenant.Isolation
	ours      string // installations
	theirs    string
	shared    map[string]string // the shared database of each, but under isolation database

	maxConnections int // of each backend
}

func random(tb testing.TB) string {
	tb.Helper()
	id := make([]byte, 5)
	_, err := rand.Read(id)
	require.NoError(tb, err)
	return hex.EncodeToString(id)
}

func newWorld(tb testing.TB, name string, isolation tenant.Isolation) *world {
	tb.Helper()
	id := random(tb)
	w := &world{serverOf(tb, name), isolation, "o" + id, "n" + id, map[string]string{}, 0}
	for _, installation := range []string{w.ours, w.theirs} {
		w.shared[installation] = "postgres"
		switch isolation {
		case tenant.IsolationSchema: // two installations in one database
			w.shared[installation] = w.ours + "_shared"
		case tenant.IsolationRow:
			w.shared[installation] = installation + "_shared"
		}
	}
	tb.Cleanup(func() { w.remove(tb) })
	for _, name := range slices.Compact([]string{w.shared[w.ours], w.shared[w.theirs]}) {
		if name != "postgres" {
			w.exec(tb, w.url, "CREATE DATABASE "+quoted(name))
		}
	}
	return w
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

// at is the url with another database, and another user if one is given.
func at(tb testing.TB, base, database string, user *url.Userinfo) string {
	tb.Helper()
	out, err := url.Parse(base)
	require.NoError(tb, err)
	out.Path = "/" + database
	if user != nil {
		out.User = user
	}
	return out.String()
}

func (w *world) config(tb testing.TB, installation string) postgres.Config {
	tb.Helper()
	return postgres.Config{
		URL:       tenant.NewSecret(at(tb, w.url, w.shared[installation], nil)),
		Pool:      "the-pool",
		Isolation: w.isolation,
		Keyring:   tenanttest.KeyringOf(tb, installation),
		Now:       now,

		MaxConnections: w.maxConnections,
	}
}

func (w *world) backend(tb testing.TB, installation string) *postgres.Backend {
	tb.Helper()
	return w.open(tb, w.config(tb, installation))
}

func (w *world) open(tb testing.TB, config postgres.Config) *postgres.Backend {
	tb.Helper()
	out := postgres.New(config)
	tb.Cleanup(func() { require.NoError(tb, out.Close()) })
	return out
}

func (w *world) connect(tb testing.TB, to string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(context.WithoutCancel(tb.Context()), to)
	require.NoError(tb, err)
	return conn
}

func hangUp(tb testing.TB, conn *pgx.Conn) {
	tb.Helper()
	require.NoError(tb, conn.Close(context.WithoutCancel(tb.Context())))
}

func (w *world) exec(tb testing.TB, to string, statements ...string) {
	tb.Helper()
	conn := w.connect(tb, to)
	defer hangUp(tb, conn)
	for _, statement := range statements {
		_, err := conn.Exec(context.WithoutCancel(tb.Context()), statement)
		require.NoError(tb, err, statement)
	}
}

// root runs statements as the superuser.
func (w *world) rootExec(tb testing.TB, database string, statements ...string) {
	tb.Helper()
	w.exec(tb, at(tb, w.root, database, nil), statements...)
}

// texts are the rows of a query, as the superuser, their columns joined by "|".
func (w *world) texts(tb testing.TB, database, query string, args ...any) []string {
	tb.Helper()
	conn := w.connect(tb, at(tb, w.root, database, nil))
	defer hangUp(tb, conn)
	rows, err := conn.Query(context.WithoutCancel(tb.Context()), query, args...)
	require.NoError(tb, err)
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		values, err := row.Values()
		parts := make([]string, 0, len(values))
		for _, value := range values {
			parts = append(parts, fmt.Sprint(value))
		}
		return strings.Join(parts, "|"), err
	})
	require.NoError(tb, err)
	return out
}

func (w *world) prefixes() []string { return []string{w.ours + "_", w.theirs + "_"} }

const named = ` EXISTS (SELECT FROM unnest($1::text[]) p WHERE starts_with(%s, p)) `

func (w *world) named(tb testing.TB, query, column string) []string {
	tb.Helper()
	return w.texts(tb, "postgres", query+fmt.Sprintf(named, column)+" ORDER BY 1", w.prefixes())
}

// remove takes everything of the world's two installations off the server.
func (w *world) remove(tb testing.TB) {
	tb.Helper()
	for _, name := range w.named(tb, "SELECT datname FROM pg_database WHERE", "datname") {
		w.rootExec(
			tb,
			"postgres",
			"ALTER DATABASE "+quoted(name)+" IS_TEMPLATE false",
			"DROP DATABASE "+quoted(name)+" WITH (FORCE)",
		)
	}
	for _, name := range w.named(tb, "SELECT rolname FROM pg_roles WHERE", "rolname") {
		w.rootExec(tb, "postgres", "DROP ROLE "+quoted(name))
	}
}

func isArchive(comment string) bool { return strings.Contains(comment, `"at":`) }

// containers are the databases or schemas of the world that are no template and no shared database: name and comment.
func (w *world) containers(tb testing.TB) map[string]string {
	tb.Helper()
	out := map[string]string{}
	add := func(rows []string) {
		for _, row := range rows {
			name, comment, _ := strings.Cut(row, "|")
			if !strings.HasPrefix(name, w.ours+"__") && !strings.HasPrefix(name, w.theirs+"__") {
				out[name] = comment
			}
		}
	}
	if w.isolation == tenant.IsolationRow {
		for _, database := range []string{w.shared[w.ours], w.shared[w.theirs]} {
			if len(w.texts(tb, database, "SELECT 1 FROM pg_class WHERE relname = 'tenantry_tenants'")) > 0 {
				add(w.texts(tb, database, "SELECT '"+database+"/' || tenant_id, mark FROM tenantry_tenants"))
			}
		}
		return out
	}
	if w.isolation == tenant.IsolationDatabase {
		add(
			w.named(
				tb,
				"SELECT datname, coalesce(shobj_description(oid, 'pg_database'), '') FROM pg_database WHERE",
				"datname",
			),
		)
		return out
	}
	for _, database := range slices.Compact([]string{w.shared[w.ours], w.shared[w.theirs]}) {
		add(
			w.texts(
				tb,
				database,
				`SELECT nspname, coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace
			WHERE`+fmt.Sprintf(named, "nspname"),
				w.prefixes(),
			),
		)
	}
	return out
}

func (w *world) pick(tb testing.TB, archives bool) []string {
	tb.Helper()
	var out []string
	for name, comment := range w.containers(tb) {
		if isArchive(comment) == archives {
			out = append(out, name)
		}
	}
	return out
}

// leftovers are roles of tenants that have nothing, and templates that are not finished.
func (w *world) leftovers(tb testing.TB) []string {
	tb.Helper()
	containers, out := w.containers(tb), []string(nil)
	for _, role := range w.named(tb, "SELECT rolname, rolcanlogin FROM pg_roles WHERE", "rolname") {
		name, login, _ := strings.Cut(role, "|")
		if strings.Contains(name, "__") {
			if strings.Contains(name, "__template") && login == "true" {
				out = append(out, role)
			}
			continue
		}
		base := name
		for _, suffix := range []string{"_owner", "_app", "_app_a", "_app_b"} {
			base = strings.TrimSuffix(base, suffix)
		}
		if _, there := containers[base]; !there && w.isolation != tenant.IsolationRow {
			out = append(out, name)
		}
	}
	for _, row := range w.named(tb, "SELECT datname, datistemplate AND NOT datallowconn FROM pg_database WHERE", "datname") {
		if name, done, _ := strings.Cut(row, "|"); strings.Contains(name, "__t_") && done != "true" {
			out = append(out, name)
		}
	}
	return out
}

func (w *world) databaseOf(place tenant.Place) string {
	if w.isolation == tenant.IsolationDatabase {
		return place.Name
	}
	if strings.HasPrefix(place.Name, w.theirs) {
		return w.shared[w.theirs]
	}
	return w.shared[w.ours]
}

// application connects as the tenant's application would.
func (w *world) application(tb testing.TB, id tenant.ID, place tenant.Place) (*pgx.Conn, error) {
	tb.Helper()
	installation := w.ours
	if strings.HasPrefix(place.Name, w.theirs) {
		installation = w.theirs
	}
	pool := postgres.New(w.config(tb, installation))
	defer func() { require.NoError(tb, pool.Close()) }()
	database, err := pool.Read(context.WithoutCancel(tb.Context()), id, place)
	require.NoError(tb, err)
	return w.applicationOf(tb, installation, id, database)
}

func (w *world) applicationOf(
	tb testing.TB, installation string, id tenant.ID, database tenant.Database,
) (*pgx.Conn, error) {
	tb.Helper()
	secret, err := tenanttest.KeyringOf(tb, installation).
		Derive(database.Password.Ref(id, tenant.DatabasePassword))
	require.NoError(tb, err)
	return pgx.Connect(context.WithoutCancel(tb.Context()), at(tb, w.url, w.databaseOf(database.Place),
		url.UserPassword(database.User, secret.Reveal())))
}

// print is everything about the place's database or schema and the tenant's roles.
func (w *world) print(tb testing.TB, place tenant.Place) string {
	tb.Helper()
	out := w.texts(tb, "postgres", `SELECT oid, datname, datdba, datacl::text, datallowconn, datconnlimit,
		shobj_description(oid, 'pg_database'), (SELECT array_agg(setconfig::text) FROM pg_db_role_setting WHERE setdatabase = oid)
		FROM pg_database WHERE datname = $1`, w.databaseOf(place))
	out = append(
		out,
		w.texts(tb, "postgres", `SELECT oid, rolname, rolpassword, rolcanlogin, rolconnlimit, rolvaliduntil,
		shobj_description(oid, 'pg_authid'), (SELECT array_agg(roleid ORDER BY roleid) FROM pg_auth_members WHERE member = a.oid)
		FROM pg_authid a WHERE starts_with(rolname, $1) ORDER BY 1`, w.rolePrefix(place))...)
	if open := w.texts(
		tb,
		"postgres",
		"SELECT datallowconn FROM pg_database WHERE datname = $1",
		w.databaseOf(place),
	); len(open) == 0 ||
		open[0] == "false" {
		return strings.Join(out, "\n")
	}
	schemas := []string{"public"}
	if w.isolation == tenant.IsolationSchema {
		schemas = []string{place.Name}
	}
	database := w.databaseOf(place)
	out = append(
		out,
		w.texts(
			tb,
			database,
			`SELECT oid, nspname, nspowner, nspacl::text, obj_description(oid, 'pg_namespace')
		FROM pg_namespace WHERE nspname = ANY ($1)`,
			schemas,
		)...)
	out = append(out, w.texts(tb, database, `SELECT relname, relfilenode, relowner, relacl::text FROM pg_class
		WHERE relnamespace = ANY ($1::text[]::regnamespace[]) ORDER BY 1`, quotedAll(schemas))...)
	out = append(
		out,
		w.texts(tb, database, `SELECT c.relname, query_to_xml(format('SELECT t.xmin, t.ctid, t FROM %I.%I t
		ORDER BY t.ctid', n.nspname, c.relname), true, false, '')::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = ANY ($1) AND c.relkind IN ('r', 'p') ORDER BY 1`, schemas)...)
	return strings.Join(out, "\n")
}

func (w *world) rolePrefix(place tenant.Place) string {
	if w.isolation == tenant.IsolationRow {
		return w.ours
	}
	return place.Name
}

func quotedAll(names []string) []string {
	out := make([]string, 0, len(names))
	for _, name := range names {
		out = append(out, quoted(name))
	}
	return out
}

func replaceSchema(statement, schema string) string {
	return strings.ReplaceAll(statement, "%s", quoted(schema))
}
