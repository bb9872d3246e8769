package postgres

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// record is what is remembered beside the mark in the comment of an owner role.
type record struct {
	Pool        string `json:"pool"`
	Incarnation string `json:"inc"`
	KeyID       string `json:"key"`            // that the passwords are derived with
	Version     int64  `json:"ver"`            // of the passwords
	Slot        int    `json:"slot,omitempty"` // which of the two log-ins has the current password; a rotation takes the other
	ReadOnly    bool   `json:"ro,omitempty"`
}

// archived is what is remembered beside the mark in the comment of an archive.
type archived struct {
	Pool string     `json:"pool"`
	At   time.Time  `json:"at"`
	Keep *time.Time `json:"keep,omitempty"`
}

// built is what is remembered beside the mark in the comment of a template; without it the template is not finished.
type built struct {
	At time.Time `json:"at"`
}

// comment joins a mark and what is remembered beside it.
func comment(mark string, beside any) string {
	encoded, err := json.Marshal(beside)
	if err != nil {
		return mark
	}
	return mark + " " + string(encoded)
}

// parseComment returns the mark of a comment; beside stays as it is if the comment has nothing for it.
func parseComment(text string, beside any) (mark string) {
	mark, encoded, _ := strings.Cut(text, " ")
	_ = json.Unmarshal([]byte(encoded), beside) // what can't be read is not remembered
	return mark
}

const ownerPassword = "database-owner"

// secret derives the password of the application or of the owner.
func (b *Backend) secret(at location, r record, purpose string) (tenant.Secret, error) {
	return b.config.Keyring.Derive(r.state().Ref(at.tenant, purpose))
}

func (r record) state() tenant.SecretState {
	return tenant.SecretState{KeyID: r.KeyID, Version: r.Version, Incarnation: r.Incarnation}
}

// wanted returns the record that a specification asks for: the secrets stay what they are until the version is raised.
func (b *Backend) wanted(has record, spec tenant.DatabaseSpec) record {
	version := max(spec.PasswordVersion, 1)
	if has.Incarnation == "" {
		has = record{Incarnation: newIncarnation(), KeyID: b.config.Keyring.CurrentKeyID(), Version: version}
	}
	if version > has.Version {
		has.KeyID, has.Version, has.Slot = b.config.Keyring.CurrentKeyID(), version, 1-has.Slot%2
	}
	has.Pool, has.ReadOnly = b.config.Pool, spec.ReadOnly
	return has
}
