package zonefile

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/miekg/dns"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// document is a master file in memory: its text in entries, and what each of them means.
type document struct {
	entries  []*entry
	byName   map[string][]sighting
	included bool // the file includes others, whose changes its own size and time don't show
	soa      *entry
	dirty    bool
}

// entry is a piece of the text: a record with all its lines, a directive, or a line without either.
type entry struct {
	text string // with its newline
	kind kind
	rr   rr // of a record
	// leansOn says what the text leaves out and the parser takes from the record before.
	leansOn lean
}

type kind byte

const (
	other     kind = iota // blank, a comment or a directive that makes no record
	single                // one record
	directive             // $INCLUDE or $GENERATE
)

type lean struct{ owner, ttl bool }

// rr is what we have to know of a record. The value is empty for types that are never ours.
type rr struct {
	name   string // lower-case, without a trailing dot
	rrtype uint16
	ttl    uint32
	value  string
}

// sighting is a record and the entry that it comes from.
type sighting struct {
	rr rr
	in *entry
}

func (d *document) at(name string) []sighting { return d.byName[name] }

func (d *document) index(e *entry, records ...rr) {
	for _, record := range records {
		d.byName[record.name] = append(d.byName[record.name], sighting{record, e})
	}
}

// text is the whole file.
func (d *document) text() []byte {
	size := 0
	for _, e := range d.entries {
		size += len(e.text)
	}
	out := make([]byte, 0, size)
	for _, e := range d.entries {
		out = append(out, e.text...)
	}
	return out
}

// isText reports whether the file still says what the document does.
func (d *document) isText(text []byte) bool {
	for _, e := range d.entries {
		if len(text) < len(e.text) || string(text[:len(e.text)]) != e.text {
			return false
		}
		text = text[len(e.text):]
	}
	return len(text) == 0
}

// line is the number of the entry's first line.
func (d *document) line(of *entry) int {
	n := 1
	for _, e := range d.entries {
		if e == of {
			break
		}
		n += strings.Count(e.text, "\n")
	}
	return n
}

// foreign is the failure that seen is in the way.
func (d *document) foreign(seen sighting, why error) error {
	return tenant.Fail(tenant.CodeForeign, fmt.Sprintf("looking at %s/%s in line %d",
		seen.rr.name, dns.Type(seen.rr.rrtype), d.line(seen.in)), why)
}

// add appends lines, each one record that is complete in itself.
func (d *document) add(lines []string) error {
	if n := len(d.entries); n > 0 && !strings.HasSuffix(d.entries[n-1].text, "\n") {
		d.entries[n-1].text += "\n"
	}
	return d.insert(len(d.entries), lines)
}

func (d *document) insert(at int, lines []string) error {
	for i, text := range lines {
		record, ok := parsePlain(text)
		if !ok {
			var err error
			if record, err = parseAlone(text); err != nil {
				return tenant.Fail(tenant.CodeInternal, "writing the record "+strconv.Quote(text), err)
			}
		}
		e := &entry{text: text, kind: single, rr: record}
		d.entries = slices.Insert(d.entries, at+i, e)
		d.index(e, record)
	}
	d.dirty = d.dirty || len(lines) > 0
	return nil
}

// replace takes old records out and puts lines where the first of them was.
func (d *document) replace(old []sighting, lines []string) error {
	at := len(d.entries)
	for _, seen := range old {
		if seen.in.kind == directive {
			return tenant.Fail(
				tenant.CodeForeign,
				fmt.Sprintf("changing %s/%s", seen.rr.name, dns.Type(seen.rr.rrtype)),
				fmt.Errorf(
					"%w: the $INCLUDE or $GENERATE in line %d makes it",
					tenant.ErrForeign,
					d.line(seen.in),
				),
			)
		}
		i := slices.Index(d.entries, seen.in)
		d.keepNext(i)
		d.entries = slices.Delete(d.entries, i, i+1)
		d.unindex(seen)
		at, d.dirty = min(at, i), true
	}
	return d.insert(at, lines)
}

func (d *document) unindex(gone sighting) {
	name := gone.rr.name
	d.byName[name] = slices.DeleteFunc(d.byName[name], func(s sighting) bool { return s.in == gone.in })
	if len(d.byName[name]) == 0 {
		delete(d.byName, name)
	}
}

// keepNext spells out what the record after entry i takes from it, so that it stays the same record without it.
func (d *document) keepNext(i int) {
	for _, next := range d.entries[i+1:] {
		if next.kind == other {
			continue
		}
		if next.kind == single {
			next.spellOut()
		}
		return
	}
}

func (e *entry) spellOut() {
	ttl := strconv.FormatUint(uint64(e.rr.ttl), 10)
	owner, rest := dns.Fqdn(e.rr.name), e.text
	if !e.leansOn.owner {
		end := strings.IndexAny(e.text, " \t")
		owner, rest = e.text[:end], e.text[end:]
	}
	switch {
	case e.leansOn.ttl:
		e.text = owner + "\t" + ttl + rest
	case e.leansOn.owner:
		e.text = owner + rest
	}
	e.leansOn = lean{}
}

// raiseSerial gives the zone the next serial (RFC 1982, section 3.1) and leaves the rest of the SOA's text, its
// comments included, as it is. Zero is passed over: some servers take it for none.
func (d *document) raiseSerial() error {
	tokens := tokensOf(d.soa.text)
	if !d.soa.leansOn.owner {
		tokens = tokens[1:]
	}
	at := slices.IndexFunc(tokens, func(t token) bool { return strings.EqualFold(t.text, "SOA") })
	if at < 0 || at+3 >= len(tokens) {
		return errors.New("the SOA's serial was not found")
	}
	old := tokens[at+3]
	serial, err := strconv.ParseUint(old.text, 10, 32)
	if err != nil {
		return fmt.Errorf("the SOA's serial %q is no number: %w", old.text, err)
	}
	next := uint32(serial) + 1 // it wraps as RFC 1982 wants it
	if next == 0 {
		next = 1
	}
	d.soa.text = d.soa.text[:old.start] + strconv.FormatUint(
		uint64(next),
		10,
	) + d.soa.text[old.start+len(old.text):]
	return nil
}

type token struct {
	text  string
	start int
}

// tokensOf splits the text of an entry into words, without comments and parentheses.
func tokensOf(text string) []token {
	var tokens []token
	start, quoted, comment := -1, false, false
	end := func(i int) {
		if start >= 0 {
			tokens = append(tokens, token{text[start:i], start})
		}
		start = -1
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case comment:
			comment = c != '\n'
		case quoted:
			quoted = c != '"'
		case strings.IndexByte(" \t\r\n()", c) >= 0:
			end(i)
		case c == ';':
			end(i)
			comment = true
		default:
			quoted = c == '"'
			if start < 0 {
				start = i
			}
			if c == '\\' {
				i++
			}
		}
	}
	end(len(text))
	return tokens
}
