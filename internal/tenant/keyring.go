package tenant

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MinKeyLen is the shortest key, in bytes: as long as the output of the hash (RFC 2104, section 3).
const MinKeyLen = 32

// keyIDMaxLen keeps a mark within one DNS character-string.
const keyIDMaxLen = 16

// Key is one secret of an installation and the id by which marks and derived secrets name it.
type Key struct {
	ID     string
	Secret []byte
}

// Keyring marks objects and derives secrets. The first key is current; the others only verify what they once marked.
type Keyring struct {
	installation string
	keys         []Key
}

// NewKeyring checks the keys: at least one, each of MinKeyLen bytes or more, with an id of a-z, 0-9 and '-' that is
// used once. Its errors never contain a secret.
func NewKeyring(installation string, keys []Key) (*Keyring, error) {
	if _, err := ParseInstallation(installation); err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, errors.New("no key is configured")
	}
	seen := map[string]bool{}
	for _, key := range keys {
		if err := checkLabel(key.ID, keyIDMaxLen); err != nil {
			return nil, fmt.Errorf("the key id %q %w", key.ID, err)
		}
		if seen[key.ID] {
			return nil, fmt.Errorf("the key id %q is used twice", key.ID)
		}
		seen[key.ID] = true
		if len(key.Secret) < MinKeyLen {
			return nil, fmt.Errorf("the key %q has %d bytes; at least %d random bytes are needed",
				key.ID, len(key.Secret), MinKeyLen)
		}
	}
	return &Keyring{installation: installation, keys: keys}, nil
}

// ParseKeys reads the form of the environment variable TENANT_KEYS: id:base64, separated by commas, the first is
// current. Its errors name the id or the position, never the secret.
func ParseKeys(s string) ([]Key, error) {
	var keys []Key
	for i, part := range strings.Split(s, ",") {
		id, encoded, ok := strings.Cut(strings.TrimSpace(part), ":")
		if !ok {
			return nil, fmt.Errorf("key %d is not of the form id:base64", i+1)
		}
		key, err := ParseKey(id, encoded)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// ParseKey decodes one key from standard base64 (RFC 4648, section 4), padded or not.
func ParseKey(id, encoded string) (Key, error) {
	secret, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(encoded), "="))
	if err != nil {
		return Key{}, fmt.Errorf("the secret of key %q is not valid base64", id)
	}
	return Key{ID: id, Secret: secret}, nil
}

// Installation returns the installation whose objects this keyring marks.
func (k *Keyring) Installation() string { return k.installation }

// CurrentKeyID returns the id of the key that marks new objects and derives new secrets.
func (k *Keyring) CurrentKeyID() string { return k.keys[0].ID }

func (k *Keyring) find(id string) (Key, error) {
	for _, key := range k.keys {
		if key.ID == id {
			return key, nil
		}
	}
	return Key{}, &Failure{
		Code: CodeUnknownKey, Doing: "looking for the key " + strconv.Quote(id),
		Err: fmt.Errorf("installation %q is configured without the key %q", k.installation, id),
	}
}

func (k *Keyring) mac(key Key, fields ...string) []byte {
	mac := hmac.New(sha256.New, key.Secret)
	for _, field := range append([]string{k.installation}, fields...) {
		// The length before each field keeps two lists of fields from sharing one encoding.
		mac.Write(fmt.Appendf(nil, "%d:%s", len(field), field))
	}
	return mac.Sum(nil)
}

// Tag returns a short public tag (80 bits in hex) over fields, made with the current key. It
// can stand in a DNS label.
func (k *Keyring) Tag(fields ...string) string {
	return hex.EncodeToString(k.mac(k.keys[0], append([]string{"tag"}, fields...)...)[:10])
}

// SecretRef says which derived secret is meant.
type SecretRef struct {
	Tenant  ID
	Purpose string // what it opens: "application", "database"
	Version int64  // raised to rotate
	// Incarnation is a random id made with the object that the secret opens: a tenant_id that is used again gets
	// new secrets.
	Incarnation string
	KeyID       string // "" is the current key
}

// Derive returns the secret that ref names, 32 bytes in base64url, or a Failure with CodeUnknownKey.
func (k *Keyring) Derive(ref SecretRef) (Secret, error) {
	if ref.KeyID == "" {
		ref.KeyID = k.CurrentKeyID()
	}
	key, err := k.find(ref.KeyID)
	if err != nil {
		return Secret{}, err
	}
	sum := k.mac(
		key,
		"secret",
		string(ref.Tenant),
		ref.Purpose,
		strconv.FormatInt(ref.Version, 10),
		ref.Incarnation,
	)
	return NewSecret(base64.RawURLEncoding.EncodeToString(sum)), nil
}
