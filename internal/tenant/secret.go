package tenant

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

const redacted = "[secret]"

// Secret is a text that prints, formats and marshals as "[secret]". The text is behind a pointer, so that even the
// printing of a surrounding struct's unexported fields shows an address.
type Secret struct{ text *string }

// NewSecret wraps text.
func NewSecret(text string) Secret { return Secret{text: &text} }

// Reveal returns the text; call it only where the secret is handed to the system that it opens.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Fingerprint identifies the secret without telling it: the first 16 hex digits of its SHA-256. Only for secrets of
// full entropy, such as derived ones.
func (s Secret) Fingerprint() string { return s.Hash()[:16] }

// Hash is the SHA-256 of the secret in hex, fit to be stored by a system that checks it. Only for secrets of full
// entropy.
func (s Secret) Hash() string {
	sum := sha256.Sum256([]byte(s.Reveal()))
	return hex.EncodeToString(sum[:])
}

func (Secret) String() string { return redacted }

// GoString keeps %#v from showing the text.
func (Secret) GoString() string { return redacted }

// MarshalJSON keeps the text out of every JSON document.
func (Secret) MarshalJSON() ([]byte, error) { return json.Marshal(redacted) }
