package rfc2136_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// front stands before a world's server, passes everything on, and lets a test meddle.
type front struct {
	world *world

	mu      sync.Mutex
	meddle  func(question, answer *dns.Msg) reply
	updates int // that were passed on and accepted
}

// reply is what becomes of an answer.
type reply int

const (
	signed   reply = iota
	unsigned       // without a signature
	forged         // with one by nobody who has the key
	cutAfter       // the connection ends instead
	cutFirst       // the connection ends, and the question has not been passed on
)

// putFront returns the front; the world's server is the front from then on.
func putFront(tb testing.TB, w *world, meddle func(question, answer *dns.Msg) reply) *front {
	tb.Helper()
	behind := *w
	f := &front{world: &behind, meddle: meddle}
	var config net.ListenConfig
	listener, err := config.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, listener.Close()) })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { f.serve(tb, &dns.Conn{Conn: conn}) }()
		}
	}()
	w.server = listener.Addr().String()
	return f
}

// serve passes bytes on as they are: the parser would lose what an update leaves out.
func (f *front) serve(tb testing.TB, client *dns.Conn) {
	tb.Helper()
	defer client.Close() //nolint:errcheck // a test may have cut it
	conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", f.world.server)
	if err != nil {
		tb.Error(err)
		return
	}
	server := &dns.Conn{Conn: conn}
	defer server.Close() //nolint:errcheck // it was only talked to
	for {
		wire, err := client.ReadMsgHeader(nil)
		if err != nil {
			return
		}
		question := new(dns.Msg)
		if err := question.Unpack(wire); err != nil || question.IsTsig() == nil {
			tb.Errorf("a message came without a signature: %v", err)
			return
		}
		if f.ask(question, nil) == cutFirst {
			return
		}
		if _, err = server.Write(wire); err != nil {
			tb.Error(err)
			return
		}
		if wire, err = server.ReadMsgHeader(nil); err != nil {
			return
		}
		if !f.answer(tb, client, question, wire) {
			return
		}
	}
}

// answer reports whether the connection goes on.
func (f *front) answer(tb testing.TB, client *dns.Conn, question *dns.Msg, wire []byte) bool {
	tb.Helper()
	answer := new(dns.Msg)
	if err := answer.Unpack(wire); err != nil || answer.IsTsig() == nil {
		tb.Errorf("the server's answer: %v", err)
		return false
	}
	f.count(question, answer)
	how := f.ask(question, answer)
	signature := answer.IsTsig()
	if how == cutAfter {
		return false
	}
	answer.Extra = answer.Extra[:len(answer.Extra)-1]
	var err error
	switch how {
	case signed:
		answer.SetTsig(signature.Hdr.Name, signature.Algorithm, 300, time.Now().Unix())
		wire, _, err = dns.TsigGenerate(answer, f.world.keySecret, question.IsTsig().MAC, false)
	case forged:
		signature.MAC = strings.Repeat("00", len(signature.MAC)/2)
		answer.Extra = append(answer.Extra, signature)
		wire, err = answer.Pack()
	case unsigned, cutFirst, cutAfter:
		wire, err = answer.Pack()
	}
	if err == nil {
		_, err = client.Write(wire)
	}
	return err == nil
}

func (f *front) ask(question, answer *dns.Msg) reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.meddle(question, answer)
}

func (f *front) count(question, answer *dns.Msg) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if isChange(question) && answer.Rcode == dns.RcodeSuccess {
		f.updates++
	}
}

func (f *front) accepted() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.updates
}

// isChange reports whether the message is an update that changes something.
func isChange(m *dns.Msg) bool { return m.Opcode == dns.OpcodeUpdate && len(m.Ns) > 0 }

// once meddles with the first change only.
func once(how reply) func(question, answer *dns.Msg) reply {
	done := false
	return func(question, answer *dns.Msg) reply {
		if done || !isChange(question) || (answer == nil) != (how == cutFirst) {
			return signed
		}
		done = true
		return how
	}
}

// closedPort is an address at which nobody listens.
func closedPort(tb testing.TB) string {
	tb.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	require.NoError(tb, listener.Close())
	return listener.Addr().String()
}
