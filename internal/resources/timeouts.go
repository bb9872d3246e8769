package resources

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// defaultTimeout is how long one operation may take if its resource says nothing else: longer than any migration that
// is run while customers wait.
const defaultTimeout = 30 * time.Minute

// timeoutsAttribute is the same on all four resources.
func timeoutsAttribute(ctx context.Context) schema.Attribute {
	attribute, ok := timeouts.Attributes(ctx, timeouts.Opts{Create: true, Update: true, Delete: true}).(schema.SingleNestedAttribute)
	if !ok {
		return attribute
	}
	attribute.MarkdownDescription = "How long its operations may take. What has not ended by then is stopped; the " +
		"next apply goes on from there."
	for name, operation := range attribute.Attributes {
		if text, ok := operation.(schema.StringAttribute); ok {
			text.Description = ""
			text.MarkdownDescription = "How long the resource's " + name + " may take, like `10m`. Defaults to `30m`."
			attribute.Attributes[name] = text
		}
	}
	return attribute
}

// noTimeouts is what an imported resource has.
func noTimeouts() timeouts.Value {
	return timeouts.Value{Object: types.ObjectNull(timeoutsType().AttrTypes)}
}

func timeoutsType() types.ObjectType {
	return types.ObjectType{AttrTypes: map[string]attr.Type{
		"create": types.StringType, "update": types.StringType, "delete": types.StringType,
	}}
}

// within gives an operation the time that its resource allows it; inTime tells afterwards whether it ran out.
func within(
	ctx context.Context,
	operation string,
	allowed func(context.Context, time.Duration) (time.Duration, diag.Diagnostics),
	diags *diag.Diagnostics,
) (context.Context, context.CancelFunc) {
	timeout, problems := allowed(ctx, defaultTimeout)
	diags.Append(problems...)
	return context.WithTimeoutCause(ctx, timeout, timeoutError{operation, timeout})
}

type timeoutError struct {
	operation string
	allowed   time.Duration
}

func (o timeoutError) Error() string {
	return fmt.Sprintf("the timeout %q of %s has passed", o.operation, o.allowed)
}

// inTime makes a failure for want of time one that says so: other than an interruption it is tried again.
func inTime(ctx context.Context, err error) error {
	var late timeoutError
	if err == nil || !errors.As(context.Cause(ctx), &late) {
		return err
	}
	return tenant.Fail(tenant.CodeBusy, tenant.FailureOf(err).Doing, errors.Join(late, err))
}
