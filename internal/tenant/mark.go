package tenant

import (
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

const markPrefix = "tenantry1"

// ErrForeign is what a mark's check answers for an object that is not ours: no mark, another installation's or
// tenant's, a copied or rewritten one. A foreign object is never changed and never deleted.
var ErrForeign = errors.New("not marked as ours")

// Mark returns the text that goes onto the object when it is created: installation, tenant, key id and a tag that
// only a holder of the key can make for this very object. It is at most 255 bytes of printable ASCII without quotes,
// so it fits a DNS character-string, an organization's attribute and a SQL comment.
func (k *Keyring) Mark(o Object) string {
	key := k.keys[0]
	return strings.Join([]string{
		markPrefix, k.installation, string(o.Tenant), key.ID, k.markTag(key, o),
	}, ":")
}

func (k *Keyring) markTag(key Key, o Object) string {
	sum := k.mac(key, "mark", string(o.Tenant), string(o.Kind), o.Name)
	return base64.RawURLEncoding.EncodeToString(sum)
}

// Owns returns nil if mark was made for o by one of the keys. Otherwise the error is a Failure: with CodeForeign
// (it wraps ErrForeign and says whose the object seems to be), or with CodeUnknownKey if the mark names
// this installation and tenant but a key that is not configured.
func (k *Keyring) Owns(o Object, mark string) error {
	parts := strings.Split(mark, ":")
	if len(parts) != 5 || parts[0] != markPrefix {
		return k.foreign(o, "it carries no mark of this tool")
	}
	installation, owner, keyID, tag := parts[1], parts[2], parts[3], parts[4]
	if installation != k.installation || owner != string(o.Tenant) {
		return k.foreign(o, fmt.Sprintf("its mark says tenant %q of installation %q", owner, installation))
	}
	key, err := k.find(keyID)
	if err != nil {
		return fmt.Errorf("checking the mark of %s: %w", o, err)
	}
	if hmac.Equal([]byte(tag), []byte(k.markTag(key, o))) {
		return nil
	}
	return &Failure{
		Code:  CodeForeign,
		Doing: "checking whose " + o.String() + " is",
		Err: fmt.Errorf(
			"%w: its mark names this tenant, but was made for another object, was altered, or was made with "+
				"another key than the %q that is configured now",
			ErrForeign,
			keyID,
		),
		Remedy: "If this is the tenant's own, the key was replaced: put the key back with which it was made. " +
			"Otherwise find out who made it.",
	}
}

// MarkedTenant returns the tenant that a mark of this installation names, without checking the tag: enough to find
// candidates in a list, never enough to claim one.
func (k *Keyring) MarkedTenant(mark string) (ID, bool) {
	parts := strings.Split(mark, ":")
	if len(parts) != 5 || parts[0] != markPrefix || parts[1] != k.installation {
		return "", false
	}
	return ID(parts[2]), true
}

func (k *Keyring) foreign(o Object, why string) error {
	return &Failure{
		Code:  CodeForeign,
		Doing: "checking whose " + o.String() + " is",
		Err:   fmt.Errorf("%w: %s", ErrForeign, why),
	}
}
