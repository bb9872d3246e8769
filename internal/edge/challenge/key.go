package challenge

import (
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"

	"github.com/miekg/dns"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Key is a TSIG key (RFC 8945).
type Key struct {
	Name      string        // fully qualified
	Algorithm string        // as in the algorithm field: "hmac-sha256."
	Secret    tenant.Secret // in base64
}

// ParseKey reads a key as tsig-keygen prints it and BIND reads it: key "NAME" { algorithm …; secret "…"; };
// Its errors have CodeInvalidConfig and hold nothing of the text.
func ParseKey(text string) (Key, error) {
	form := regexp.MustCompile(
		`^\s*key\s+"?([^\s"{]+)"?\s*\{\s*algorithm\s+"?([\w-]+)"?\s*;\s*secret\s+"?([\w+/=]+)"?\s*;\s*\}\s*;?\s*$`,
	)
	match := form.FindStringSubmatch(text)
	if match == nil {
		return Key{}, tenant.Fail(tenant.CodeInvalidConfig, "reading a TSIG key",
			errors.New(`it does not read as: key "NAME" { algorithm hmac-sha256; secret "BASE64"; };`))
	}
	key := Key{dns.CanonicalName(match[1]), dns.CanonicalName(match[2]), tenant.NewSecret(match[3])}
	if err := key.check(); err != nil {
		return Key{}, tenant.Fail(tenant.CodeInvalidConfig, "reading a TSIG key", err)
	}
	return key, nil
}

func (k Key) check() error {
	if k.Name == "" || k.Name == "." {
		return errors.New("the TSIG key has no name: unsigned updates are not made")
	}
	switch k.Algorithm {
	case dns.HmacSHA224, dns.HmacSHA256, dns.HmacSHA384, dns.HmacSHA512:
	default:
		return fmt.Errorf(
			"the algorithm of the TSIG key %s is none of hmac-sha224, -sha256, -sha384 and -sha512",
			k.Name,
		)
	}
	if secret, err := base64.StdEncoding.DecodeString(k.Secret.Reveal()); err != nil || len(secret) == 0 {
		return fmt.Errorf("the secret of the TSIG key %s is not base64", k.Name)
	}
	return nil
}
