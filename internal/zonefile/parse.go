package zonefile

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/miekg/dns"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// parser turns the text of a master file into a document. It cuts the text into entries itself, because the general
// parser doesn't say which bytes a record comes from, and has each of them read by it.
type parser struct {
	path   string // for relative $INCLUDE
	origin string // with a trailing dot
	owner  string // of the record before, as the general parser gives it
	ttl    uint32 // what a record without one gets
	given  bool   // by $TTL
	line   int    // of the entry being read
	buffer []byte // to pack a record into
	doc    *document
}

// parse reads a master file. Its errors begin with the line.
func parse(path, origin, text string) (*document, error) {
	count := strings.Count(text, "\n") + 1
	p := parser{path: path, origin: origin, line: 1, doc: &document{
		entries: make([]*entry, 0, count+8), byName: make(map[string][]sighting, count),
	}}
	slab := make([]entry, 0, count)
	sightings := make([]sighting, 0, count)
	for len(text) > 0 {
		line, rest := cutLine(text)
		if record, ok := parsePlain(line); ok {
			slab = append(slab, entry{text: line, kind: single, rr: record})
			e := &slab[len(slab)-1]
			p.doc.entries = append(p.doc.entries, e)
			if _, there := p.doc.byName[record.name]; there {
				p.doc.index(e, record)
			} else {
				// One array behind all names saves an allocation each; the capacity keeps them apart.
				sightings = append(sightings, sighting{record, e})
				n := len(sightings)
				p.doc.byName[record.name] = sightings[n-1 : n : n]
			}
			p.follow(line[:len(record.name)+1], record.ttl)
			text = rest
			p.line++
			continue
		}
		e, rest, err := p.general(text)
		if err != nil {
			return nil, err
		}
		p.doc.entries = append(p.doc.entries, e)
		p.line += strings.Count(e.text, "\n")
		text = rest
	}
	return p.doc, nil
}

func cutLine(text string) (line, rest string) {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1], text[i+1:]
	}
	return text, ""
}

// follow remembers what a record hands on to the next one.
func (p *parser) follow(owner string, ttl uint32) {
	p.owner = owner
	if !p.given {
		p.ttl = ttl
	}
}

// parsePlain reads a line as we write them: NAME. TTL IN TYPE RDATA, without escapes, comments or parentheses. Anything
// else is not wrong: it is for the general parser.
func parsePlain(line string) (rr, bool) {
	name, rest := word(line)
	ttlText, rest := word(rest)
	class, rest := word(rest)
	typeText, rest := word(rest)
	data := strings.TrimSuffix(rest, "\n")
	ttl, err := strconv.ParseUint(ttlText, 10, 31)
	if err != nil || class != "IN" || data == "" || !strings.HasSuffix(name, ".") {
		return rr{}, false
	}
	record := rr{name: strings.TrimSuffix(name, "."), ttl: uint32(ttl)}
	if !tenant.IsPlainName(record.name) {
		return rr{}, false
	}
	var ok bool
	switch typeText {
	case "CNAME":
		record.rrtype, record.value = dns.TypeCNAME, strings.TrimSuffix(data, ".")
		ok = strings.HasSuffix(data, ".") && tenant.IsPlainName(record.value)
	case "TXT":
		record.rrtype = dns.TypeTXT
		record.value, ok = plainText(data)
	case "A", "AAAA":
		record.rrtype = dns.StringToType[typeText]
		record.value, ok = plainAddress(data, typeText)
	}
	return record, ok
}

// word cuts the first word off a line; the rest has no blanks in front.
func word(line string) (first, rest string) {
	end := strings.IndexAny(line, " \t")
	if end < 0 {
		return line, ""
	}
	return line[:end], strings.TrimLeft(line[end:], " \t")
}

func plainText(data string) (string, bool) {
	if len(data) < 2 || len(data) > 257 || data[0] != '"' || data[len(data)-1] != '"' {
		return "", false
	}
	text := data[1 : len(data)-1]
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return "", false
		}
	}
	return text, true
}

func plainAddress(data, recordType string) (string, bool) {
	address, err := netip.ParseAddr(data)
	if err != nil || address.Is4() != (recordType == "A") || address.Zone() != "" {
		return "", false
	}
	return address.String(), true
}

// parseAlone reads one line that we wrote ourselves.
func parseAlone(line string) (rr, error) {
	records, err := readAll(dns.NewZoneParser(strings.NewReader(line), ".", ""))
	if err != nil {
		return rr{}, err
	}
	if len(records) != 1 {
		return rr{}, errors.New("it is not one record")
	}
	return meaning(records[0]), nil
}

// general reads the next entry, whatever it is, and returns what follows it.
func (p *parser) general(text string) (*entry, string, error) {
	size, err := entrySize(text)
	if err != nil {
		return nil, "", fmt.Errorf("line %d: %w", p.line, err)
	}
	e := &entry{text: text[:size]}
	tokens := tokensOf(e.text)
	if len(tokens) == 0 {
		return e, text[size:], nil
	}
	switch first := strings.ToUpper(tokens[0].text); {
	case isBlank(e.text[0]) || first[0] != '$':
		err = p.record(e, tokens)
	case first == "$ORIGIN":
		err = p.setOrigin(e)
	case first == "$TTL":
		err = p.setTTL(e)
	case first == "$INCLUDE", first == "$GENERATE":
		p.doc.included = p.doc.included || first == "$INCLUDE"
		err = p.many(e)
	default:
		err = fmt.Errorf("line %d: unknown directive %s", p.line, first)
	}
	return e, text[size:], err
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// entrySize returns how many bytes the next entry has: to the end of the line on which all parentheses and quotes are closed.
func entrySize(text string) (int, error) {
	depth, quoted, comment := 0, false, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n' && !quoted:
			comment = false
			if depth == 0 {
				return i + 1, nil
			}
		case comment:
		case c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ';':
			comment = true
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
		if depth < 0 {
			return 0, errors.New("a parenthesis is closed that was not opened")
		}
	}
	if quoted || depth > 0 {
		return 0, errors.New("a quote or parenthesis that opens here is never closed")
	}
	return len(text), nil
}

func (p *parser) record(e *entry, tokens []token) error {
	e.leansOn.owner = isBlank(e.text[0])
	if !e.leansOn.owner {
		tokens = tokens[1:]
	}
	e.leansOn.ttl = !p.given && !statesTTL(tokens)
	text := e.text
	if e.leansOn.owner {
		if p.owner == "" {
			return fmt.Errorf("line %d: the first record has no name", p.line)
		}
		text = p.owner + text
	}
	records, err := p.read(text)
	if err != nil {
		return err
	}
	if len(records) != 1 || p.isEmpty(records[0]) {
		return fmt.Errorf("line %d: this is not one record with data", p.line)
	}
	header := records[0].Header()
	e.kind, e.rr = single, meaning(records[0])
	if soa, ok := records[0].(*dns.SOA); ok {
		if p.doc.soa != nil {
			return fmt.Errorf("line %d: a second SOA", p.line)
		}
		p.doc.soa = e
		if e.leansOn.ttl {
			// BIND falls back to the last field of the SOA where nothing else gives a TTL.
			e.rr.ttl = soa.Minttl
		}
	}
	p.follow(header.Name, e.rr.ttl)
	p.doc.index(e, e.rr)
	return nil
}

// statesTTL reports whether a TTL stands among the words before the type: it alone begins with a digit there.
func statesTTL(tokens []token) bool {
	for _, t := range tokens {
		_, isClass := dns.StringToClass[strings.ToUpper(t.text)]
		if !isClass {
			return t.text[0] >= '0' && t.text[0] <= '9'
		}
	}
	return false
}

func (p *parser) setOrigin(e *entry) error {
	records, err := p.read(ended(e.text) + "@ 0 IN A 0.0.0.0\n")
	if err != nil {
		return err
	}
	p.origin = records[0].Header().Name
	return nil
}

func (p *parser) setTTL(e *entry) error {
	records, err := p.read(ended(e.text) + ". IN A 0.0.0.0\n")
	if err != nil {
		return err
	}
	p.ttl, p.given = records[0].Header().Ttl, true
	return nil
}

func ended(text string) string { return strings.TrimSuffix(text, "\n") + "\n" }

// many reads $INCLUDE and $GENERATE, which stand for any number of records.
func (p *parser) many(e *entry) error {
	records, err := p.read(e.text)
	if err != nil {
		return err
	}
	e.kind = directive
	for _, record := range records {
		p.doc.index(e, meaning(record))
	}
	return nil
}

// read has text read by the general parser in the place where it stands.
func (p *parser) read(text string) ([]dns.RR, error) {
	records, err := p.readAt(0, text)
	if err != nil {
		// Once more with as many lines in front, so that the message names the right one.
		_, err = p.readAt(p.line-1, text)
		return nil, fmt.Errorf("line %d: %w", p.line, err)
	}
	return records, nil
}

func (p *parser) readAt(before int, text string) ([]dns.RR, error) {
	general := dns.NewZoneParser(strings.NewReader(strings.Repeat("\n", before)+text), p.origin, p.path)
	general.SetIncludeAllowed(true)
	general.SetDefaultTTL(p.ttl)
	return readAll(general)
}

func readAll(general *dns.ZoneParser) ([]dns.RR, error) {
	var records []dns.RR
	for record, ok := general.Next(); ok; record, ok = general.Next() {
		records = append(records, record)
	}
	return records, general.Err()
}

// isEmpty reports whether the record has no data, which the general parser lets pass because dynamic updates are written so.
func (p *parser) isEmpty(record dns.RR) bool {
	if p.buffer == nil {
		p.buffer = make([]byte, dns.MaxMsgSize)
	}
	if _, err := dns.PackRR(record, p.buffer, 0, nil, false); err != nil {
		return true
	}
	rrtype := record.Header().Rrtype
	return record.Header().Rdlength == 0 && rrtype != dns.TypeAPL && rrtype != dns.TypeNULL
}

func meaning(record dns.RR) rr {
	header := record.Header()
	out := rr{name: tenant.PlainName(header.Name), rrtype: header.Rrtype, ttl: header.Ttl}
	switch record := record.(type) {
	case *dns.A:
		out.value = addressOf(record.A)
	case *dns.AAAA:
		out.value = addressOf(record.AAAA)
	case *dns.CNAME:
		out.value = tenant.PlainName(record.Target)
	case *dns.TXT:
		out.value = tenant.JoinCharacterStrings(record.Txt)
	}
	return out
}

func addressOf(ip []byte) string {
	address, _ := netip.AddrFromSlice(ip)
	return address.Unmap().String()
}
