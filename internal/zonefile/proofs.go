package zonefile

import (
	"context"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// challengeLabel is in front of the hostname in the name at which a proof is looked for.
const challengeLabel = "_tenant-challenge."

// Proofs looks for customers' proofs in a master file that stands for the customers' DNS: names in it are absolute,
// with or without a trailing dot, and it needs no SOA. It is for installations that look into no real DNS.
type Proofs struct{ file *masterFile }

var _ tenant.Proofs = (*Proofs)(nil)

// NewProofs returns the proofs in the file at path. It is never made; while it is absent no proof is seen.
func NewProofs(path string) *Proofs { return &Proofs{&masterFile{path: path, origin: "."}} }

// Close forgets what was read.
func (p *Proofs) Close() error {
	p.file.forget()
	return nil
}

// Look reports whether the file has the proof of the claim: see tenant.Proofs. A malformed file is a failure with
// CodeInvalidConfig that names the line.
func (p *Proofs) Look(ctx context.Context, claim tenant.Claim) (bool, error) {
	doing := "looking for " + challengeLabel + claim.Hostname + " in " + p.file.path
	if err := ctx.Err(); err != nil {
		return false, tenant.Fail(tenant.CodeCanceled, doing, err)
	}
	if claim.Target == "" {
		return false, nil
	}
	seen := false
	err := p.file.view(doing, func(doc *document) error {
		seen = slices.ContainsFunc(
			doc.at(challengeLabel+tenant.PlainName(claim.Hostname)),
			func(s sighting) bool {
				return s.rr.proves(tenant.PlainName(claim.Target))
			},
		)
		return nil
	})
	return seen, err
}

// proves reports whether the record is a CNAME to the target or a text in which it stands as a word of its own.
func (r rr) proves(target string) bool {
	switch r.rrtype {
	case dns.TypeCNAME:
		return r.value == target
	case dns.TypeTXT:
		words := strings.FieldsFunc(
			r.value,
			func(c rune) bool { return strings.ContainsRune(" \t=,;\"'", c) },
		)
		return slices.ContainsFunc(words, func(word string) bool { return tenant.PlainName(word) == target })
	default:
		return false
	}
}
