package tenant

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// nameSeparator cannot occur in an ID or an installation, so that no two lists of parts give one name.
const nameSeparator = "_"

// nameHashLen is 50 bits of the hash: two of ten thousand tenants collide with a probability of 4e-8.
const nameHashLen = 10

// Name returns the deterministic name made of parts, at most maxLen bytes long. A longer one is cut and ends in a
// hash of the whole, so that two names that agree in their first maxLen bytes still differ. The shortest sensible
// maxLen is 16.
func Name(maxLen int, parts ...string) string {
	whole := strings.Join(parts, nameSeparator)
	if len(whole) <= maxLen {
		return whole
	}
	sum := sha256.Sum256([]byte(whole))
	hash := strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))[:nameHashLen]
	return whole[:maxLen-nameHashLen-1] + nameSeparator + hash
}

const (
	// DatabaseNameMax is the length of the longest name of a database or schema, in bytes. It leaves room for what roles,
	// archives and files add, within the 63 bytes of a PostgreSQL identifier.
	DatabaseNameMax = 48
	// IdentityNameMax is the length of the longest name of an organization and of the longest client id, in bytes.
	IdentityNameMax = 255
)

// DatabaseName is the default name of a tenant's database or schema.
func DatabaseName(installation string, id ID) string {
	return Name(DatabaseNameMax, installation, string(id))
}

// IdentityName is the default name of a tenant's organization, and the client id of its application.
func IdentityName(installation string, id ID) string {
	return Name(IdentityNameMax, installation, string(id))
}
