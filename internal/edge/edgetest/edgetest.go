// Package edgetest starts the real systems around the edge for a test: a Caddy and a Pebble of its own, and zones on the
// BIND that scripts/services/bind runs. Each test has an address of its own out of 127.0.0.0/8, on which the ports are
// the same for all: nobody has to look for free ones.
package edgetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The ports on a test's own address.
const (
	HTTPPort      = "5080"
	HTTPSPort     = "5443"
	EdgePort      = "8402"
	directoryPort = "14000"
	rootsPort     = "15000"
)

const (
	patience = 60 * time.Second // for a loaded machine; nothing takes that long
	interval = 10 * time.Millisecond
)

// Variable returns what make services prints under that name.
func Variable(tb testing.TB, name string) string {
	tb.Helper()
	value := os.Getenv(name)
	require.NotEmptyf(tb, value, "%s is not set: start the servers with make services", name)
	return value
}

// Address returns an IP address of this machine that no other test uses.
func Address(tb testing.TB) string {
	tb.Helper()
	b := random(tb, 3)
	return fmt.Sprintf("127.%d.%d.%d", 1+b[0]%254, b[1], 2+b[2]%252)
}

// Name returns a DNS name that no other test uses, with that beginning.
func Name(tb testing.TB, beginning string) string {
	tb.Helper()
	return beginning + hex.EncodeToString(random(tb, 6)) + ".example"
}

func random(tb testing.TB, size int) []byte {
	tb.Helper()
	b := make([]byte, size)
	_, err := rand.Read(b)
	require.NoError(tb, err)
	return b
}

// Process is a program that runs for a test.
type Process struct {
	cmd     *exec.Cmd
	output  *bytes.Buffer
	stopped bool
}

// start runs the program until the test has ended, and shows what it wrote if the test has failed.
func start(tb testing.TB, env []string, program string, args ...string) *Process {
	tb.Helper()
	//nolint:gosec // the programs of the tests
	p := &Process{cmd: exec.CommandContext(context.Background(), program, args...), output: new(bytes.Buffer)}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	require.NoError(tb, p.cmd.Start())
	tb.Cleanup(func() {
		p.Stop(tb)
		if tb.Failed() {
			tb.Logf("%s wrote:\n%s", filepath.Base(program), p.output)
		}
	})
	return p
}

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop ends the program and waits for it; a second call does nothing.
func (p *Process) Stop(tb testing.TB) {
	tb.Helper()
	if p.stopped {
		return
	}
	p.stopped = true
	require.NoError(tb, p.cmd.Process.Signal(syscall.SIGTERM))
	_ = p.cmd.Wait() // however it ended
}

// listening waits until something answers at the address.
func listening(tb testing.TB, address string) {
	tb.Helper()
	dialer := net.Dialer{Timeout: time.Second}
	require.Eventuallyf(tb, func() bool {
		conn, err := dialer.DialContext(context.Background(), "tcp", address)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	}, patience, interval, "nothing answers at %s", address)
}

// StartCaddy runs Caddy with the configuration file, and waits until it answers HTTPS at that address.
func StartCaddy(tb testing.TB, config, address string) *Process {
	tb.Helper()
	home := "HOME=" + tb.TempDir()
	process := start(tb, []string{home, "XDG_CONFIG_HOME=", "XDG_DATA_HOME="},
		Variable(tb, "TENANT_TEST_CADDY"), "run", "--config", config)
	listening(tb, net.JoinHostPort(address, HTTPSPort))
	return process
}

// Validate has Caddy say whether the configuration file is one.
func Validate(tb testing.TB, config string) {
	tb.Helper()
	//nolint:gosec // the program of the tests
	cmd := exec.CommandContext(
		context.Background(), Variable(tb, "TENANT_TEST_CADDY"), "validate", "--config", config)
	cmd.Env = append(os.Environ(), "HOME="+tb.TempDir(), "XDG_CONFIG_HOME=", "XDG_DATA_HOME=")
	out, err := cmd.CombinedOutput()
	require.NoError(tb, err, string(out))
}
