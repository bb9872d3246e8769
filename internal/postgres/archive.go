package postgres

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// archive renames the database or schema and its roles, in one transaction: nobody logs in any more, and what the archive
// is stands in the comments, with a mark of its own.
func (s *session) archive(ctx context.Context, f *found, how tenant.Disposal) error {
	if err := s.awaitIdle(ctx, f, how.Force); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "database.idle")
	to, err := s.archiveLocation(ctx, f.at)
	if err != nil {
		return err
	}
	if err := s.exec(ctx, "archiving "+f.at.String(), s.archiveStatements(f, to, how)...); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "database.archived")
	return nil
}

func (s *session) archiveStatements(f *found, to location, how tenant.Disposal) []string {
	now := s.config.Now().UTC()
	what := archived{Pool: s.config.Pool, At: now}
	if how.Keep > 0 {
		until := now.Add(how.Keep)
		what.Keep = &until
	}
	mark := literal(comment(s.config.Keyring.Mark(to.marked()), what))
	kind := strings.ToUpper(string(f.at.place.Isolation))
	out := []string{join(f.at.owner)}
	var renamed []string
	from, into := f.at.roles(), to.roles()
	for n, name := range from {
		if _, there := f.Roles[name]; there {
			out = append(out, "ALTER ROLE "+ident(name)+" RENAME TO "+ident(into[n]),
				"ALTER ROLE "+ident(into[n])+" NOLOGIN PASSWORD NULL")
			renamed = append(renamed, into[n])
		}
	}
	out = append(out, "COMMENT ON ROLE "+ident(to.owner)+" IS "+mark,
		"ALTER "+kind+" "+ident(f.at.place.Name)+" RENAME TO "+ident(to.place.Name),
		"COMMENT ON "+kind+" "+ident(to.place.Name)+" IS "+mark)
	if f.at.place.Isolation == tenant.IsolationDatabase {
		out = append(out, "ALTER DATABASE "+ident(to.place.Name)+" ALLOW_CONNECTIONS false")
	}
	return append(out, leave(renamed...))
}

// archiveLocation returns where nothing is yet; the tenant's lock keeps it so.
func (s *session) archiveLocation(ctx context.Context, at location) (location, error) {
	stamp := s.config.Now().UTC().Format("20060102T150405")
	for n := 1; ; n++ {
		parts := []string{at.place.Name, strings.ToLower(stamp)}
		if n > 1 {
			parts = append(parts, strconv.Itoa(n))
		}
		place := at.place
		place.Name = tenant.Name(placeMaxLen, parts...)
		to, err := s.locate(at.tenant, place)
		if err != nil {
			return location{}, err
		}
		f, err := s.look(ctx, to)
		if err == nil && !f.exists && len(f.present()) == 0 {
			return to, nil
		}
		if err != nil && !tenant.HasCode(err, tenant.CodeForeign) {
			return location{}, err
		}
	}
}

// ListArchives reads the roles in one query.
func (b *Backend) ListArchives(ctx context.Context) (out []tenant.ArchivedDatabase, err error) {
	err = b.work(ctx, func(ctx context.Context, s *session) error {
		all, err := s.owners(ctx)
		for _, one := range all {
			if !one.isArchive || one.Pool != s.config.Pool {
				continue
			}
			archive := tenant.ArchivedDatabase{
				Tenant:     one.tenant,
				Name:       strings.TrimSuffix(one.role, "_owner"),
				ArchivedAt: one.At,
			}
			if one.Keep != nil {
				archive.KeepUntil = *one.Keep
			}
			out = append(out, archive)
		}
		return err
	})
	slices.SortFunc(out, func(a, b tenant.ArchivedDatabase) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

// Purge ends the sessions that a superuser may have in the archive.
func (b *Backend) Purge(ctx context.Context, archive tenant.ArchivedDatabase) error {
	at, err := b.locate(archive.Tenant, tenant.Place{
		Pool: b.config.Pool, Isolation: b.config.Isolation, Name: archive.Name,
	})
	if err != nil {
		return err
	}
	return b.work(ctx, func(ctx context.Context, s *session) error {
		if err := s.lock(ctx, at.base); err != nil {
			return err
		}
		f, err := s.look(ctx, at)
		if err != nil {
			return err
		}
		var what archived
		if parseComment(f.Roles[at.owner].Comment, &what); f.role && what.At.Equal(time.Time{}) {
			return tenant.Fail(
				tenant.CodeInvalidConfig,
				"purging "+at.String(),
				errors.New("it is no archive"),
			)
		}
		return s.dispose(ctx, f, tenant.Disposal{How: tenant.Drop, Force: true})
	})
}
