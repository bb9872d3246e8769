package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Read looks as the administrator and as the owner, and finds out by logging in whether the passwords are what they
// should be.
func (b *Backend) Read(
	ctx context.Context,
	id tenant.ID,
	place tenant.Place,
) (out tenant.Database, err error) {
	at, err := b.locate(id, place)
	if err != nil {
		return tenant.Database{}, err
	}
	err = b.work(ctx, func(ctx context.Context, s *session) error {
		f, err := s.look(ctx, at)
		if err != nil {
			return err
		}
		out, err = s.read(ctx, f)
		return err
	})
	return out, err
}

func (s *session) read(ctx context.Context, f *found) (tenant.Database, error) {
	if !f.exists {
		return tenant.Database{}, tenant.ErrAbsent
	}
	if f.at.place.Isolation == tenant.IsolationRow {
		return s.readRow(ctx, f)
	}
	drift, err := s.outerDrift(ctx, f)
	if err != nil {
		return tenant.Database{}, err
	}
	in, err := s.enter(ctx, f)
	if shutOut(err) &&
		len(drift) > 0 { // What is inside can't be seen; the drift says why, and the next Ensure mends it.
		return s.database(f, nil, sortDrift(drift)), nil
	}
	if err != nil {
		return tenant.Database{}, err
	}
	defer in.close()
	applied, err := in.applied(ctx)
	if err != nil {
		return tenant.Database{}, err
	}
	drifted, err := in.compare(ctx)
	if err != nil && state(err) != stateUndefinedTable {
		return tenant.Database{}, err
	}
	inner, err := in.innerDrift(ctx, drifted)
	if err != nil {
		return tenant.Database{}, err
	}
	return s.database(f, applied, sortDrift(append(drift, inner...))), nil
}

// outerDrift is what differs in the catalogs that all databases share, and in the passwords.
func (s *session) outerDrift(ctx context.Context, f *found) ([]tenant.Drift, error) {
	var out []tenant.Drift
	if !f.role {
		out = append(out, tenant.Drift{What: missing(f.at.owner)})
	}
	repairs, err := s.repairs(f)
	if err != nil {
		return nil, err
	}
	for _, repair := range repairs {
		out = append(out, tenant.Drift{What: repair.what, Loss: repair.loss})
	}
	for _, of := range s.accounts(f) {
		if role, there := f.Roles[of.role]; !there || !role.Login || f.record.Incarnation == "" {
			continue
		}
		refused, err := s.refused(ctx, f, of)
		if err != nil {
			return nil, err
		}
		if refused {
			out = append(out, tenant.Drift{What: "the password of role " + of.role + " was changed"})
			f.refused = f.refused || of.role != f.at.owner
		}
	}
	return out, nil
}

func (s *session) repairs(f *found) ([]repair, error) {
	if f.record.Incarnation == "" { // nothing can be derived before there is a record
		return s.objectRepairs(f), nil
	}
	roles, err := s.roleRepairs(f, f.record)
	return append(roles, s.objectRepairs(f)...), err
}

// drift is what is left after Ensure: what it can't repair.
func (in *inside) drift(ctx context.Context, drifted []difference) ([]tenant.Drift, error) {
	out, err := in.lost(in.f)
	if err != nil {
		return nil, err
	}
	inner, err := in.innerDrift(ctx, drifted)
	return sortDrift(append(out, inner...)), err
}

// lost is what the administrator sees and can't repair.
func (s *session) lost(f *found) ([]tenant.Drift, error) {
	repairs, err := s.repairs(f)
	var out []tenant.Drift
	for _, repair := range repairs {
		if repair.loss != "" {
			out = append(out, tenant.Drift{What: repair.what, Loss: repair.loss})
		}
	}
	return out, err
}

// innerDrift is what differs within the database or schema.
func (in *inside) innerDrift(ctx context.Context, drifted []difference) ([]tenant.Drift, error) {
	var out []tenant.Drift
	for _, difference := range drifted {
		out = append(out, tenant.Drift{
			What: difference.object + " " + difference.how,
			Loss: "the change, which no migration knows of",
		})
	}
	wrong, err := in.ungranted(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range wrong {
		out = append(out, tenant.Drift{
			What: fmt.Sprintf("role %s has [%s] on %s, not [%s]", in.f.at.app, p.has, p.on, p.wanted),
		})
	}
	owned, err := in.strangers(ctx)
	for _, object := range owned {
		drift := tenant.Drift{What: "owner of " + object.name + " is " + object.owner}
		if !object.mine {
			drift.Loss = "the administrator is no member of that role; it or a superuser can give the object back"
		}
		out = append(out, drift)
	}
	return out, err
}

type owned struct {
	name, owner string
	mine        bool
}

func (in *inside) strangers(ctx context.Context) ([]owned, error) {
	return query(
		ctx,
		in.db,
		"reading the owners in "+in.f.at.String(),
		func(rows *sql.Rows) (o owned, err error) {
			return o, rows.Scan(&o.name, &o.owner, &o.mine)
		},
		strangers,
		in.f.at.schema,
		in.f.at.owner,
		in.whole(),
		in.f.Admin,
	)
}

func sortDrift(drift []tenant.Drift) []tenant.Drift {
	slices.SortFunc(drift, func(a, b tenant.Drift) int { return strings.Compare(a.What, b.What) })
	return drift
}

// owner is an owner role that carries a mark of this installation.
type owner struct {
	role   string
	tenant tenant.ID
	record record
	mark   string
	archived

	isArchive bool
}

// owners returns the marked roles of the installation.
func (s *session) owners(ctx context.Context) ([]owner, error) {
	doing := "listing the tenants of " + s.config.Keyring.Installation()
	rows, err := s.conn.Query(
		ctx,
		`SELECT r.rolname, d.description FROM pg_shdescription d JOIN pg_roles r ON r.oid = d.objoid
		WHERE d.classoid = 'pg_authid'::regclass AND starts_with(d.description, $1) ORDER BY r.rolname`,
		"tenantry1:"+s.config.Keyring.Installation()+":",
	)
	if err != nil {
		return nil, classify(doing, err)
	}
	defer rows.Close()
	var out []owner
	for rows.Next() {
		var one owner
		var text string
		if err := rows.Scan(&one.role, &text); err != nil {
			return nil, classify(doing, err)
		}
		one.mark = parseComment(text, &one.record)
		parseComment(text, &one.archived)
		one.isArchive = !one.At.IsZero()
		if one.tenant, _ = s.config.Keyring.MarkedTenant(one.mark); one.tenant != "" {
			out = append(out, one)
		}
	}
	return out, classify(doing, rows.Err())
}

// listAtOnce is how many databases are read at the same time.
const listAtOnce = 4

// ListDatabases reads the roles in one query and then each database of the pool, a few at a time.
func (b *Backend) ListDatabases(ctx context.Context) (map[tenant.ID]tenant.Database, error) {
	var all []owner
	err := b.work(ctx, func(ctx context.Context, s *session) (err error) {
		all, err = s.owners(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(o owner) bool { return o.isArchive || o.record.Pool != b.config.Pool })
	return b.readAll(ctx, all)
}

func (b *Backend) readAll(ctx context.Context, all []owner) (map[tenant.ID]tenant.Database, error) {
	shared, err := b.sharedDatabase()
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	out, failed, next := map[tenant.ID]tenant.Database{}, []error(nil), make(chan owner)
	for range listAtOnce {
		group.Go(func() {
			for one := range next {
				var database tenant.Database
				err := tenant.Guard("reading the database of tenant "+string(one.tenant), func() (err error) {
					database, err = b.readOwned(ctx, one, shared)
					return err
				})
				mu.Lock()
				switch {
				case err == nil:
					out[one.tenant] = database
				case !isAbsent(err):
					failed = append(failed, err)
				}
				mu.Unlock()
			}
		})
	}
	for _, one := range all {
		next <- one
	}
	close(next)
	group.Wait()
	return out, joined(failed)
}

func (b *Backend) readOwned(ctx context.Context, one owner, shared string) (out tenant.Database, err error) {
	place := tenant.Place{
		Pool:      b.config.Pool,
		Isolation: b.config.Isolation,
		Name:      strings.TrimSuffix(one.role, "_owner"),
	}
	if place.Isolation == tenant.IsolationRow {
		place.Name = shared
	}
	err = tenant.Guard("reading the database of "+string(one.tenant), func() error {
		out, err = b.Read(ctx, one.tenant, place)
		return err
	})
	return out, err
}
