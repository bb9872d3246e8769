package edgetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// Zone is a zone on the BIND of the tests. One key may write _acme-challenge below it and nothing else.
type Zone struct {
	Name    string
	Server  string // host:port
	KeyFile string // with that key, as tsig-keygen prints it
}

// NewZone makes a zone with the records, lines of a master file, until the test has ended.
func NewZone(tb testing.TB, records string) Zone {
	tb.Helper()
	z := Zone{Name: Name(tb, "z"), Server: Variable(tb, "TENANT_TEST_BIND_ADDR")}
	file := filepath.Join(Variable(tb, "TENANT_TEST_BIND_DIR"), z.Name+".zone")
	const head = "@ 60 SOA ns hostmaster 1 3600 600 86400 60\n@ 60 NS ns\nns 60 A 127.0.0.1\n"
	require.NoError(tb, os.WriteFile(file, []byte(head+records+"\n"), 0o600))
	key := Variable(tb, "TENANT_TEST_BIND_NOBODY_TSIG_NAME")
	rndc(tb, "addzone", z.Name, fmt.Sprintf(
		`{ type primary; file "%[1]s.zone"; update-policy { grant %[2]s name _acme-challenge.%[1]s. TXT; }; };`,
		z.Name,
		key,
	))
	tb.Cleanup(func() { rndc(tb, "delzone", "-clean", z.Name) })
	z.KeyFile = filepath.Join(tb.TempDir(), "challenge.key")
	require.NoError(tb, os.WriteFile(z.KeyFile, fmt.Appendf(nil,
		"key \"%s\" {\n\talgorithm hmac-sha256;\n\tsecret \"%s\";\n};\n",
		key, Variable(tb, "TENANT_TEST_BIND_NOBODY_TSIG_SECRET")), 0o600))
	return z
}

func rndc(tb testing.TB, args ...string) {
	tb.Helper()
	args = append([]string{"-c", Variable(tb, "TENANT_TEST_BIND_RNDC_CONF")}, args...)
	//nolint:gosec // the server's own tool, on the test's own zone
	out, err := exec.CommandContext(context.Background(), "rndc", args...).CombinedOutput()
	require.NoError(tb, err, string(out))
}

// Texts returns the values of the TXT record at the name.
func (z Zone) Texts(tb testing.TB, name string) []string {
	tb.Helper()
	question := new(dns.Msg)
	question.SetQuestion(name+".", dns.TypeTXT)
	client := dns.Client{Net: "tcp", Timeout: 10 * time.Second}
	answer, _, err := client.ExchangeContext(context.Background(), question, z.Server)
	require.NoError(tb, err)
	texts := []string{}
	for _, record := range answer.Answer {
		if text, ok := record.(*dns.TXT); ok {
			texts = append(texts, text.Txt...)
		}
	}
	return texts
}
