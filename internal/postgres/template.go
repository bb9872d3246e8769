package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// templatesKept is how many templates of other migrations stay: those of the releases that a fleet is between.
const templatesKept = 4

// template is a database to clone.
type template struct {
	name     string
	migrated bool // it has the migrations
}

// kindTemplate marks templates and the roles that own them.
const kindTemplate tenant.Kind = "template"

func (b *Backend) installationName(parts ...string) string {
	// No tenant has an empty id, so no tenant's name begins like this.
	return tenant.Name(placeMaxLen, append([]string{b.config.Keyring.Installation(), ""}, parts...)...)
}

// templateOwner owns everything in the templates; templateKeeper the templates themselves, because REASSIGN OWNED in a
// clone gives away databases, too.
func (b *Backend) templateOwner() string  { return b.installationName("template", "owner") }
func (b *Backend) templateKeeper() string { return b.installationName("template", "keeper") }

func templateObject(name string) tenant.Object { return tenant.Object{Kind: kindTemplate, Name: name} }

func (b *Backend) templateName(files tenant.Migrations, extensions []string) string {
	encoded, err := json.Marshal(
		[]any{bookkeeping, listing, files.Files, slices.Sorted(slices.Values(extensions))},
	)
	if err != nil {
		encoded = nil // texts and numbers always have an encoding
	}
	sum := sha256.Sum256(encoded)
	return b.installationName("t", hex.EncodeToString(sum[:8]))
}

// template returns a database to clone: one with the migrations, or one with our own tables alone if the migrations can't
// be run once for all. It is built by the first who needs it.
func (s *session) template(ctx context.Context, spec tenant.DatabaseSpec) (*template, error) {
	files, extensions := spec.Migrations, spec.Extensions
	reason, err := personal(files)
	if err != nil {
		return nil, err
	}
	if reason == "" {
		built, err := s.templateOf(ctx, files, extensions)
		if err == nil {
			return &template{built, true}, nil
		}
		if !tenant.HasCode(err, tenant.CodeMigrationFailed) &&
			!tenant.HasCode(err, tenant.CodeInvalidConfig) {
			return nil, err
		}
		// The tenant's own database takes the migrations as far as they go, and fails with the name of the one at fault.
	}
	built, err := s.templateOf(ctx, tenant.Migrations{FS: files.FS}, nil)
	return &template{built, false}, err
}

// personal says why the migrations may leave something else in each database: what they write by chance, or by who runs
// them, must not be the same for all tenants.
func personal(files tenant.Migrations) (string, error) {
	chance := regexp.MustCompile(
		`(?i)\w*(random|uuid)\w*\s*\(|current_database|current_user|current_role|session_user|current_schema`)
	writes := regexp.MustCompile(`(?i)\b(insert|update|merge|copy)\b`)
	var by string
	writing := false
	for _, file := range files.Files {
		contents, err := fs.ReadFile(files.FS, file.Name)
		if err != nil {
			return "", tenant.Fail(tenant.CodeMigrationsFolder, "reading migration "+file.Name, err)
		}
		if found := chance.Find(contents); found != nil && by == "" {
			by = fmt.Sprintf("%s uses %q", file.Name, strings.TrimRight(string(found), "( "))
		}
		writing = writing || writes.Match(contents)
	}
	if !writing {
		return "", nil
	}
	return by, nil
}

const templateQuery = `SELECT coalesce(shobj_description(oid, 'pg_database'), '')
	FROM pg_database WHERE datname = $1 AND datistemplate`

// templateOf returns the name of a finished template.
func (s *session) templateOf(
	ctx context.Context,
	files tenant.Migrations,
	extensions []string,
) (string, error) {
	name := s.templateName(files, extensions)
	if there, err := s.finished(ctx, name); err != nil || there {
		return name, err
	}
	lock := s.templateKeeper()
	if err := s.lock(ctx, lock); err != nil {
		return "", err
	}
	if there, err := s.finished(ctx, name); err != nil || there {
		return name, errorOr(err, func() error { return s.unlock(ctx, lock) })
	}
	if err := s.build(ctx, name, files, extensions); err != nil {
		_ = s.unlock(ctx, lock) // the connection's end would do the same
		return "", err
	}
	return name, s.unlock(ctx, lock)
}

func errorOr(err error, then func() error) error {
	if err != nil {
		return err
	}
	return then()
}

func (s *session) finished(ctx context.Context, name string) (bool, error) {
	rows, err := s.conn.Query(ctx, templateQuery, name)
	if err != nil {
		return false, classify("looking for the template "+name, err)
	}
	defer rows.Close()
	text := ""
	for rows.Next() {
		if err := rows.Scan(&text); err != nil {
			return false, classify("looking for the template "+name, err)
		}
	}
	if err := rows.Err(); err != nil || text == "" {
		return false, classify("looking for the template "+name, err)
	}
	return true, s.config.Keyring.Owns(templateObject(name), parseComment(text, &built{}))
}
