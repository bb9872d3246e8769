package postgres

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// The SQLSTATEs that change the course of the work
// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
const (
	stateInvalidPassword   = "28P01"
	stateInvalidAuth       = "28000"
	stateNoDatabase        = "3D000"
	stateDuplicateDatabase = "42P04"
	stateDuplicateObject   = "42710"
	stateDuplicateSchema   = "42P06"
	stateUndefinedTable    = "42P01"
	stateUndefinedFunction = "42883"
	stateNoPrivilege       = "42501"
	stateUniqueViolation   = "23505"
	stateInUse             = "55006"
	stateNotInState        = "55000"
	stateLockNotAvailable  = "55P03"
	stateTooMany           = "53300"
	stateTooManyConfigured = "53400"
	stateStarting          = "57P03"
	stateDiskFull          = "53100"
	stateReadOnly          = "25006"
	stateQueryCanceled     = "57014"
)

// state returns the SQLSTATE in err's chain, "" if there is none.
func state(err error) string {
	if fault, ok := errors.AsType[*pgconn.PgError](err); ok {
		return fault.Code
	}
	return ""
}

// classify turns an error of PostgreSQL or of the connection into a Failure; nil and an error that already is a Failure
// keep what they are.
func classify(doing string, err error) error {
	if err == nil {
		return nil
	}
	if code := state(err); code != "" {
		return tenant.Fail(codeOf(code), doing, detailed(err))
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return tenant.Fail(tenant.CodeCanceled, doing, err)
	}
	if isNetwork(err) {
		failure := tenant.Fail(tenant.CodeUnavailable, doing, err)
		if failure.Code == tenant.CodeUnavailable {
			failure.Remedy = "Apply again once the server answers. If it is gone for good, forget the resource: " +
				"terraform state rm ADDRESS."
		}
		return failure
	}
	return tenant.Fail(tenant.CodeInternal, doing, err)
}

// isNetwork reports whether the connection, not the server's answer, is at fault.
func isNetwork(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return pgconn.SafeToRetry(err) || isClosed(err)
}

func codeOf(state string) tenant.Code {
	switch state {
	case stateLockNotAvailable, stateInUse, "40P01", "40001":
		return tenant.CodeBusy
	case stateQueryCanceled:
		return tenant.CodeBusy
	case stateDiskFull:
		return tenant.CodeStorage
	case stateReadOnly:
		return tenant.CodeUnavailable
	case stateNoPrivilege, stateInvalidPassword, stateInvalidAuth, stateNoDatabase:
		return tenant.CodeInvalidConfig
	case stateDuplicateDatabase, stateDuplicateObject, stateDuplicateSchema, stateUniqueViolation:
		return tenant.CodeConflict
	}
	switch {
	case strings.HasPrefix(state, "08"), strings.HasPrefix(state, "53"), strings.HasPrefix(state, "57P"):
		return tenant.CodeUnavailable
	}
	return tenant.CodeInternal
}

// detailedError adds to an error what the server says in its detail.
type detailedError struct {
	error

	detail string
}

func detailed(err error) error {
	fault, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || fault.Detail == "" {
		return err
	}
	return detailedError{err, fault.Detail}
}

func (w detailedError) Error() string { return w.error.Error() + " (" + w.detail + ")" }

func (w detailedError) Unwrap() error { return w.error }
