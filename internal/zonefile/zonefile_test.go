package zonefile_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
	"github.com/tenantry/terraform-provider-tenant/internal/zonefile"
)

const zone = "app.example"

func fixedNow() time.Time { return time.Unix(1_760_000_000, 0) }

func open(tb testing.TB, path string) *zonefile.Zone {
	tb.Helper()
	return zonefile.New(
		zonefile.Config{Path: path, Zone: zone, Keyring: tenanttest.Keyring(tb), Now: fixedNow},
	)
}

func newPath(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(tb.TempDir(), "zones", zone+".zone")
}

// records reads the file as a name server does: all of it, by the general parser.
func records(tb testing.TB, path string) []dns.RR {
	tb.Helper()
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(tb, err)
	parser := dns.NewZoneParser(strings.NewReader(string(text)), zone+".", path)
	parser.SetIncludeAllowed(true)
	var all []dns.RR
	for record, ok := parser.Next(); ok; record, ok = parser.Next() {
		all = append(all, record)
	}
	require.NoError(tb, parser.Err())
	return all
}

func serial(tb testing.TB, path string) uint32 {
	tb.Helper()
	for _, record := range records(tb, path) {
		if soa, ok := record.(*dns.SOA); ok {
			return soa.Serial
		}
	}
	return 0
}

// data is what the suites compare.
func data(tb testing.TB, record dns.RR) string {
	tb.Helper()
	switch record := record.(type) {
	case *dns.CNAME:
		return strings.TrimSuffix(record.Target, ".")
	case *dns.A:
		return record.A.String()
	case *dns.AAAA:
		return record.AAAA.String()
	case *dns.TXT:
		// On the wire there are no escapes.
		wire := make([]byte, dns.MaxMsgSize)
		end, err := dns.PackRR(record, wire, 0, nil, false)
		require.NoError(tb, err)
		text, rest := "", wire[end-int(record.Hdr.Rdlength):end]
		for len(rest) > 0 {
			size := int(rest[0])
			text, rest = text+string(rest[1:1+size]), rest[1+size:]
		}
		return text
	default:
		return record.String()
	}
}

func lookup(tb testing.TB, path, name, recordType string) []string {
	tb.Helper()
	var found []string
	for _, record := range records(tb, path) {
		header := record.Header()
		if strings.EqualFold(header.Name, name+".") && dns.TypeToString[header.Rrtype] == recordType {
			found = append(found, data(tb, record))
		}
	}
	slices.Sort(found)
	return found
}

func appendText(tb testing.TB, path, text string) {
	tb.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(tb, err)
	_, err = file.WriteString(text)
	require.NoError(tb, err)
	require.NoError(tb, file.Close())
}

func world(tb testing.TB) tenanttest.RecordsWorld {
	tb.Helper()
	path := newPath(tb)
	ensureFile := func(tb testing.TB) {
		tb.Helper()
		if serial(tb, path) == 0 {
			require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(
				tb,
				os.WriteFile(
					path,
					[]byte("@ 60 IN SOA ns.app.example. me.app.example. 1 2 3 4 5\n@ 60 NS ns\n"),
					0o644,
				),
			)
		}
	}
	return tenanttest.RecordsWorld{
		Open: func(ring *tenant.Keyring) tenant.Records {
			return zonefile.New(zonefile.Config{Path: path, Zone: zone, Keyring: ring, Now: fixedNow})
		},
		Add: func(tb testing.TB, name, recordType, data string) {
			tb.Helper()
			ensureFile(tb)
			if recordType == "TXT" || recordType == "CNAME" {
				data = map[string]string{"TXT": `"` + data + `"`, "CNAME": data + "."}[recordType]
			}
			appendText(tb, path, fmt.Sprintf("%s. 300 IN %s %s\n", name, recordType, data))
		},
		Replace: func(tb testing.TB, name, recordType, data string) {
			tb.Helper()
			text, err := os.ReadFile(path)
			require.NoError(tb, err)
			kept := slices.DeleteFunc(strings.SplitAfter(string(text), "\n"), func(line string) bool {
				return strings.HasPrefix(line, name+".") && strings.Contains(line, "\t"+recordType+"\t")
			})
			if data != "" {
				kept = append(kept, fmt.Sprintf("%s. 300 IN %s %s.\n", name, recordType, data))
			}
			require.NoError(tb, os.WriteFile(path, []byte(strings.Join(kept, "")), 0o644))
		},
		Lookup: func(tb testing.TB, name, recordType string) []string {
			tb.Helper()
			return lookup(tb, path, name, recordType)
		},
		Serial: func(tb testing.TB) uint32 {
			tb.Helper()
			return serial(tb, path)
		},
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	tenanttest.Records(t, world)
}

func cname(id tenant.ID) tenant.Record {
	return tenant.Record{
		Name: tenant.DefaultHostname(
			id,
			zone,
		),
		Type:   "CNAME",
		Values: []string{"edge." + zone},
		TTL:    5 * time.Minute,
	}
}

func ensure(tb testing.TB, z *zonefile.Zone, id tenant.ID) {
	tb.Helper()
	require.NoError(tb, z.Ensure(tb.Context(), id, cname(id), tenant.NoJournal{}))
}

func remove(tb testing.TB, z *zonefile.Zone, id tenant.ID) {
	tb.Helper()
	require.NoError(tb, z.Delete(tb.Context(), id, cname(id).Name, "CNAME", tenant.NoJournal{}))
}

func write(tb testing.TB, path, text string) {
	tb.Helper()
	require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(tb, os.WriteFile(path, []byte(text), 0o644))
}

func read(tb testing.TB, path string) string {
	tb.Helper()
	text, err := os.ReadFile(path)
	require.NoError(tb, err)
	return string(text)
}

func TestNewFile(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	z := open(t, path)
	_, err := z.Read(t.Context(), "acme", cname("acme").Name, "CNAME")
	require.ErrorIs(t, err, tenant.ErrAbsent)
	remove(t, z, "acme")
	require.NoFileExists(t, path, "looking makes no file")
	require.NoDirExists(t, filepath.Dir(path))

	ensure(t, z, "acme")
	require.Equal(t, fixedNow().Unix(), int64(serial(t, path)))
	require.Equal(t, []string{"127.0.0.1"}, lookup(t, path, "edge."+zone, "A"))
	require.Equal(t, []string{"127.0.0.1"}, lookup(t, path, "ns."+zone, "A"))
	require.Len(t, lookup(t, path, zone, "NS"), 1)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o644), info.Mode().Perm(), "a name server of another user reads it")

	remove(t, z, "acme")
	for _, record := range records(t, path) {
		require.NotContains(t, record.String(), "acme")
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 2, "the file and its lock, nothing temporary")
}

func TestTargetElsewhere(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	z := zonefile.New(zonefile.Config{
		Path: path, Zone: zone, Target: "edge.cdn.example.", Keyring: tenanttest.Keyring(t),
	})
	ensure(t, z, "acme")
	require.Empty(t, lookup(t, path, "edge."+zone, "A"), "the target's address is not ours to give")
	require.NoError(t, z.Close())
}

// foreignZone is a file as somebody wrote it by hand: every form that a master file may have.
const foreignZone = `; our zone, edited by hand
$TTL 1h	; an hour
$ORIGIN example.
app	IN SOA ns1.app hostmaster.app (
	2026010100 ; serial, by date
	1d 2h	; "refresh" (and) retry
	4w 300 )
	NS	ns1.app
	NS	ns2.elsewhere.net.
$ORIGIN app.example.
ns1	A	192.0.2.1
; a comment of its own

www	300	IN	A	192.0.2.2	; the site
	AAAA	2001:db8::2
text	TXT	( "a;b(" ; c
	"second \" string" )
MiXeD	CNAME	www
$GENERATE 1-3 host$ A 192.0.2.1$
esc\046aped A 192.0.2.3
last	MX	10 www`

// TestForeignFile: a file that exists is respected, to the byte.
func TestForeignFile(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	write(t, path, foreignZone)
	require.NoError(t, os.Chmod(path, 0o640))
	z := open(t, path)
	ensure(t, z, "acme")
	ensure(t, z, "beta")
	record := cname("acme")
	record.TTL = time.Hour
	require.NoError(t, z.Ensure(t.Context(), "acme", record, tenant.NoJournal{}))
	require.Equal(t, uint32(2026010103), serial(t, path))
	require.True(
		t,
		strings.HasPrefix(read(t, path), strings.Replace(foreignZone, "2026010100", "2026010103", 1)+"\n"),
	)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())

	for _, id := range []tenant.ID{"mixed", "www", "text", "host2", "last"} {
		err := z.Ensure(t.Context(), id, cname(id), tenant.NoJournal{})
		require.True(t, tenant.HasCode(err, tenant.CodeForeign), "%s: %v", id, err)
	}
	err = z.Ensure(t.Context(), "host2", cname("host2"), tenant.NoJournal{})
	require.ErrorContains(t, err, "line 19", "the failure says where")

	remove(t, z, "acme")
	remove(t, z, "beta")
	require.Equal(t, strings.Replace(foreignZone, "2026010100", "2026010105", 1)+"\n", read(t, path))
}

// TestLeaning: somebody wrote lines below ours that take name or TTL from them. They stay the same records.
func TestLeaning(t *testing.T) {
	t.Parallel()
	const head = "@ 60 IN SOA ns.app.example. me.app.example. 1 2 3 4 5\n@ 60 IN NS ns.app.example.\n"
	cases := map[string]string{
		"name":         "\t77 IN MX 10 mail\n",
		"name and TTL": "  IN MX 10 mail ; mine\n\tA 192.0.2.1\n",
		"TTL":          "other IN A 192.0.2.1\nmore A 192.0.2.2\n",
		"TTL, later":   "; a comment\n\n$ORIGIN sub.app.example.\nother A 192.0.2.1\n",
		"nothing":      "other 5 A 192.0.2.1\n",
	}
	for name, foreign := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := newPath(t)
			write(t, path, head)
			z := open(t, path)
			text := tenant.Record{
				Name:   "text." + zone,
				Type:   "TXT",
				Values: []string{"ours"},
				TTL:    99 * time.Second,
			}
			require.NoError(t, z.Ensure(t.Context(), "acme", text, tenant.NoJournal{}))
			appendText(t, path, foreign)
			before := foreignOf(t, path)
			require.NoError(t, z.Delete(t.Context(), "acme", text.Name, "TXT", tenant.NoJournal{}))
			require.Equal(t, before, foreignOf(t, path))
		})
	}
}

// foreignOf is all records but the SOA and ours.
func foreignOf(tb testing.TB, path string) []string {
	tb.Helper()
	var found []string
	for _, record := range records(tb, path) {
		_, isSOA := record.(*dns.SOA)
		text := record.String()
		if !isSOA && !strings.Contains(text, "tenantry1:") && !strings.Contains(text, `"ours"`) {
			found = append(found, text)
		}
	}
	return found
}

// TestReformatted: a tool has rewritten the file in a form of its own; what carries our marks is ours all the same.
func TestReformatted(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	z := open(t, path)
	ensure(t, z, "acme")
	mark := lookup(t, path, "_tenantry.acme."+zone, "TXT")[0]
	write(t, path, "$ORIGIN example.\n$TTL 300\napp IN SOA ns.app me.app 7 2 3 4 5\n\tNS ns.app\n"+
		"$ORIGIN app.example.\nACME ( CNAME\n\tedge ) ; made by a tool\n$ORIGIN acme.app.example.\n_tenantry\tTXT\t"+mark+"\n")
	before := read(t, path)
	ensure(t, z, "acme")
	require.Equal(t, before, read(t, path), "nothing had changed")
	record := cname("acme")
	record.TTL = time.Hour
	require.NoError(t, z.Ensure(t.Context(), "acme", record, tenant.NoJournal{}))
	seen, err := z.Read(t.Context(), "acme", record.Name, "CNAME")
	require.NoError(t, err)
	require.Equal(t, record, seen)
	remove(t, z, "acme")
	require.Empty(t, lookup(t, path, "_tenantry.acme."+zone, "TXT"))
	require.Equal(t, uint32(9), serial(t, path))
}

func TestInclude(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	write(t, path, "@ 60 SOA ns me 1 2 3 4 5\n@ 60 NS ns\n$INCLUDE more.zone\n")
	write(t, filepath.Join(filepath.Dir(path), "more.zone"), "acme 60 A 192.0.2.1\n")
	z := open(t, path)
	err := z.Ensure(t.Context(), "acme", cname("acme"), tenant.NoJournal{})
	require.True(t, tenant.HasCode(err, tenant.CodeForeign), "%v", err)
	ensure(t, z, "beta")
	write(t, filepath.Join(filepath.Dir(path), "more.zone"), "beta 60 A 192.0.2.1\n")
	err = z.Ensure(t.Context(), "beta", cname("beta"), tenant.NoJournal{})
	require.True(
		t,
		tenant.HasCode(err, tenant.CodeForeign),
		"a change in the included file was not seen: %v",
		err,
	)
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	const head = "@ 60 IN SOA ns me 1 2 3 4 5\n@ 60 IN NS ns\n"
	cases := map[string]struct{ text, want string }{
		"bad address":       {head + "x 60 IN A 192.0.2\n", "line 3"},
		"unknown type":      {head + "\n; c\nx 60 IN ADDRESS 192.0.2.1\n", "line 5"},
		"no data":           {head + "x 60 IN A\n", "line 3"},
		"open parenthesis":  {head + "x 60 IN TXT ( a\n\nb\n", "line 3"},
		"closed only":       {head + "x 60 IN TXT a )\n", "line 3"},
		"open quote":        {head + "x 60 IN TXT \"a\n", "line 3"},
		"no name":           {" 60 IN A 192.0.2.1\n", "line 1"},
		"bad name":          {head + strings.Repeat("a", 64) + " 60 IN A 192.0.2.1\n", "line 3"},
		"bad origin":        {head + "$ORIGIN a..b\n", "line 3"},
		"bad TTL":           {head + "$TTL soon\n", "line 3"},
		"unknown directive": {head + "$FOO bar\n", "line 3"},
		"lost include":      {head + "$INCLUDE lost.zone\n", "line 3"},
		"two SOAs":          {head + head, "line 3"},
		"no SOA":            {"x 60 IN A 192.0.2.1\n", "no SOA"},
		"empty":             {"", "no SOA"},
		"another zone":      {"other.example. 60 IN SOA ns me 1 2 3 4 5\n", "other.example"},
		"binary":            {"\x00\x01\x02\xff", "line 1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := newPath(t)
			write(t, path, c.text)
			err := open(t, path).Ensure(t.Context(), "acme", cname("acme"), tenant.NoJournal{})
			require.True(t, tenant.HasCode(err, tenant.CodeInvalidConfig), "%v", err)
			require.Equal(t, tenant.Terminal, tenant.FailureOf(err).Class)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, path)
			require.Equal(t, c.text, read(t, path))
		})
	}
}

// TestSerial: RFC 1982 arithmetic, in all the places where a serial may stand.
func TestSerial(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		soa  string
		want uint32
	}{
		"plain":       {"@ 60 IN SOA ns me 41 2 3 4 5", 42},
		"wraps":       {"@ 60 IN SOA ns me 4294967295 2 3 4 5", 1},
		"half way":    {"@ 60 IN SOA ns me 2147483647 2 3 4 5", 2147483648},
		"own line":    {"@ 60 IN SOA ns me (\n ; 7 is no serial\n\t41;)\n 2 3 4 5 )", 42},
		"no TTL":      {"app.example. SOA ns me (41 2 3 4 5)", 42},
		"lower case":  {"@ 60 in soa ns me 41 2 3 4 5", 42},
		"odd mailbox": {`@ 60 SOA ns a\.b\ c 41 2 3 4 5`, 42},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := newPath(t)
			write(t, path, c.soa+"\n@ 60 IN NS ns\n")
			ensure(t, open(t, path), "acme")
			text := read(t, path)
			require.Equal(t, c.want, serialOf(t, text), text)
		})
	}
}

// serialOf is serial for SOAs that lean on nothing but their own minimum for a TTL.
func serialOf(tb testing.TB, text string) uint32 {
	tb.Helper()
	parser := dns.NewZoneParser(strings.NewReader("$TTL 60\n"+text), zone+".", "")
	record, ok := parser.Next()
	require.True(tb, ok, parser.Err())
	soa, ok := record.(*dns.SOA)
	require.True(tb, ok)
	return soa.Serial
}

// TestDelegated: below a name that is delegated or redirected nobody would ever see our record.
func TestDelegated(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	write(
		t,
		path,
		"@ 60 IN SOA ns me 1 2 3 4 5\n@ 60 IN NS ns\nclaims NS ns.other.example.\nd DNAME other.example.\n",
	)
	z := open(t, path)
	for _, name := range []string{"c1.claims." + zone, "x.y.d." + zone} {
		record := tenant.Record{Name: name, Type: "TXT", Values: []string{"x"}, TTL: time.Minute}
		err := z.Ensure(t.Context(), "acme", record, tenant.NoJournal{})
		require.True(t, tenant.HasCode(err, tenant.CodeForeign), "%v", err)
	}
	ensure(t, z, "acme")
}

// TestOwnConflict: a CNAME stands alone, also among a tenant's own records.
func TestOwnConflict(t *testing.T) {
	t.Parallel()
	z := open(t, newPath(t))
	ensure(t, z, "acme")
	address := tenant.Record{Name: cname("acme").Name, Type: "A", Values: []string{"192.0.2.1"}}
	err := z.Ensure(t.Context(), "acme", address, tenant.NoJournal{})
	require.True(t, tenant.HasCode(err, tenant.CodeConflict), "%v", err)
	require.Equal(t, tenant.Terminal, tenant.FailureOf(err).Class)
}

// TestChangedInPlace: somebody overwrites the file without changing its size, right after we wrote it.
func TestChangedInPlace(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	z := open(t, path)
	for range 20 {
		ensure(t, z, "acme")
		write(t, path, strings.ReplaceAll(read(t, path), "CNAME\tedge.", "CNAME\tevil."))
		seen, err := z.Read(t.Context(), "acme", cname("acme").Name, "CNAME")
		require.NoError(t, err)
		require.Equal(t, []string{"evil." + zone}, seen.Values)
		ensure(t, z, "acme")
		require.Equal(t, []string{"edge." + zone}, lookup(t, path, cname("acme").Name, "CNAME"))
	}
}

func TestLink(t *testing.T) {
	t.Parallel()
	path, link := newPath(t), filepath.Join(t.TempDir(), "link.zone")
	ensure(t, open(t, path), "acme")
	require.NoError(t, os.Symlink(path, link))
	ensure(t, open(t, link), "beta")
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink, "the link was replaced by a file")
	require.NotEmpty(t, lookup(t, path, cname("beta").Name, "CNAME"))
}

// TestLeftOver: a kill between writing and renaming leaves a file that the next run replaces.
func TestLeftOver(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	write(t, path+".new", "half a zo")
	ensure(t, open(t, path), "acme")
	require.NoFileExists(t, path+".new")
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	require.NoError(t, os.MkdirAll(path, 0o700))
	err := open(t, path).Ensure(t.Context(), "acme", cname("acme"), tenant.NoJournal{})
	require.True(t, tenant.HasCode(err, tenant.CodeStorage), "%v", err)
}

const processVariable = "ZONEFILE_TEST_PROCESS"

// TestProcess is no test of its own: TestProcesses runs it in processes of their own.
func TestProcess(t *testing.T) {
	t.Parallel()
	path, number, ok := strings.Cut(os.Getenv(processVariable), "|")
	if !ok {
		return
	}
	z := open(t, path)
	for n := range 10 {
		ensure(t, z, tenant.ID(fmt.Sprintf("p%s-t%d", number, n)))
		remove(t, z, tenant.ID(fmt.Sprintf("p%s-t%d", number, n)))
		ensure(t, z, tenant.ID(fmt.Sprintf("p%s-t%d", number, n)))
	}
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	path, running := newPath(t), []*exec.Cmd{}
	for n := range 4 {
		//nolint:gosec // this test's own program
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestProcess$")
		command.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d", processVariable, path, n))
		require.NoError(t, command.Start())
		running = append(running, command)
	}
	for _, command := range running {
		require.NoError(t, command.Wait())
	}
	found, err := open(t, path).ListRecords(t.Context())
	require.NoError(t, err)
	require.Len(t, found, 40)
	require.Equal(
		t,
		fixedNow().Unix()+4*10*3-1,
		int64(serial(t, path)),
		"one step a change, the first one made the file",
	)
}

// FuzzZone: whatever somebody has written, a record of ours goes in and out without a trace, and everything else stays the
// same records as the general parser reads them.
func FuzzZone(f *testing.F) {
	for _, text := range []string{
		foreignZone, "", "\n", "x A 192.0.2.1", "\tTXT \"a\\\"b\"\n", "$TTL 5\nx TXT (a\n\tb)\n y 7 IN A 192.0.2.1\n",
		"www\tIN\tTXT\t\";\" ; c\n 5 TXT x\n", "X.app.example. 5 IN CNAME y\r\n", "a 1 TXT \\\"\n", "$ORIGIN x\n@ A 192.0.2.1\n",
	} {
		f.Add(text)
	}
	const head = "$TTL 60\n@ IN SOA ns me 1 2 3 4 5\n"
	f.Fuzz(func(t *testing.T, foreign string) {
		if strings.Contains(strings.ToUpper(foreign), "$INCLUDE") ||
			strings.Contains(strings.ToUpper(foreign), "$GENERATE") {
			return // they read files, or make very many records
		}
		path := newPath(t)
		write(t, path, head+foreign)
		z, id := open(t, path), tenant.ID("f0z")
		if z.Ensure(t.Context(), id, cname(id), tenant.NoJournal{}) != nil {
			require.Equal(t, head+foreign, read(t, path))
			return
		}
		before := foreignOf(t, path)
		remove(t, z, id)
		var others []string
		for _, record := range before {
			if !strings.HasPrefix(record, "f0z.") {
				others = append(others, record)
			}
		}
		require.Equal(t, others, foreignOf(t, path))
		require.Equal(t, strings.TrimSuffix(strings.Replace(head, " 1 2", " 3 2", 1)+foreign, "\n"),
			strings.TrimSuffix(read(t, path), "\n"))
	})
}

// BenchmarkEnsure makes and removes a record among those of many tenants.
func BenchmarkEnsure(b *testing.B) {
	for _, tenants := range []int{10, 10_000} {
		b.Run(fmt.Sprint(tenants), func(b *testing.B) {
			path := newPath(b)
			z := open(b, path)
			ensure(b, z, "first")
			var text strings.Builder
			text.WriteString(read(b, path))
			for n := range tenants {
				id := tenant.ID(fmt.Sprintf("tenant-%d", n))
				mark := tenanttest.Keyring(b).Mark(cname(id).Object(id))
				fmt.Fprintf(&text, "_tenantry.%s.\t300\tIN\tTXT\t\"%s\"\n", cname(id).Name, mark)
				fmt.Fprintf(&text, "%s.\t300\tIN\tCNAME\tedge.%s.\n", cname(id).Name, zone)
			}
			write(b, path, text.String())
			b.Run("warm", func(b *testing.B) {
				for b.Loop() {
					ensure(b, z, "bench")
					remove(b, z, "bench")
				}
			})
			b.Run("cold", func(b *testing.B) {
				for b.Loop() {
					_, err := open(b, path).Read(b.Context(), "tenant-7", cname("tenant-7").Name, "CNAME")
					require.NoError(b, err)
				}
			})
		})
	}
}
