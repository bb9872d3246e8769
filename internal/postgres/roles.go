package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// repair is a difference between what is and what Ensure leaves, and the statements that end it.
type repair struct {
	what       string
	loss       string   // why it is left as it is; "" if the statements end it
	statements []string // as the administrator, in the URL's database
}

// The administrator is a member of a tenant's roles only while it acts as one: what a server does for each command of
// somebody who is a member of thirty thousand roles takes it seconds.

// join makes the administrator a member of the roles, leave ends that; neither minds if it is so already.
func join(roles ...string) string { return "GRANT " + idents(roles) + " TO CURRENT_USER" }

func leave(roles ...string) string { return "REVOKE " + idents(roles) + " FROM CURRENT_USER" }

// asOwner has statements, which stand in one transaction, run by a member of the owner.
func asOwner(at location, statements ...string) []string {
	return append(append([]string{join(at.owner)}, statements...), leave(at.owner))
}

// newRoles creates the tenant's roles, the owner with its mark first.
func (s *session) newRoles(at location, want record) ([]string, error) {
	owner, err := s.newOwner(at, want)
	if err != nil {
		return nil, err
	}
	login, err := s.newLogin(at, want)
	if err != nil {
		return nil, err
	}
	return append(append(owner, newApp(at)...), login...), nil
}

func (s *session) newOwner(at location, want record) ([]string, error) {
	password, err := s.passwordOf(at, want, ownerPassword)
	if err != nil {
		return nil, err
	}
	return []string{
		"CREATE ROLE " + ident(at.owner) + " LOGIN PASSWORD " + literal(password),
		s.commentRole(at, want),
	}, nil
}

func (s *session) commentRole(at location, want record) string {
	return "COMMENT ON ROLE " + ident(
		at.owner,
	) + " IS " + literal(
		comment(s.config.Keyring.Mark(at.marked()), want),
	)
}

func newApp(at location) []string {
	return []string{"CREATE ROLE " + ident(at.app) + " NOLOGIN"}
}

// newLogin creates the role that the application logs in as while the version of its password is the wanted one.
func (s *session) newLogin(at location, want record) ([]string, error) {
	name := at.login(want)
	password, err := s.passwordOf(at, want, tenant.DatabasePassword)
	if err != nil {
		return nil, err
	}
	out := []string{
		"CREATE ROLE " + ident(name) + " LOGIN PASSWORD " + literal(password) + " IN ROLE " + ident(at.app),
	}
	if setting := searchPath(at); setting != "" {
		out = append(out, "ALTER ROLE "+ident(name)+" SET search_path = "+ident(at.schema))
	}
	return out, nil
}

// searchPath returns the setting that the application's log-in has, as the catalog shows it but for quotes.
func searchPath(at location) string {
	if at.place.Isolation != tenant.IsolationSchema {
		return ""
	}
	return "search_path=" + at.schema
}

func (s *session) passwordOf(at location, want record, purpose string) (string, error) {
	secret, err := s.secret(at, want, purpose)
	if err != nil {
		return "", err
	}
	if purpose == tenant.DatabasePassword {
		return verifier(secret, scramIterations)
	}
	return verifier(secret, ownIterations)
}

func (s *session) setPassword(at location, role string, want record, purpose string) (string, error) {
	password, err := s.passwordOf(at, want, purpose)
	return "ALTER ROLE " + ident(role) + " PASSWORD " + literal(password), err
}

// rotate gives the log-ins the passwords of the wanted version; the log-in of the version before keeps its password. The
// record changes in the same transaction.
func (s *session) rotate(f *found, want record) ([]string, error) {
	at, out := f.at, []string{}
	owner, err := s.setPassword(at, at.owner, want, ownerPassword)
	if err != nil {
		return nil, err
	}
	out = append(out, owner)
	if _, there := f.Roles[at.login(want)]; there {
		login, err := s.setPassword(at, at.login(want), want, tenant.DatabasePassword)
		return append(out, login), err
	}
	if at.login(want) == at.login(f.record) { // it is missing, and so among the repairs
		return out, nil
	}
	login, err := s.newLogin(at, want)
	return append(out, login...), err
}

// roleRepairs compares the roles with what newRoles makes.
func (s *session) roleRepairs(f *found, want record) ([]repair, error) {
	var out []repair
	at := f.at
	if _, there := f.Roles[at.app]; !there {
		out = append(out, repair{what: missing(at.app), statements: newApp(at)})
	}
	current := at.login(f.record)
	if _, there := f.Roles[current]; !there {
		statements, err := s.newLogin(at, f.record)
		if err != nil {
			return nil, err
		}
		out = append(out, repair{what: missing(current), statements: statements})
	}
	for _, name := range at.roles() {
		role, there := f.Roles[name]
		if !there {
			continue
		}
		out = append(out, attributeRepairs(f, name, role)...)
	}
	return append(out, s.rowRepairs(f, want)...), nil
}

func missing(role string) string { return "role " + role + " is missing" }

func attributeRepairs(f *found, name string, role roleState) []repair {
	var out []repair
	alter := func(what, change string) {
		out = append(
			out,
			repair{
				what:       "role " + name + " " + what,
				statements: []string{"ALTER ROLE " + ident(name) + " " + change},
			},
		)
	}
	isLogin, at := name != f.at.app, f.at
	if role.Login != isLogin {
		alter(
			map[bool]string{true: "can't log in", false: "can log in"}[isLogin],
			map[bool]string{true: "LOGIN", false: "NOLOGIN"}[isLogin],
		)
	}
	if role.Limit != -1 {
		alter(fmt.Sprintf("has a connection limit of %d", role.Limit), "CONNECTION LIMIT -1")
	}
	if role.Expires {
		alter("has a password that expires", "VALID UNTIL 'infinity'")
	}
	if role.Creates {
		alter("may create roles or databases", "NOCREATEROLE NOCREATEDB")
	}
	if !role.Inherit {
		alter("does not inherit", "INHERIT")
	}
	if role.Special {
		out = append(out, repair{
			what: "role " + name + " is a superuser, replicates or bypasses row security",
			loss: "only a superuser can take that away",
		})
	}
	if isLogin && name != at.owner {
		out = append(out, loginRepairs(f, name, role)...)
	}
	return out
}

// revoke ends a membership, if it is not somebody else's to end.
func revoke(name string, role roleState, group string) repair {
	out := repair{what: "role " + name + " is a member of " + group}
	if slices.Contains(role.Stuck, group) {
		out.loss = "only the role that has granted it, or a superuser, can revoke it"
		return out
	}
	out.statements = []string{"REVOKE " + ident(group) + " FROM " + ident(name)}
	return out
}

func loginRepairs(f *found, name string, role roleState) []repair {
	var out []repair
	if !f.memberOf(name, f.at.app) {
		out = append(out, repair{
			what:       "role " + name + " is no member of " + f.at.app,
			statements: []string{"GRANT " + ident(f.at.app) + " TO " + ident(name)},
		})
	}
	for _, group := range role.Of {
		if group != f.at.app {
			out = append(out, revoke(name, role, group))
		}
	}
	if want := searchPath(
		f.at,
	); want != "" &&
		(len(role.Settings) != 1 || strings.ReplaceAll(role.Settings[0], `"`, "") != want) {
		out = append(
			out,
			repair{what: "role " + name + " has other settings than its search_path", statements: []string{
				"ALTER ROLE " + ident(name) + " RESET ALL",
				"ALTER ROLE " + ident(name) + " SET search_path = " + ident(f.at.schema),
			}},
		)
	}
	return out
}
