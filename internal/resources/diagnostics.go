package resources

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Diagnose turns an error into the one form that all diagnostics of this provider have: the summary says what was being
// done to what; the detail why it failed, what to do now and whether it will be tried again; its last line is
// Failure.Line, for the driver. The step is "" for the provider itself.
func Diagnose(step tenant.Step, err error) diag.Diagnostic {
	summary, detail := tell(step, err)
	return diag.NewErrorDiagnostic(summary, detail)
}

// DiagnoseAttribute is Diagnose for an attribute that is at fault.
func DiagnoseAttribute(at path.Path, step tenant.Step, err error) diag.Diagnostic {
	summary, detail := tell(step, err)
	return diag.NewAttributeErrorDiagnostic(at, summary, detail)
}

func addError(diags *diag.Diagnostics, step tenant.Step, err error) {
	if err != nil {
		diags.Append(Diagnose(step, err))
	}
}

func addAttributeError(diags *diag.Diagnostics, at path.Path, step tenant.Step, err error) {
	if err != nil {
		diags.Append(DiagnoseAttribute(at, step, err))
	}
}

func tell(step tenant.Step, err error) (summary, detail string) {
	failure := failureOf(err)
	if failure.Step == "" {
		failure.Step = step
	}
	return sentence(failure.Doing), Detail(failure)
}

// Detail is the detail of a failure's diagnostic: why it failed, what to do now, whether it will be tried again, and
// Failure.Line last. The failure is one that tenant.FailureOf returned: with class and remedy.
func Detail(failure tenant.Failure) string {
	return strings.Join([]string{why(failure), "", failure.Remedy, again(failure), failure.Line()}, "\n")
}

// failureOf classifies the one error that backends need not: the end of their context.
func failureOf(err error) tenant.Failure {
	var found *tenant.Failure
	ended := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if ended && !errors.As(err, &found) {
		err = tenant.Fail(tenant.CodeCanceled, "working on the tenant", err)
	}
	return tenant.FailureOf(err)
}

func why(failure tenant.Failure) string {
	if failure.Err == nil {
		return failure.Code.Info().Meaning
	}
	return failure.Code.Info().Meaning + "\n" + failure.Err.Error()
}

func again(failure tenant.Failure) string {
	if failure.Class == tenant.Terminal {
		return "It will not be tried again before that."
	}
	when := ""
	if failure.RetryAfter > 0 {
		when = fmt.Sprintf(" no sooner than in %s", failure.RetryAfter.Round(time.Second))
	}
	return "It will be tried again" + when + ": by tenantctl on its own, by Terraform with the next apply."
}

func sentence(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}
