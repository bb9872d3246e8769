package welcome_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/welcome"
)

const link = "https://acme.app.example.com/login?invitation=Zm9yLXlvdXItZXllcy1vbmx5"

// output is the module's output for a tenant with a custom hostname in that state; "" is one without.
func output(tb testing.TB, verification string, change func(map[string]any)) json.RawMessage {
	tb.Helper()
	values := map[string]any{
		"tenant_id": "acme", "display_name": "Acme & Söhne", "plan": "pro", "seats": 1000000,
		"hostname": "acme.app.example.com", "url": "https://acme.app.example.com",
		"default_hostname": "acme.app.example.com", "custom_hostname": nil, "verification": "none",
		"required_records": []any{},
		"administrator":    map[string]any{"id": "u1", "email": "ada@example.com", "name": "Ada Lovelace"},
		"roles":            []string{"accountant", "reader"},
		"database":         map[string]any{"pool": "shared", "isolation": "schema", "name": "prod_acme"},
		"seeded":           map[string]any{"accounts": 50, "fiscal_years": 1, "empty": 0},
	}
	if verification != "" {
		values["custom_hostname"], values["verification"] = "books.acme.example", verification
		values["required_records"] = []any{map[string]any{
			"purpose": "proof of ownership", "name": "_tenant-challenge.books.acme.example", "type": "CNAME",
			"value": "0a1b2c.claims.app.example.com",
		}}
	}
	if change != nil {
		change(values)
	}
	raw, err := json.Marshal(values)
	require.NoError(tb, err)
	return raw
}

func newData(tb testing.TB, verification string, change func(map[string]any)) welcome.Data {
	tb.Helper()
	data, err := welcome.NewData(output(tb, verification, change))
	require.NoError(tb, err)
	data.Invitation = tenant.Invitation{
		Link: tenant.NewSecret(
			link,
		),
		Expires: time.Date(2026, 3, 8, 13, 0, 0, 0, time.FixedZone("CET", 3600)),
	}
	return data
}

func newMessage(tb testing.TB, data welcome.Data) welcome.Message {
	tb.Helper()
	message, err := welcome.Render(nil, data)
	require.NoError(tb, err)
	message.Tenant, message.Kind, message.From = "acme", welcome.Kind, "onboarding@app.example.com"
	message.MessageID = welcome.MessageID("prod-eu", "acme", welcome.Kind, 1, "app.example.com")
	message.Date = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return message
}

func TestRenderSaysWhatWasRecorded(t *testing.T) {
	t.Parallel()
	message := newMessage(t, newData(t, "", nil))
	require.Equal(t, "Acme & Söhne is ready", message.Subject)
	require.Equal(t, mail.Address{Name: "Ada Lovelace", Address: "ada@example.com"}, message.To)
	for _, text := range []string{message.Text, message.HTML} {
		for _, said := range []string{
			"Ada Lovelace", "https://acme.app.example.com", link, "8 March 2026, 12:00 UTC", "pro", "1000000",
			"accountant, reader", "ada@example.com",
		} {
			require.Contains(t, text, said)
		}
		for _, unsaid := range []string{"own address", "accounts", "fiscal_years", "<no value>", "<nil>", "map[", "shared"} {
			require.NotContains(t, text, unsaid)
		}
	}
	require.Contains(t, message.Text, "Acme & Söhne is ready at")
	require.Contains(t, message.HTML, "Acme &amp; Söhne is ready")
}

func TestCustomHostnameIsPromisedOnlyWhenVerified(t *testing.T) {
	t.Parallel()
	for state, verified := range map[string]bool{"pending": false, "expired": false, "verified": true} {
		data := newData(t, state, nil)
		message := newMessage(t, data)
		for _, text := range []string{message.Text, message.HTML} {
			require.Contains(t, text, "books.acme.example")
			require.Equal(t, verified, strings.Contains(text, "is verified"), state)
			require.Equal(t, !verified, strings.Contains(text, "not connected yet"), state)
			require.Equal(t, !verified, strings.Contains(text, "_tenant-challenge.books.acme.example"), state)
			require.Equal(t, !verified, strings.Contains(text, "0a1b2c.claims.app.example.com"), state)
		}
		require.Equal(t, verified, data.WaitingFor == "")
	}
}

func TestRenderWithoutWhatIsOptional(t *testing.T) {
	t.Parallel()
	data := newData(t, "", func(values map[string]any) {
		for _, name := range []string{
			"plan", "seats", "roles", "seeded", "database", "custom_hostname", "verification", "required_records",
		} {
			delete(values, name)
		}
	})
	data.Invitation = tenant.Invitation{}
	message := newMessage(t, data)
	for _, text := range []string{message.Text, message.HTML} {
		require.Contains(t, text, "Log in as")
		require.NotContains(t, text, "works until")
		require.NotContains(t, text, "Plan")
		require.NotContains(t, text, "Seats")
		require.NotContains(t, text, "Prepared")
	}
	data.Invitation.Link = tenant.NewSecret("https://acme.app.example.com/login")
	require.NotContains(t, newMessage(t, data).Text, "works until", "a link without an expiry")
}

func TestUsersTemplates(t *testing.T) {
	t.Parallel()
	message, err := welcome.Render(fstest.MapFS{
		welcome.SubjectFile: {Data: []byte("Hi\n  {{.Tenant.tenant_id}}\n")},
		welcome.HTMLFile: {
			Data: []byte(`<a href="{{.Invitation.Link}}" title='{{.Tenant.display_name}}'>x</a>`),
		},
	}, newData(t, "", func(values map[string]any) { values["display_name"] = `"'><script>` }))
	require.NoError(t, err)
	require.Equal(t, "Hi acme", message.Subject)
	require.Contains(t, message.Text, "Hello Ada Lovelace", "a file that is not there is the built-in one")
	require.Contains(t, message.HTML, "Zm9yLXlvdXItZXllcy1vbmx5")
	require.NotContains(t, message.HTML, "<script>")

	for name, source := range map[string]string{
		"a name that is not there": `{{.Tenant.nonsense}}`,
		"a nested one":             `{{.Tenant.administrator.nonsense}}`,
		"no field":                 `{{.Nonsense}}`,
		"no template":              `{{`,
		"trips over the link":      `{{len (index .Tenant .Invitation.Link).x}}`,
		"quotes the link":          `{{printf "%d" .Invitation.Link | html | slice 5}}{{template .Invitation.Link}}`,
	} {
		for _, file := range []string{welcome.SubjectFile, welcome.TextFile, welcome.HTMLFile} {
			_, err := welcome.Render(fstest.MapFS{file: {Data: []byte(source)}}, newData(t, "", nil))
			require.True(t, tenant.HasCode(err, tenant.CodeInvalidConfig), "%s: %v", name, err)
			require.ErrorContains(t, err, file)
			require.NotContains(t, err.Error(), link)
		}
	}
	_, err = welcome.Render(fstest.MapFS{welcome.SubjectFile: {Data: []byte(" \n")}}, newData(t, "", nil))
	require.True(t, tenant.HasCode(err, tenant.CodeInvalidConfig), "a mail without a subject")
}

func TestDefaultsCanBeWrittenOut(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(welcome.Defaults(), "*")
	require.NoError(t, err)
	require.ElementsMatch(t, []string{welcome.SubjectFile, welcome.TextFile, welcome.HTMLFile}, files)
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(folder, welcome.Defaults()))
	fromFolder, err := welcome.Render(os.DirFS(folder), newData(t, "pending", nil))
	require.NoError(t, err)
	builtIn, err := welcome.Render(nil, newData(t, "pending", nil))
	require.NoError(t, err)
	require.Equal(t, builtIn, fromFolder)
}

func TestPreviewHoldsNoInvitation(t *testing.T) {
	t.Parallel()
	preview, err := welcome.Preview(nil, newData(t, "pending", nil))
	require.NoError(t, err)
	require.NotContains(t, preview, link)
	require.Contains(t, preview, "https://invitation.invalid/")
	require.Contains(t, preview, "To: Ada Lovelace <ada@example.com>\nSubject: Acme & Söhne is ready\n")
	require.Contains(t, preview, "</html>")
}

func TestUnusableOutput(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{``, `null`, `[]`, `"x"`, `{`} {
		_, err := welcome.NewData(json.RawMessage(raw))
		require.True(t, tenant.HasCode(err, tenant.CodeInvalidConfig), "%q: %v", raw, err)
	}
	for _, email := range []any{nil, "", "nobody", "Ada <ada@example.com>", "ada@example.com\r\nBcc: all@example.com", 7} {
		data := newData(t, "", func(values map[string]any) {
			values["administrator"] = map[string]any{"email": email, "name": "Ada"}
		})
		_, err := welcome.Render(nil, data)
		require.True(t, tenant.HasCode(err, tenant.CodeMailRefused), "%v: %v", email, err)
	}
}

func TestMessagesPrintWithoutTheirTexts(t *testing.T) {
	t.Parallel()
	data := newData(t, "", nil)
	message := newMessage(t, data)
	for _, form := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		require.NotContains(t, fmt.Sprintf(form, message), "Zm9yLXlvdXItZXllcy1vbmx5")
		require.NotContains(t, fmt.Sprintf(form, data), "Zm9yLXlvdXItZXllcy1vbmx5")
	}
}

func TestMessageIDIsOneAnOnboarding(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, installation := range []string{"prod", "prod-acme"} {
		for _, id := range []tenant.ID{"acme", "acme-x", "x"} {
			for _, kind := range []string{welcome.Kind, "goodbye"} {
				for _, onboarding := range []int64{1, 2, 11} {
					messageID := welcome.MessageID(installation, id, kind, onboarding, "app.example.com")
					require.Equal(
						t,
						messageID,
						welcome.MessageID(installation, id, kind, onboarding, "app.example.com"),
					)
					require.False(t, seen[messageID])
					seen[messageID] = true
				}
			}
		}
	}
}

// parts reads a mail the way a mail program does: its head, and the decoded texts by their type.
func parts(tb testing.TB, raw []byte) (mail.Header, map[string]string) {
	tb.Helper()
	read, err := mail.ReadMessage(bytes.NewReader(raw))
	require.NoError(tb, err)
	kind, parameters, err := mime.ParseMediaType(read.Header.Get("Content-Type"))
	require.NoError(tb, err)
	require.Equal(tb, "multipart/alternative", kind)
	texts := map[string]string{}
	reader := multipart.NewReader(read.Body, parameters["boundary"])
	for {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return read.Header, texts
		}
		require.NoError(tb, err)
		require.Equal(tb, "quoted-printable", part.Header.Get("Content-Transfer-Encoding"))
		text, err := io.ReadAll(quotedprintable.NewReader(part))
		require.NoError(tb, err)
		kind, parameters, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
		require.NoError(tb, err)
		require.Equal(tb, "UTF-8", parameters["charset"])
		require.NotContains(tb, texts, kind)
		texts[kind] = strings.ReplaceAll(string(text), "\r\n", "\n")
	}
}

func TestMIMEIsWhatAMailProgramReads(t *testing.T) {
	t.Parallel()
	message := newMessage(t, newData(t, "pending", nil))
	message.From = `"Ledgerline, Inc." <onboarding@app.example.com>`
	raw, err := message.MIME()
	require.NoError(t, err)
	require.NotRegexp(t, `[^\r]\n`, string(raw), "every line ends in CR LF")
	head, texts := parts(t, raw)
	require.Equal(t, map[string]string{"text/plain": message.Text, "text/html": message.HTML}, texts)
	require.Equal(t, "<"+message.MessageID+">", head.Get("Message-Id"))
	date, err := head.Date()
	require.NoError(t, err)
	require.True(t, message.Date.Equal(date))
	from, err := head.AddressList("From")
	require.NoError(t, err)
	require.Equal(t, []*mail.Address{{Name: "Ledgerline, Inc.", Address: "onboarding@app.example.com"}}, from)
	requireHeads(t, head)
}

// requireHeads fails if there is any head line but our own.
func requireHeads(tb testing.TB, head mail.Header) {
	tb.Helper()
	names := make([]string, 0, len(head))
	for name, values := range head {
		require.Len(tb, values, 1, name)
		names = append(names, name)
	}
	require.ElementsMatch(tb, []string{
		"Auto-Submitted", "Content-Type", "Date", "From", "Message-Id", "Mime-Version", "Subject", "To",
	}, names)
}

func TestMIMERefuses(t *testing.T) {
	t.Parallel()
	for code, spoilers := range map[tenant.Code][]func(*welcome.Message){
		tenant.CodeMailRefused: {
			func(m *welcome.Message) { m.From = "" },
			func(m *welcome.Message) { m.From = "a@example.com, b@example.com" },
			func(m *welcome.Message) { m.From = "a@example.com\r\nBcc: b@example.com" },
			func(m *welcome.Message) { m.To.Address = "a@example.com>, <b@example.com" },
			func(m *welcome.Message) { m.To.Address = "a@example.com\r\nBcc: b@example.com" },
		},
		tenant.CodeInternal: {
			func(m *welcome.Message) { m.MessageID = "" },
			func(m *welcome.Message) { m.MessageID = "<a@b>" },
			func(m *welcome.Message) { m.MessageID = "a@b\r\nBcc: b@example.com" },
			func(m *welcome.Message) { m.Date = time.Time{} },
		},
	} {
		for _, spoil := range spoilers {
			message := newMessage(t, newData(t, "", nil))
			spoil(&message)
			_, err := message.MIME()
			require.True(t, tenant.HasCode(err, code), "%v", err)
		}
	}
}

// FuzzHeads has somebody choose their own names: whatever they are, the mail has our head lines, one recipient, and the
// texts that were rendered.
func FuzzHeads(f *testing.F) {
	for _, name := range []string{
		"Acme", "Acme\r\nBcc: all@example.com", "a\nb", "\r\n\r\nbody", "=?utf-8?q?x=0D=0ABcc:_x?=", `"<x@y>, z@w`,
		"株式会社 例\u2028Bcc: x", "\x00\x7f\xff", strings.Repeat("long ", 400), strings.Repeat("x", 1200), "\t", " ",
		"--boundary", "a\x85b", "e\u0301\u202eRTL",
	} {
		f.Add(name, name, name)
	}
	f.Fuzz(func(t *testing.T, display, person, subject string) {
		data := newData(t, "", func(values map[string]any) {
			values["display_name"] = display
			values["administrator"] = map[string]any{"id": "u", "email": "ada@example.com", "name": person}
		})
		message := newMessage(t, data)
		if strings.TrimSpace(subject) != "" {
			message.Subject = subject
		}
		message.To.Name = person
		raw, err := message.MIME()
		require.NoError(t, err)
		head, texts := parts(t, raw)
		requireHeads(t, head)
		to, err := head.AddressList("To")
		require.NoError(t, err)
		require.Len(t, to, 1)
		require.Equal(t, "ada@example.com", to[0].Address)
		decoded, err := new(mime.WordDecoder).DecodeHeader(head.Get("Subject"))
		require.NoError(t, err)
		require.NotContains(t, decoded, "\n")
		require.Len(t, texts, 2)
		require.Contains(t, texts["text/plain"], link)
	})
}

func TestMaildir(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data", "mail")
	sender := welcome.Maildir{Dir: folder}
	first := newMessage(t, newData(t, "pending", nil))
	require.NoError(t, sender.Send(t.Context(), first))
	path := filepath.Join(folder, "acme.welcome.eml")
	require.Equal(t, "is in "+path, sender.Describe(first))
	for name, mode := range map[string]fs.FileMode{folder: 0o700, path: 0o600} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm())
	}

	// The same mail with a fresh link, as a later attempt has it.
	again := newData(t, "pending", nil)
	again.Invitation.Link = tenant.NewSecret("https://acme.app.example.com/login?invitation=c2Vjb25k")
	require.NoError(t, sender.Send(t.Context(), newMessage(t, again)))
	require.Equal(t, []string{"acme.welcome.eml"}, mails(t, folder))
	raw, err := fs.ReadFile(os.DirFS(folder), "acme.welcome.eml")
	require.NoError(t, err)
	_, texts := parts(t, raw)
	require.Contains(t, texts["text/plain"], "c2Vjb25k")

	// Another mail of the same kind: the tenant_id was used again.
	other := newMessage(t, newData(t, "", nil))
	other.MessageID = welcome.MessageID("prod-eu", "acme", welcome.Kind, 2, "app.example.com")
	require.NoError(t, sender.Send(t.Context(), other))
	require.ElementsMatch(t, []string{
		"acme.welcome.eml", "acme.welcome." + first.MessageID + ".eml",
	}, mails(t, folder))
}

// mails are the files in the folder that a person sees.
func mails(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		require.NotContains(t, entry.Name(), ".new", "nothing half done is left over")
		if !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}
	return names
}

func TestMaildirRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	sender := welcome.Maildir{Dir: folder}
	for _, spoil := range []func(*welcome.Message){
		func(m *welcome.Message) { m.Tenant = "../acme" },
		func(m *welcome.Message) { m.Tenant = "" },
		func(m *welcome.Message) { m.Kind = "../welcome" },
		func(m *welcome.Message) { m.Kind = "" },
		func(m *welcome.Message) { m.From = "nobody" },
	} {
		message := newMessage(t, newData(t, "", nil))
		spoil(&message)
		err := sender.Send(t.Context(), message)
		require.Error(t, err)
		require.False(t, welcome.IsUncertain(err))
		require.Equal(t, tenant.Terminal, tenant.FailureOf(err).Class)
	}
	require.Empty(t, mails(t, folder))

	blocked := filepath.Join(folder, "file")
	require.NoError(t, os.WriteFile(blocked, nil, 0o600))
	err := welcome.Maildir{
		Dir: filepath.Join(blocked, "mail"),
	}.Send(
		t.Context(),
		newMessage(t, newData(t, "", nil)),
	)
	require.True(t, tenant.HasCode(err, tenant.CodeStorage), "%v", err)
	require.NotContains(t, err.Error(), link)
}

func TestUncertain(t *testing.T) {
	t.Parallel()
	lost := &welcome.UncertainError{Err: tenant.Fail(tenant.CodeUnavailable, "sending", io.ErrUnexpectedEOF)}
	require.True(t, welcome.IsUncertain(fmt.Errorf("delivering: %w", lost)))
	require.True(t, tenant.HasCode(lost, tenant.CodeUnavailable))
	require.False(t, welcome.IsUncertain(lost.Err))
	require.ErrorIs(t, lost, io.ErrUnexpectedEOF)
}

// TestTheWayInByAReset: where the link is the plain address, the mail says what to choose there.
func TestTheWayInByAReset(t *testing.T) {
	t.Parallel()
	data := newData(t, "none", nil)
	data.Invitation = tenant.Invitation{Link: tenant.NewSecret("https://acme.example/"), Reset: true}
	message, err := welcome.Render(nil, data)
	require.NoError(t, err)
	for _, text := range []string{message.Text, message.HTML} {
		require.Contains(t, text, "https://acme.example/")
		require.Contains(t, text, "Forgot password?")
		require.NotContains(t, text, "This link works until")
	}
}
