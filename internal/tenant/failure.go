package tenant

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Class says whether time may mend a failure.
type Class string

// The classes. Where several failures meet, terminal beats retryable.
const (
	Retryable Class = "retryable"
	Terminal  Class = "terminal"
)

// Code names what went wrong. Codes are a contract: scripts and dashboards match them.
type Code string

// Failure is an error that a person reads at night and a driver acts upon. The zero Class and Remedy mean those of
// the code.
type Failure struct { //nolint:errname // "failure" is the design's word, and the name is a contract
	Code       Code
	Class      Class
	Step       Step
	RetryAfter time.Duration // what the other side asked for; 0 if it did not
	Doing      string        // what was being done, to what: "creating the database prod_acme"
	Err        error         // why it failed
	Remedy     string        // what a person should do now
}

func (f *Failure) Error() string {
	if f.Err == nil {
		return f.Doing
	}
	return f.Doing + ": " + f.Err.Error()
}

func (f *Failure) Unwrap() error { return f.Err }

// Fail returns a Failure with the code's own class and remedy. An err that already is a Failure keeps its code: the
// place nearest to the fault knows best.
func Fail(code Code, doing string, err error) *Failure {
	if inner, ok := errors.AsType[*Failure](err); ok {
		outer := *inner
		outer.Doing, outer.Err = doing, err
		return &outer
	}
	return &Failure{Code: code, Doing: doing, Err: err}
}

// FailureOf returns the Failure in err's chain with class and remedy filled in. An error without one is an internal
// fault: terminal, because nobody has thought about trying it again.
func FailureOf(err error) Failure {
	found, ok := errors.AsType[*Failure](err)
	if !ok {
		found = &Failure{Code: CodeInternal, Doing: "an operation without a classified failure", Err: err}
	}
	out := *found
	info := out.Code.Info()
	if out.Class == "" {
		out.Class = info.Class
	}
	if out.Remedy == "" {
		out.Remedy = info.Remedy
	}
	return out
}

// HasCode reports whether err is a failure with that code.
func HasCode(err error, code Code) bool {
	found, ok := errors.AsType[*Failure](err)
	return ok && found.Code == code
}

// WithStep returns a copy that says which step failed.
func (f Failure) WithStep(step Step) Failure {
	f.Step = step
	return f
}

const failurePrefix = "tenant-failure: "

// Line is the last line of every diagnostic: what a driver reads, whichever side of Terraform it stands on.
func (f Failure) Line() string {
	seconds := int64((f.RetryAfter + time.Second - 1) / time.Second)
	return fmt.Sprintf(
		"%scode=%s class=%s step=%s retry_after_s=%d",
		failurePrefix,
		f.Code,
		f.Class,
		f.Step,
		seconds,
	)
}

// ParseFailureLine finds the line in a diagnostic's detail. Only the last line counts: text that a foreign system sent
// and that is quoted further up can't pass for ours.
func ParseFailureLine(detail string) (Failure, bool) {
	lines := strings.Split(strings.TrimRight(detail, "\n"), "\n")
	form := regexp.MustCompile(
		`^tenant-failure: code=([a-z_]+) class=(retryable|terminal) step=([a-z]*) retry_after_s=(\d{1,9})$`)
	match := form.FindStringSubmatch(lines[len(lines)-1])
	if match == nil {
		return Failure{}, false
	}
	seconds, err := strconv.ParseInt(match[4], 10, 64)
	if err != nil {
		return Failure{}, false
	}
	return Failure{
		Code: Code(match[1]), Class: Class(match[2]), Step: Step(match[3]),
		RetryAfter: time.Duration(seconds) * time.Second,
	}, true
}

// Guard runs work and turns a panic into a terminal failure, so that one tenant's bug never ends the fleet. Every
// goroutine of a backend or a resource starts with it.
func Guard(doing string, work func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = Fail(CodeInternal, doing, fmt.Errorf("panic: %v", cause))
		}
	}()
	return work()
}
