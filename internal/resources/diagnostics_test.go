package resources

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func TestDiagnoseTellsWhatWhyAndWhatNow(t *testing.T) {
	t.Parallel()
	err := &tenant.Failure{
		Code:       tenant.CodeUnavailable,
		Doing:      "reading organization acme",
		Err:        errors.New("503 from upstream"),
		RetryAfter: 1500 * time.Millisecond,
	}
	told := Diagnose(tenant.StepIdentity, err)
	require.Equal(t, diag.SeverityError, told.Severity())
	require.Equal(t, "Reading organization acme", told.Summary())
	require.Contains(t, told.Detail(), "503 from upstream")
	require.Contains(t, told.Detail(), "It will be tried again no sooner than in 2s")
	require.True(t, strings.HasSuffix(told.Detail(),
		"\ntenant-failure: code=unavailable class=retryable step=identity retry_after_s=2"))
	parsed, ok := tenant.ParseFailureLine(told.Detail())
	require.True(t, ok)
	require.Equal(t, tenant.StepIdentity, parsed.Step)
}

func TestDiagnoseClassifies(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		err  error
		code tenant.Code
	}{
		"a failure":           {tenant.Fail(tenant.CodeForeign, "x", errors.New("y")), tenant.CodeForeign},
		"an end of the run":   {context.Canceled, tenant.CodeCanceled},
		"a deadline":          {context.DeadlineExceeded, tenant.CodeCanceled},
		"an unthought-of one": {errors.New("z"), tenant.CodeInternal},
		"joined failures": {
			errors.Join(
				tenant.Fail(tenant.CodePoolFull, "x", errors.New("y")),
				errors.New("z"),
			),
			tenant.CodePoolFull,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parsed, ok := tenant.ParseFailureLine(Diagnose(tenant.StepSeed, c.err).Detail())
			require.True(t, ok)
			require.Equal(t, c.code, parsed.Code)
			require.Equal(t, tenant.StepSeed, parsed.Step)
		})
	}
}

func TestDiagnoseKeepsTheStepThatFailed(t *testing.T) {
	t.Parallel()
	err := tenant.FailureOf(tenant.Fail(tenant.CodeBusy, "x", errors.New("y"))).WithStep(tenant.StepSeed)
	parsed, _ := tenant.ParseFailureLine(Diagnose(tenant.StepDatabase, &err).Detail())
	require.Equal(t, tenant.StepSeed, parsed.Step)
}

func TestALookAtTheOutsideOnlyWarnsOfWhatTimeMends(t *testing.T) {
	t.Parallel()
	var diags diag.Diagnostics
	addLookup(&diags, tenant.StepDomain, nil)
	require.Empty(t, diags)
	addLookup(
		&diags,
		tenant.StepDomain,
		tenant.Fail(tenant.CodeUnavailable, "reading x", errors.New("no answer")),
	)
	require.False(t, diags.HasError())
	require.Equal(t, 1, diags.WarningsCount())
	addLookup(&diags, tenant.StepDomain, tenant.Fail(tenant.CodeForeign, "reading x", errors.New("not ours")))
	require.Equal(t, 1, diags.ErrorsCount())
}
