package driver

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	applyErrored = `{"@message":"x","type":"apply_errored","hook":{"resource":` +
		`{"addr":"module.tenant.tenant_seed.this","resource_type":"tenant_seed"},"action":"create"}}`
	ourError = `{"type":"diagnostic","diagnostic":{"severity":"error","summary":"Writing the seed of tenant acme",` +
		`"detail":"The row was refused.\n\ntenant-failure: code=seed_failed class=terminal step=seed retry_after_s=0"}}`
	busyError = `{"type":"diagnostic","diagnostic":{"severity":"error","summary":"Creating the database",` +
		`"detail":"In use.\n\ntenant-failure: code=busy class=retryable step=database retry_after_s=7",` +
		`"address":"module.tenant.tenant_database.this"}}`
	lockError = `{"type":"diagnostic","diagnostic":{"severity":"error","summary":"Error acquiring the state lock",` +
		`"detail":"resource temporarily unavailable\n\nLock Info:\n  ID: 1"}}`
	stateError = `{"type":"diagnostic","diagnostic":{"severity":"error","summary":"Error acquiring the state lock",` +
		`"detail":"unexpected EOF"}}`
)

func feed(lines ...string) *stream {
	events := &stream{}
	for _, text := range lines {
		// In two pieces: Terraform's output arrives as the pipe gives it.
		_, _ = events.Write([]byte(text[:len(text)/2]))
		_, _ = events.Write([]byte(text[len(text)/2:] + "\n"))
	}
	return events
}

func TestStreamFailure(t *testing.T) {
	t.Parallel()
	exit := errors.New("exit status 1")
	for name, test := range map[string]struct {
		lines []string
		err   error
		code  tenant.Code
		class tenant.Class
		step  tenant.Step
	}{
		"ours":                     {[]string{ourError}, exit, tenant.CodeSeedFailed, tenant.Terminal, tenant.StepSeed},
		"retryable":                {[]string{busyError}, exit, tenant.CodeBusy, tenant.Retryable, tenant.StepDatabase},
		"terminal beats retryable": {[]string{busyError, ourError}, exit, tenant.CodeSeedFailed, tenant.Terminal, tenant.StepSeed},
		"state lock":               {[]string{lockError}, exit, tenant.CodeTerraformLock, tenant.Retryable, ""},
		"canceled":                 {nil, context.Canceled, tenant.CodeCanceled, tenant.Retryable, ""},
		"state unreadable":         {[]string{stateError}, exit, tenant.CodeTerraformState, tenant.Terminal, ""},
		"silent":                   {nil, exit, tenant.CodeTerraform, tenant.Terminal, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := tenant.FailureOf(feed(test.lines...).failure(test.err))
			require.Equal(t, test.code, found.Code)
			require.Equal(t, test.class, found.Class)
			require.Equal(t, test.step, found.Step)
			require.NotEmpty(t, found.Remedy)
		})
	}
}

func TestStreamGivesADeleteErrorItsAddress(t *testing.T) {
	t.Parallel()
	err := feed(applyErrored, ourError).failure(errors.New("exit status 1"))
	require.ErrorContains(t, err, "module.tenant.tenant_seed.this")
	require.NotContains(t, err.Error(), "tenant-failure:")
}

func TestStreamKeepsRetryAfter(t *testing.T) {
	t.Parallel()
	found := tenant.FailureOf(feed(busyError).failure(errors.New("exit status 1")))
	require.Equal(t, int64(7), int64(found.RetryAfter.Seconds()))
}

func TestOutputOfARun(t *testing.T) {
	t.Parallel()
	const form = `{"type":"outputs","outputs":{"tenant":{"sensitive":false,"value":`
	good := form + `{"tenant_id":"acme","hostname":"acme.app.test","default_hostname":"acme.app.test",` +
		`"custom_hostname":"books.acme.test","verification":"pending","administrator":{"email":"a@acme.test"}}}}}`
	output, err := feed(good).output("acme")
	require.NoError(t, err)
	require.Equal(t, "books.acme.test", output.Waits())

	//nolint:gosec // none of these is a credential
	for name, text := range map[string]string{
		"none at all":    ourError,
		"another tenant": form + `{"tenant_id":"evil","hostname":"h","administrator":{"email":"e"}}}}}`,
		"no hostname":    form + `{"tenant_id":"acme","administrator":{"email":"e"}}}}}`,
		"no mail":        form + `{"tenant_id":"acme","hostname":"h"}}}}`,
		"a secret":       `{"type":"outputs","outputs":{"tenant":{"sensitive":true}}}`,
		"a text":         form + `"acme"}}}`,
	} {
		_, err := feed(text).output("acme")
		require.True(t, tenant.HasCode(err, tenant.CodeInvalidConfig), name)
	}
}
