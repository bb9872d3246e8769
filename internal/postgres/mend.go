package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// objectRepairs compares what is said of the database or schema from outside.
func (s *session) objectRepairs(f *found) []repair {
	own, owner, exists := f.object()
	if !exists || f.at.place.Isolation == tenant.IsolationRow {
		return nil
	}
	var out []repair
	kind := string(f.at.place.Isolation) + " " + f.at.place.Name
	sql := strings.ToUpper(string(f.at.place.Isolation)) + " " + ident(f.at.place.Name)
	if owner != f.at.owner {
		out = append(out, repair{
			what:       "owner of " + kind + " is " + owner,
			statements: []string{"ALTER " + sql + " OWNER TO " + ident(f.at.owner)},
		})
	}
	if s.config.Keyring.Owns(f.at.marked(), parseComment(own, &struct{}{})) != nil {
		out = append(out, repair{
			what: "comment of " + kind + " is not our mark",
			statements: []string{
				"COMMENT ON " + sql + " IS " + literal(s.config.Keyring.Mark(f.at.marked())),
			},
		})
	}
	if f.at.place.Isolation == tenant.IsolationDatabase {
		out = append(out, databaseRepairs(f)...)
	}
	if !f.mine() {
		for n := range out {
			out[n].statements, out[n].loss = nil, "the administrator is no member of role "+owner+
				"; that role or a superuser can give it back"
		}
	}
	return out
}

func databaseRepairs(f *found) []repair {
	var out []repair
	d, name := f.Database, ident(f.at.database)
	if len(d.Public) > 0 {
		out = append(out, repair{
			what:       fmt.Sprintf("everybody has %v on database %s", d.Public, f.at.database),
			statements: []string{"REVOKE ALL ON DATABASE " + name + " FROM PUBLIC"},
		})
	}
	if fmt.Sprint(d.App) != "[CONNECT]" {
		out = append(out, repair{
			what: fmt.Sprintf(
				"role %s has %v on database %s, not CONNECT alone",
				f.at.app,
				d.App,
				f.at.database,
			),
			statements: []string{
				"REVOKE ALL ON DATABASE " + name + " FROM " + ident(f.at.app),
				"GRANT CONNECT ON DATABASE " + name + " TO " + ident(f.at.app),
			},
		})
	}
	if d.Limit != -1 {
		out = append(out, repair{
			what:       fmt.Sprintf("database %s has a connection limit of %d", f.at.database, d.Limit),
			statements: []string{"ALTER DATABASE " + name + " CONNECTION LIMIT -1"},
		})
	}
	if !d.Open { // last: nobody gets in before the rest is right
		out = append(out, repair{
			what:       "database " + f.at.database + " allows no connections",
			statements: []string{"ALTER DATABASE " + name + " ALLOW_CONNECTIONS true"},
		})
	}
	return out
}

// mend brings roles and the object's outside to what they should be, in one transaction with the record.
func (s *session) mend(ctx context.Context, f *found, want record) error {
	var statements []string
	before, anew := f.record, f.record.Incarnation == ""
	if !f.role { // its comment alone said that the object is ours
		created, err := s.newOwner(f.at, want)
		if err != nil {
			return err
		}
		statements, anew = created, true
	}
	if anew {
		f.record = want
	}
	repairs, err := s.roleRepairs(f, want)
	if err != nil {
		return err
	}
	statements = append(statements, statementsOf(repairs)...)
	if outside := statementsOf(s.objectRepairs(f)); len(outside) > 0 {
		statements = append(statements, asOwner(f.at, outside...)...)
	}
	if anew || want.Version != before.Version {
		rotated, err := s.rotate(f, want)
		if err != nil {
			return err
		}
		statements = append(statements, rotated...)
	}
	if f.role && want != before {
		statements = append(statements, s.commentRole(f.at, want))
	}
	if len(statements) == 0 {
		return nil
	}
	if err := s.exec(ctx, "mending the roles and rights of "+f.at.String(), statements...); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "database.mended")
	f.record, f.role = want, true
	return nil
}

func statementsOf(repairs []repair) []string {
	var out []string
	for _, repair := range repairs {
		out = append(out, repair.statements...)
	}
	return out
}
