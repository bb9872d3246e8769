package keycloak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// answerMaxLen bounds what is quoted of a server's answer, in bytes.
const answerMaxLen = 300

// statusError is an answer that is not a success.
type statusError struct {
	status     int
	text       string        // what the server says about it
	retryAfter time.Duration // 0 if it does not say
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("the server answered %d %s", e.status, http.StatusText(e.status))
	if e.text != "" {
		text += ": " + e.text
	}
	return text
}

// statusOf returns the HTTP status in err's chain, 0 if there is none.
func statusOf(err error) int {
	if fault, ok := errors.AsType[*statusError](err); ok {
		return fault.status
	}
	return 0
}

// absent reports whether the server said that there is no such thing.
func absent(err error) bool { return statusOf(err) == http.StatusNotFound }

// taken reports whether the server said that the name is used already.
func taken(err error) bool { return statusOf(err) == http.StatusConflict }

// classify turns an error of the server or the connection into a Failure.
func classify(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if fault, ok := errors.AsType[*statusError](err); ok {
		failure := tenant.Fail(codeOf(fault.status), doing, err)
		failure.RetryAfter = fault.retryAfter
		failure.Remedy = remedyOf(fault.status)
		return failure
	}
	if ctx.Err() != nil {
		return tenant.Fail(tenant.CodeCanceled, doing, ctx.Err())
	}
	failure := tenant.Fail(tenant.CodeUnavailable, doing, err)
	if failure.Code == tenant.CodeUnavailable {
		failure.Remedy = "Apply again once the identity provider answers. If it is gone for good, forget the resource: " +
			"terraform state rm ADDRESS."
	}
	return failure
}

func codeOf(status int) tenant.Code {
	switch {
	case status == http.StatusConflict:
		return tenant.CodeConflict
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		return tenant.CodeUnavailable
	}
	return tenant.CodeInvalidConfig
}

func remedyOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "Correct client_id and client_secret of the identity provider's service account."
	case http.StatusForbidden:
		return "Give the service account the realm's roles manage-organizations, manage-clients and manage-users " +
			"(of the client realm-management)."
	case http.StatusRequestHeaderFieldsTooLarge:
		return "Let the service account's client use lightweight access tokens: its token has outgrown the header."
	}
	return ""
}

// newStatusError reads what the server says of an answer that is no success.
func newStatusError(response *http.Response, body []byte, now time.Time) *statusError {
	var said struct {
		Message     string `json:"errorMessage"`
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	text := ""
	if json.Unmarshal(body, &said) == nil {
		for _, part := range []string{said.Message, said.Error, said.Description} {
			if part != "" {
				text = strings.TrimSpace(text + " " + part)
			}
		}
	}
	return &statusError{
		status: response.StatusCode, text: quotable(text),
		retryAfter: retryAfter(response.Header.Get("Retry-After"), now),
	}
}

func quotable(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if len(text) > answerMaxLen {
		text = strings.ToValidUTF8(text[:answerMaxLen], "") + "…"
	}
	return text
}

// retryAfter reads seconds or a date (RFC 9110, section 10.2.3).
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(header, 10, 32); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
