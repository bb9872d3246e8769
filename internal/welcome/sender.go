package welcome

import (
	"context"
	"errors"
)

// Sender hands mails over. It is safe for concurrent use.
type Sender interface {
	// Send returns nil once somebody else has taken the mail over for good. After any error it can be called again with
	// the same MessageID, and must be, until it returns nil or a terminal failure. Failures are tenant.Failures:
	// CodeMailRefused is terminal; CodeUnavailable, CodeStorage, CodeBusy and CodeCanceled say that nothing was handed
	// over. An UncertainError says that the mail may have been taken over: sending it again may make a second copy,
	// under the same Message-ID.
	Send(ctx context.Context, message Message) error
	// Describe says where a mail that was sent is now, as the end of a sentence about it.
	Describe(message Message) string
}

// UncertainError is the outcome of a hand-over whose answer was lost.
type UncertainError struct{ Err error }

func (e *UncertainError) Error() string {
	return "the mail may have been delivered, the answer was lost: " + e.Err.Error()
}

func (e *UncertainError) Unwrap() error { return e.Err }

// IsUncertain reports whether the mail may have been handed over in spite of the error.
func IsUncertain(err error) bool {
	var uncertain *UncertainError
	return errors.As(err, &uncertain)
}
