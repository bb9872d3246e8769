package provider

import (
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/tenantry/terraform-provider-tenant/internal/resources"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// invalid is a configuration that cannot work: an error at the attribute at fault.
func invalid(at path.Path, summary, doing string, err error) diag.Diagnostic {
	failure := tenant.FailureOf(&tenant.Failure{Code: tenant.CodeInvalidConfig, Doing: doing, Err: err})
	return diag.NewAttributeErrorDiagnostic(at, summary, resources.Detail(failure))
}

// problem is a failure as the wire protocol tells it.
func problem(summary string, failure *tenant.Failure) *tfprotov6.Diagnostic {
	return &tfprotov6.Diagnostic{
		Severity: tfprotov6.DiagnosticSeverityError,
		Summary:  summary,
		Detail:   resources.Detail(tenant.FailureOf(failure)),
	}
}

func problems(summary string, failure *tenant.Failure) []*tfprotov6.Diagnostic {
	return []*tfprotov6.Diagnostic{problem(summary, failure)}
}

func hasError(diagnostics []*tfprotov6.Diagnostic) bool {
	for _, diagnostic := range diagnostics {
		if diagnostic.Severity == tfprotov6.DiagnosticSeverityError {
			return true
		}
	}
	return false
}

// bare drops the classification of an error whose code does not fit where it is met.
func bare(err error) error {
	var failure *tenant.Failure
	if errors.As(err, &failure) && failure.Err != nil {
		return failure.Err
	}
	return err
}
