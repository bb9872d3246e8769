package driver

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// failure tells why a run of Terraform failed, from what it reported and how it ended. Of several reports the
// gravest counts: terminal beats retryable. err is what terraform-exec returned, which only says that it failed.
func (s *stream) failure(err error) error {
	if err == nil {
		return nil
	}
	if len(s.errors) == 0 {
		return s.unreported(err)
	}
	var gravest *tenant.Failure
	for _, reported := range s.errors {
		found := classify(reported)
		if gravest == nil || gravest.Class == tenant.Retryable && found.Class == tenant.Terminal {
			gravest = &found
		}
	}
	for _, other := range s.errors {
		if title := other.title(); title != gravest.Doing {
			gravest.Err = errors.Join(
				gravest.Err,
				fmt.Errorf("also: %s (%s)", other.inShort(), classify(other).Code),
			)
		}
	}
	return gravest
}

func classify(reported diagnostic) tenant.Failure {
	found, ours := tenant.ParseFailureLine(reported.Detail)
	if !ours {
		found = tenant.Failure{Code: terraformCode(reported)}
		found.Class = found.Code.Info().Class
		found.Remedy = found.Code.Info().Remedy
	}
	found.Doing = reported.title()
	if detail := reported.detail(); detail != "" {
		found.Err = errors.New(detail)
	}
	return found
}

// title is the diagnostic's first line for a person.
func (d diagnostic) title() string {
	if d.Address == "" {
		return d.Summary
	}
	return d.Address + ": " + d.Summary
}

// inShort is the title, and the first line of the detail that says why.
func (d diagnostic) inShort() string {
	for line := range strings.Lines(d.detail()) {
		if line = strings.TrimSpace(line); line != "" && line != tenant.CodeInvalidConfig.Info().Meaning {
			return d.title() + ": " + line
		}
	}
	return d.title()
}

// terraformCode classifies an error of Terraform's own. Terraform gives its errors no codes: the summary, which is a
// constant in its source, is the only thing to go by.
func terraformCode(reported diagnostic) tenant.Code {
	switch reported.Summary {
	case "Error acquiring the state lock":
		// Terraform opens the state before it locks it: only a lock that is held has a holder to tell of.
		if !strings.Contains(reported.Detail, "Lock Info:") {
			return tenant.CodeTerraformState
		}
		return tenant.CodeTerraformLock
	case "Plugin did not respond", "Request cancelled", "Failed to read the plugin's response":
		return tenant.CodeTerraformKilled
	case "Operation cancelled", "execution halted":
		return tenant.CodeCanceled
	case "Failed to save state",
		"Failed to persist state to backend",
		"Error saving state",
		"Failed to write state",
		"Failed to create local state file":
		return tenant.CodeStorage
	case "Unsupported state file format",
		"Failed to load state",
		"Error loading state",
		"Error refreshing state",
		"Failed to read state":
		return tenant.CodeTerraformState
	default:
		return tenant.CodeTerraform
	}
}

// detail is the diagnostic's detail for a person, with the place in the configuration if it names one.
func (d diagnostic) detail() string {
	text := strings.TrimSpace(d.Detail)
	if _, ours := tenant.ParseFailureLine(text); ours {
		text = strings.TrimSpace(text[:strings.LastIndexByte(text, '\n')+1])
	}
	if d.Range != nil && d.Range.Filename != "" {
		text += fmt.Sprintf(" (%s, line %d)", d.Range.Filename, d.Range.Start.Line)
	}
	return text
}

// unreported tells of a Terraform that ended without saying why.
func (s *stream) unreported(err error) error {
	var exit *exec.ExitError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return tenant.Fail(tenant.CodeCanceled, "running Terraform", err)
	case errors.As(err, &exit) && signaled(exit):
		return tenant.Fail(tenant.CodeTerraformKilled, "running Terraform", err)
	default:
		return tenant.Fail(tenant.CodeTerraform, "running Terraform", err)
	}
}

func signaled(exit *exec.ExitError) bool {
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}
