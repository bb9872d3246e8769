package keycloak

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"strings"
	"unicode"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// userAttribute is the one attribute that a realm has to let us keep with a user: the mark, the e-mail key that it was
// made for, the id of the organization that owns the account, and whether a suspension has disabled it.
const userAttribute = "tenantry"

const suspendedWord = "suspended"

// user is what is stored of a person.
type user struct {
	id, username, email string
	firstName, lastName string
	enabled             bool
	mark                string
	markedEmail         string // the mark is made for it
	organizationID      string // that owns the account
	suspended           bool   // disabled by us, with the tenant
	raw                 json.RawMessage
}

type userRepresentation struct {
	ID         string              `json:"id"`
	Username   string              `json:"username"`
	Email      string              `json:"email"`
	FirstName  string              `json:"firstName"`
	LastName   string              `json:"lastName"`
	Enabled    bool                `json:"enabled"`
	Attributes map[string][]string `json:"attributes"`
}

func readUser(raw json.RawMessage) (user, error) {
	var r userRepresentation
	if err := json.Unmarshal(raw, &r); err != nil {
		return user{}, tenant.Fail(tenant.CodeUnavailable, "reading a user", err)
	}
	out := user{
		id: r.ID, username: r.Username, email: r.Email, firstName: r.FirstName, lastName: r.LastName,
		enabled: r.Enabled, raw: raw,
	}
	if values := r.Attributes[userAttribute]; len(values) == 1 {
		words := strings.Split(values[0], " ")
		for i, into := range []*string{&out.mark, &out.markedEmail, &out.organizationID} {
			if i < len(words) {
				*into = words[i]
			}
		}
		out.suspended = len(words) > 3 && words[3] == suspendedWord
	}
	return out, nil
}

func (u user) attribute() string {
	words := []string{u.mark, u.markedEmail, u.organizationID}
	if u.suspended {
		words = append(words, suspendedWord)
	}
	return strings.Join(words, " ")
}

// representation is the whole user, with what others have written into it: an update with attributes wipes what it
// leaves out.
func (u user) representation() (map[string]any, error) {
	whole, others := map[string]any{}, struct {
		Attributes map[string][]string `json:"attributes"`
	}{}
	if len(u.raw) > 0 {
		if err := json.Unmarshal(u.raw, &whole); err != nil {
			return nil, tenant.Fail(tenant.CodeInternal, "reading a user", err)
		}
		if err := json.Unmarshal(u.raw, &others); err != nil {
			return nil, tenant.Fail(tenant.CodeInternal, "reading a user", err)
		}
	}
	attributes := map[string][]string{}
	maps.Copy(attributes, others.Attributes)
	attributes[userAttribute] = []string{u.attribute()}
	whole["username"], whole["email"], whole["enabled"] = u.username, u.email, u.enabled
	whole["firstName"], whole["lastName"], whole["attributes"] = u.firstName, u.lastName, attributes
	return whole, nil
}

// usernameMin is the shortest user name that a realm accepts by default, in characters.
const usernameMin = 3

// usernameOf is the address where a realm's default rules take it as a user name, else a name made of its hash. People
// log in with their address either way.
func usernameOf(key string) string {
	if len(key) >= usernameMin && !strings.ContainsFunc(key, func(r rune) bool {
		return r > unicode.MaxASCII || strings.ContainsRune(`<>&"$%!#?§,;:*~/\|^=[]{}()`, r) ||
			unicode.IsSpace(r)
	}) {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "user-" + hex.EncodeToString(sum[:16])
}

// namesOf splits a person's name as the server stores it: the last word is the last name. What a realm's default rules
// forbid in names is left out; the organization keeps the name as it was given.
func namesOf(name string) (first, last string) {
	words := strings.FieldsFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) ||
			strings.ContainsRune(`<>&"$%!#?§;*~/\|^=[]{}()`, r)
	})
	if len(words) == 0 {
		return "", ""
	}
	if len(words) == 1 {
		return words[0], ""
	}
	return strings.Join(words[:len(words)-1], " "), words[len(words)-1]
}

// findUser returns the person with that address; one without an id if there is none.
func (a *api) findUser(ctx context.Context, key string) (user, error) {
	return a.searchUser(ctx, "looking for the user "+key, url.Values{"email": {key}, "exact": {"true"}})
}

// findUsername returns the person with that user name; one without an id if there is none.
func (a *api) findUsername(ctx context.Context, username string) (user, error) {
	return a.searchUser(ctx, "looking for the user name "+username,
		url.Values{"username": {username}, "exact": {"true"}})
}

func (a *api) searchUser(ctx context.Context, doing string, query url.Values) (user, error) {
	query.Set("briefRepresentation", "false")
	var raws []json.RawMessage
	if err := a.get(ctx, doing, &raws, query, "users"); err != nil || len(raws) == 0 {
		return user{}, err
	}
	return readUser(raws[0])
}

// userByID returns one without an id if there is none.
func (a *api) userByID(ctx context.Context, id string) (user, error) {
	var raw json.RawMessage
	err := a.get(ctx, "reading a user", &raw, nil, "users", id)
	if absent(err) {
		return user{}, nil
	}
	if err != nil {
		return user{}, err
	}
	return readUser(raw)
}

// createUser returns the user's id. The server sends them nothing.
func (a *api) createUser(ctx context.Context, u user) (string, error) {
	body, err := u.representation()
	if err != nil {
		return "", err
	}
	body["emailVerified"] = false
	made, err := a.post(ctx, "creating the user "+u.email, body, "users")
	return made.id(), err
}

func (a *api) updateUser(ctx context.Context, u user) error {
	body, err := u.representation()
	if err != nil {
		return err
	}
	return a.put(ctx, "changing the user "+u.email, body, "users", u.id)
}

// ownerOf returns the tenant of this installation whose mark the person carries, or a failure with CodeForeign or
// CodeUnknownKey. A mark counts only on the account whose user name belongs to the address that it was made for: a copied
// one claims nothing, and a person who changes their address stays who they are.
func (b *Backend) ownerOf(person user, asking tenant.ID) (tenant.ID, error) {
	id, ok := b.config.Keyring.MarkedTenant(person.mark)
	if !ok {
		id = asking
	}
	key := person.markedEmail
	if key == "" || person.username != usernameOf(key) && person.username != key {
		key = emailKey(person.email)
	}
	return id, b.config.Keyring.Owns(userObject(id, key), person.mark)
}
