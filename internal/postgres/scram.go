package postgres

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// scramIterations is the least that RFC 7677, section 4, allows: some drivers of applications refuse fewer.
const scramIterations = 4096

// ownIterations is for roles that this package alone logs in as. Iterations make guessing slow; a derived secret of 256
// bits can't be guessed, and each log-in would pay for them.
const ownIterations = 1

// verifier returns what PostgreSQL stores of a password (RFC 5803, section 2), so that the password itself never reaches
// the server's log. Derived secrets are ASCII, which SASLprep (RFC 4013) leaves as it is.
func verifier(secret tenant.Secret, iterations int) (string, error) {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	salted, err := pbkdf2.Key(sha256.New, secret.Reveal(), salt, iterations, sha256.Size)
	if err != nil {
		return "", err
	}
	stored := sha256.Sum256(sign(salted, "Client Key"))
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s",
		iterations, encode(salt), encode(stored[:]), encode(sign(salted, "Server Key"))), nil
}

func sign(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

func newIncarnation() string {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	return hex.EncodeToString(id)
}
