package resources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// tenantIDAttribute is the same on all four resources.
func tenantIDAttribute(step tenant.Step) schema.StringAttribute {
	return schema.StringAttribute{
		Required: true,
		MarkdownDescription: "The tenant's id: a DNS label of 1–63 characters (a-z, 0-9, '-') that is not reserved. " +
			"It never changes: another id on an existing object is an error at plan time.",
		Validators: []validator.String{check(step, tenant.CodeInvalidTenantID, "checking the tenant_id",
			func(s string) error {
				_, err := tenant.ParseID(s)
				return err
			})},
	}
}

func idAttribute() schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: "The same as `tenant_id`."}
}

// rule is a validator of texts that tells a breach as a failure, in the form of all diagnostics.
type rule struct {
	step  tenant.Step
	code  tenant.Code
	doing string
	holds func(string) error
}

var _ validator.String = rule{}

// check returns a validator that fails with code where holds returns an error.
func check(step tenant.Step, code tenant.Code, doing string, holds func(string) error) validator.String {
	return rule{step: step, code: code, doing: doing, holds: holds}
}

// Description is what the rule is about.
func (r rule) Description(context.Context) string { return r.doing }

// MarkdownDescription is Description.
func (r rule) MarkdownDescription(context.Context) string { return r.doing }

// ValidateString checks a known text; one that is null or unknown breaks no rule.
func (r rule) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if err := r.holds(req.ConfigValue.ValueString()); err != nil {
		addAttributeError(&resp.Diagnostics, req.Path, r.step, tenant.Fail(r.code, r.doing, err))
	}
}

// oneOf returns a validator for an attribute that knows a few words only.
func oneOf(step tenant.Step, attribute string, words ...string) validator.String {
	return check(step, tenant.CodeInvalidConfig, "checking "+attribute, func(s string) error {
		if slices.Contains(words, s) {
			return nil
		}
		return fmt.Errorf("%s is %q; it can be one of %q", attribute, s, words)
	})
}

// between is a validator of numbers within bounds, both allowed.
type between struct {
	step      tenant.Step
	attribute string
	low, high int64
}

var _ validator.Int64 = between{}

// Description says what is allowed.
func (b between) Description(context.Context) string {
	return fmt.Sprintf("%s is %d to %d", b.attribute, b.low, b.high)
}

// MarkdownDescription is Description.
func (b between) MarkdownDescription(ctx context.Context) string { return b.Description(ctx) }

// ValidateInt64 checks a known number.
func (b between) ValidateInt64(_ context.Context, req validator.Int64Request, resp *validator.Int64Response) {
	value := req.ConfigValue.ValueInt64()
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() || value >= b.low && value <= b.high {
		return
	}
	addAttributeError(&resp.Diagnostics, req.Path, b.step, tenant.Fail(tenant.CodeInvalidConfig,
		"checking "+b.attribute, fmt.Errorf("%d is not within %d and %d", value, b.low, b.high)))
}

// checkName accepts what people can read and tell apart: text without white space around it.
func checkName(s string) error {
	if strings.ContainsFunc(s, unseen) {
		return fmt.Errorf(
			"%q contains a character that nobody sees, such as one that turns the text around",
			s,
		)
	}
	switch strings.TrimSpace(s) {
	case "":
		return errors.New("it is blank")
	case s:
		return nil
	}
	return fmt.Errorf("%q begins or ends with white space", s)
}

// unseen are control characters, and those that change the direction of what people read (Unicode Annex 9, section 2).
func unseen(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// checkWindow accepts a positive duration in the form of Go's time.ParseDuration.
func checkWindow(s string) error {
	window, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q is no duration; write it like \"72h\" or \"90m\"", s)
	}
	if window <= 0 {
		return fmt.Errorf("%q is not above zero", s)
	}
	return nil
}

// keepsTenant reports whether a plan leaves an existing object with its tenant, and adds the error if not. An unknown
// tenant_id passes: Terraform plans once more when it is known.
func keepsTenant(diags *diag.Diagnostics, step tenant.Step, prior, planned types.String) bool {
	if planned.IsUnknown() || planned.Equal(prior) {
		return true
	}
	addAttributeError(diags, path.Root("tenant_id"), step, tenant.Fail(tenant.CodeTenantIDChanged,
		fmt.Sprintf("changing the tenant_id %q to %q", prior.ValueString(), planned.ValueString()),
		fmt.Errorf("this state holds the %s of tenant %q", step, prior.ValueString())))
	return false
}

// addLookup tells what a plan's look at the outside came to. A failure that time may mend is a warning there: the
// rest of the plan works, and the apply looks again.
func addLookup(diags *diag.Diagnostics, step tenant.Step, err error) {
	if err == nil {
		return
	}
	failure := failureOf(err)
	if failure.Class == tenant.Terminal {
		addError(diags, step, err)
		return
	}
	diags.AddWarning(
		sentence(failure.Doing),
		why(
			failure,
		)+"\n\nThe plan goes on without it: whether something is in the way shows when it is applied.",
	)
}

// known reports whether all of the texts are known and not null.
func known(values ...types.String) bool {
	for _, value := range values {
		if value.IsNull() || value.IsUnknown() {
			return false
		}
	}
	return true
}
