package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/tenantry/terraform-provider-tenant/internal/migrations"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// inside is a connection to a tenant's database or schema, logged in as the owner.
type inside struct {
	*session

	f  *found
	db *sql.DB
}

// enter logs in as the owner. Its error is the driver's own, so that the caller can see why.
func (s *session) enter(ctx context.Context, f *found) (*inside, error) {
	password, err := s.secret(f.at, f.record, ownerPassword)
	if err != nil {
		return nil, err
	}
	db, err := s.open(ctx, login{
		database: f.at.database, role: f.at.owner, password: password, schema: f.at.schema, timeouts: true,
	})
	if err != nil {
		return nil, classify("logging in to "+f.at.String()+" as "+f.at.owner, err)
	}
	in := &inside{s, f, db}
	if err := in.checkHome(ctx); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// errShutOut is what the owner meets who may not use its own schema: everything in it would seem to be absent.
var errShutOut = errors.New("the owner's role may not use the schema")

func (in *inside) checkHome(ctx context.Context) error {
	doing, home := "entering "+in.f.at.String(), false
	err := in.db.QueryRowContext(ctx, `SELECT coalesce(current_schema() = $1, false)`, in.f.at.schema).
		Scan(&home)
	if err != nil || home {
		return classify(doing, err)
	}
	return tenant.Fail(tenant.CodeDatabaseDrift, doing, errShutOut)
}

// checkRecord makes sure that a database without a record of migrations never had one: to run them all again would not
// bring back what they did.
func (in *inside) checkRecord(ctx context.Context) error {
	doing, had := "looking for the record of migrations of "+in.f.at.String(), 0
	err := in.db.QueryRowContext(ctx, `SELECT count(*) FROM tenantry_migrations`).Scan(&had)
	if state(err) == stateUndefinedTable {
		return nil
	}
	if err != nil || had == 0 {
		return classify(doing, err)
	}
	return tenant.Fail(
		tenant.CodeDatabaseDrift,
		doing,
		fmt.Errorf(
			"the table %s is gone or empty, although %d migrations were applied",
			migrations.VersionsTable,
			had,
		),
	)
}

func (in *inside) close() { _ = in.db.Close() } // nothing is unsaved

// whole reports whether every schema of the database is the tenant's.
func (in *inside) whole() bool { return in.f.at.place.Isolation == tenant.IsolationDatabase }

func (in *inside) applied(ctx context.Context) ([]tenant.Migration, error) {
	applied, err := migrations.Applied(ctx, in.db, migrations.PostgreSQL())
	return applied, classify("reading the applied migrations of "+in.f.at.String(), err)
}

// converge is what Ensure does as the owner.
func (in *inside) converge(ctx context.Context, spec tenant.DatabaseSpec) (tenant.Database, error) {
	applied, pending, err := in.pending(ctx, spec)
	if err != nil {
		return tenant.Database{}, err
	}
	if !in.f.fresh {
		if err := in.mend(ctx, in.f, in.wanted(in.f.record, spec)); err != nil {
			return tenant.Database{}, err
		}
	}
	drifted, err := in.prepare(ctx, spec.Extensions)
	if err != nil {
		return tenant.Database{}, err
	}
	if len(pending) > 0 || slices.ContainsFunc(applied, unknown) {
		applied, err = in.migrate(ctx, spec.Migrations)
		err = errors.Join(err, in.remember(ctx, drifted))
	}
	if granted := in.grant(ctx); err == nil {
		err = granted
	}
	if err != nil {
		return tenant.Database{}, err
	}
	if in.f.fresh { // nobody has had the time to change anything
		return in.database(in.f, applied, nil), nil
	}
	drift, err := in.drift(ctx, drifted)
	return in.database(in.f, applied, drift), err
}

// pending returns what is applied and what is not yet. What makes it refuse is found before anything else is changed.
func (in *inside) pending(
	ctx context.Context,
	spec tenant.DatabaseSpec,
) (applied, pending []tenant.Migration, err error) {
	if !in.f.fresh {
		if err := in.retake(ctx); err != nil {
			return nil, nil, err
		}
		if err := in.baseline(ctx, spec); err != nil {
			return nil, nil, err
		}
	}
	if applied, err = in.applied(ctx); err != nil {
		return nil, nil, err
	}
	if len(applied) == 0 && len(spec.Migrations.Files) > 0 && !in.f.fresh {
		if err := in.checkRecord(ctx); err != nil {
			return nil, nil, err
		}
	}
	pending, err = spec.Migrations.Pending(applied)
	return applied, pending, err
}

// retake has the administrator give back what others own in the database; meanwhile the owner is not logged in.
func (in *inside) retake(ctx context.Context) error {
	objects, err := in.strangers(ctx)
	if err != nil || !slices.ContainsFunc(objects, func(o owned) bool { return o.mine }) {
		return err
	}
	in.close()
	if err := in.takeOver(ctx, in.f); err != nil {
		return err
	}
	again, err := in.enter(ctx, in.f)
	if err == nil {
		in.db = again.db
	}
	return err
}

// baseline records what a claimed database has already.
func (in *inside) baseline(ctx context.Context, spec tenant.DatabaseSpec) error {
	if !spec.Claim || spec.Baseline == 0 {
		return nil
	}
	return migrations.Baseline(ctx, in.target(), spec.Migrations, spec.Baseline)
}

func (in *inside) target() migrations.Target { return targetOf(in.db, in.f.at.String()) }

func unknown(done tenant.Migration) bool { return done.SHA256 == "" }

// prepare makes our own tables and the extensions, and returns how the schema differs from what is remembered.
func (in *inside) prepare(ctx context.Context, extensions []string) ([]difference, error) {
	doing := "preparing " + in.f.at.String()
	var there bool
	err := in.db.QueryRowContext(ctx, `SELECT to_regclass('tenantry_schema') IS NOT NULL AND
		to_regclass('tenantry_seed') IS NOT NULL AND to_regclass('tenantry_seed_rows') IS NOT NULL`).Scan(&there)
	if err != nil {
		return nil, classify(doing, err)
	}
	if !there {
		if _, err := in.db.ExecContext(ctx, bookkeeping); err != nil {
			return nil, classify(doing, err)
		}
		tenant.Failpoint(ctx, "database.prepared")
	}
	if err := in.extend(ctx, extensions); err != nil || in.f.fresh {
		return nil, err
	}
	return in.compare(ctx)
}

// extend installs the extensions that are not there.
func (in *inside) extend(ctx context.Context, extensions []string) error {
	return extend(ctx, in.db, extensions, in.f.at.String())
}

func extend(ctx context.Context, db *sql.DB, extensions []string, of string) error {
	for _, name := range extensions {
		doing := "installing the extension " + name + " for " + of
		var there bool
		if err := db.QueryRowContext(ctx, `SELECT count(*) > 0 FROM pg_extension WHERE extname = $1`, name).
			Scan(&there); err != nil {
			return classify(doing, err)
		}
		if there {
			continue
		}
		if _, err := db.ExecContext(ctx, "CREATE EXTENSION IF NOT EXISTS "+ident(name)); err != nil {
			return extensionRefused(doing, name, err)
		}
		tenant.Failpoint(ctx, "database.extended")
	}
	return nil
}

func extensionRefused(doing, name string, err error) error {
	failure := tenant.Fail(tenant.CodeInvalidConfig, doing, err)
	switch state(err) {
	case stateNoPrivilege:
		failure.Remedy = "The extension is not trusted: a superuser has to install it in template1 (or in the shared database) once."
	case "58P01", "0A000":
		failure.Remedy = "Install the package of the extension " + name + " on the server."
	default:
		return classify(doing, err)
	}
	return failure
}

func (in *inside) migrate(ctx context.Context, files tenant.Migrations) ([]tenant.Migration, error) {
	return migrate(ctx, in.db, in.f.at.String(), files)
}

func migrate(
	ctx context.Context,
	db *sql.DB,
	name string,
	files tenant.Migrations,
) ([]tenant.Migration, error) {
	return migrations.Apply(ctx, targetOf(db, name), files)
}

func targetOf(db *sql.DB, name string) migrations.Target {
	return migrations.Target{
		DB:       db,
		Dialect:  migrations.PostgreSQL(),
		Name:     name,
		Classify: classifyMigration,
	}
}

// classifyMigration leaves to the file what is the file's: a statement that took longer than statement_timeout.
func classifyMigration(doing string, err error) error {
	if state(err) == stateQueryCanceled || state(err) == stateNoPrivilege {
		return tenant.Fail(tenant.CodeMigrationFailed, doing, detailed(err))
	}
	return classify(doing, err)
}

// remember records the schema as Ensure leaves it, but for what had been changed before.
func (in *inside) remember(ctx context.Context, drifted []difference) error {
	keep := make([]string, 0, len(drifted))
	for _, difference := range drifted {
		keep = append(keep, difference.object)
	}
	_, err := in.db.ExecContext(
		ctx,
		recordListing,
		in.f.at.schema,
		in.whole(),
		ownTables(),
		in.f.at.app,
		keep,
	)
	return classify("recording the schema of "+in.f.at.String(), err)
}

// difference is an object of the schema that is not as it is remembered.
type difference struct{ object, how string }

func (in *inside) compare(ctx context.Context) ([]difference, error) {
	return query(
		ctx,
		in.db,
		"comparing the schema of "+in.f.at.String(),
		func(rows *sql.Rows) (d difference, err error) {
			return d, rows.Scan(&d.object, &d.how)
		},
		compareListing,
		in.f.at.schema,
		in.whole(),
		ownTables(),
		in.f.at.app,
	)
}

// query collects the rows of a query.
func query[T any](
	ctx context.Context, db querier, doing string, scan func(*sql.Rows) (T, error), text string, args ...any,
) (out []T, err error) {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, classify(doing, err)
	}
	defer func() { err = errors.Join(err, classify(doing, rows.Close())) }()
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, classify(doing, err)
		}
		out = append(out, one)
	}
	return out, classify(doing, rows.Err())
}

// querier is what both a transaction and a database can do.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}
