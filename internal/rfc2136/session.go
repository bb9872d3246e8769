package rfc2136

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/miekg/dns"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// fudge is how far the two clocks may be apart, in seconds (RFC 8945, section 10).
const fudge = 300

// errLost says that the connection ended after a message was sent and before its answer came: what the message asked for may have happened.
var errLost = errors.New("the connection was lost before the answer came")

// session is one TCP connection, on which every message is signed. It is for one goroutine.
type session struct {
	ctx    context.Context //nolint:containedctx // of the one call that the connection lives for
	doing  string
	config Config
	conn   *dns.Conn
	stop   func() bool
}

func (b *Backend) dial(ctx context.Context, doing string) (*session, error) {
	s := &session{ctx: ctx, doing: doing, config: b.config}
	dialer := net.Dialer{Timeout: b.config.Timeout}
	conn, err := dialer.DialContext(ctx, "tcp", b.config.Server)
	if err != nil {
		return nil, s.unanswered(err)
	}
	s.conn = &dns.Conn{Conn: conn}
	s.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
	return s, nil
}

func (s *session) close() {
	s.stop()
	_ = s.conn.Close()
}

// unanswered is the failure of a server that can't be reached or doesn't answer.
func (s *session) unanswered(err error) error {
	if cause := s.ctx.Err(); cause != nil {
		return tenant.Fail(tenant.CodeCanceled, s.doing, cause)
	}
	return tenant.Fail(tenant.CodeUnavailable, s.doing, err)
}

// ask signs and sends the message and returns the signed answer, whatever its RCODE.
func (s *session) ask(m *dns.Msg) (*dns.Msg, error) {
	mac, err := s.send(m)
	if err != nil {
		return nil, err
	}
	answer, _, err := s.receive(m.Id, mac, false)
	return answer, err
}

// send signs anew each time: a message that is sent again must not go without its signature, which signing takes off it.
func (s *session) send(m *dns.Msg) (mac string, err error) {
	m.Id = dns.Id()
	m.SetTsig(s.config.TSIGName, s.config.TSIGAlgorithm, fudge, s.config.Now().Unix())
	wire, mac, err := dns.TsigGenerate(m, s.config.TSIGSecret.Reveal(), "", false)
	if err != nil {
		return "", tenant.Fail(tenant.CodeInternal, s.doing, fmt.Errorf("signing the message: %w", err))
	}
	if err := s.conn.SetDeadline(time.Now().Add(s.config.Timeout)); err != nil {
		return "", s.unanswered(fmt.Errorf("%w: %w", errLost, err))
	}
	if _, err := s.conn.Write(wire); err != nil {
		return "", s.unanswered(fmt.Errorf("%w: %w", errLost, err))
	}
	return mac, nil
}

// receive reads one answer and checks its signature. timersOnly is for the second and later messages of a transfer
// (RFC 8945, section 5.3.1).
func (s *session) receive(
	id uint16,
	mac string,
	timersOnly bool,
) (answer *dns.Msg, nextMAC string, err error) {
	wire, err := s.conn.ReadMsgHeader(nil)
	if err != nil {
		return nil, "", s.unanswered(fmt.Errorf("%w: %w", errLost, err))
	}
	answer = new(dns.Msg)
	if err := answer.Unpack(wire); err != nil {
		return nil, "", tenant.Fail(
			tenant.CodeUnavailable,
			s.doing,
			fmt.Errorf("the answer can't be read: %w", err),
		)
	}
	signature := answer.IsTsig()
	if signature == nil {
		return nil, "", s.unsigned(answer)
	}
	if signature.Error != dns.RcodeSuccess {
		return nil, "", s.keyRefused(signature)
	}
	if err := dns.TsigVerify(wire, s.config.TSIGSecret.Reveal(), mac, timersOnly); err != nil {
		return nil, "", tenant.Fail(tenant.CodeInvalidConfig, s.doing,
			fmt.Errorf("the answer's signature is not by the key %s: %w", s.config.TSIGName, err))
	}
	if answer.Id != id || !answer.Response {
		return nil, "", tenant.Fail(
			tenant.CodeUnavailable,
			s.doing,
			errors.New("the answer is to another question"),
		)
	}
	return answer, signature.MAC, nil
}
