package resources

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// namedRows is how many edited rows a warning or an error names; the rest are counted.
const namedRows = 20

// ValidateConfig refuses rows that can't be told apart by their key. Unknown values are checked when they are known.
func (r *seedResource) ValidateConfig(
	ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse,
) {
	var config seedModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	tables, err := readTables(config.Tables)
	addError(&resp.Diagnostics, tenant.StepSeed, err)
	checkTables(tables, &resp.Diagnostics)
}

// ModifyPlan answers edits as on_edit says: kept ones are named in a warning, restored ones are a planned change,
// refused ones fail the plan.
func (r *seedResource) ModifyPlan(
	ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse,
) {
	if req.Plan.Raw.IsNull() {
		return
	}
	var plan seedModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	var prior *seedModel
	if !req.State.Raw.IsNull() {
		prior = &seedModel{}
		resp.Diagnostics.Append(req.State.Get(ctx, prior)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	tables, err := readTables(plan.Tables)
	addError(&resp.Diagnostics, tenant.StepSeed, err)
	checkTables(tables, &resp.Diagnostics)
	if prior == nil {
		plan.ID = plan.TenantID
		plan.EditedRows, plan.KeptRows = types.ListUnknown(
			types.StringType,
		), types.ListUnknown(
			types.StringType,
		)
		r.lookForOwn(ctx, plan, &resp.Diagnostics)
	} else if keepsTenant(&resp.Diagnostics, tenant.StepSeed, prior.TenantID, plan.TenantID) {
		addAttributeError(&resp.Diagnostics, path.Root("database"), tenant.StepSeed, plan.staysIn(*prior))
		answerEdits(&resp.Diagnostics, plan, prior.EditedRows)
		plan = plan.after(*prior)
	}
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, plan)...)
	}
}

// after is the plan for a seed that exists. Nothing is planned where edits are kept and the seed is the same.
func (m seedModel) after(prior seedModel) seedModel {
	m.ID, m.EditedRows, m.KeptRows = prior.ID, prior.EditedRows, prior.KeptRows
	changed := !sameTables(m.Tables, prior.Tables) || !m.OnEdit.Equal(prior.OnEdit)
	restores := m.OnEdit.ValueString() == string(tenant.RestoreEdits)
	switch {
	case restores && len(prior.EditedRows.Elements()) > 0:
		m.EditedRows, changed = textList(nil), true
	case changed && !restores:
		m.EditedRows = types.ListUnknown(types.StringType)
	}
	if changed {
		m.KeptRows = types.ListUnknown(types.StringType)
	}
	return m
}

// sameTables compares what the texts hold: the columns of a row have no order.
func sameTables(a, b types.String) bool {
	if a.Equal(b) {
		return true
	}
	left, errLeft := readTables(a)
	right, errRight := readTables(b)
	return errLeft == nil && errRight == nil && reflect.DeepEqual(left, right)
}

// staysIn returns a failure if the seed of an existing state is to go to another database.
func (m seedModel) staysIn(prior seedModel) error {
	for _, name := range []string{"pool", "isolation", "name"} {
		was, is := textOf(prior.Database, name), textOf(m.Database, name)
		if known(is) && !is.Equal(was) {
			return tenant.Fail(
				tenant.CodePlacementChange,
				"moving the seed of tenant "+prior.TenantID.ValueString(),
				fmt.Errorf(
					"its database has the %s %q; %q is wanted",
					name,
					was.ValueString(),
					is.ValueString(),
				),
			)
		}
	}
	return nil
}

// lookForOwn looks for a seed that the database has already: a foreign one is refused, the edits of our own are
// answered before anything is written.
func (r *seedResource) lookForOwn(ctx context.Context, plan seedModel, diags *diag.Diagnostics) {
	place := []types.String{
		textOf(plan.Database, "pool"),
		textOf(plan.Database, "isolation"),
		textOf(plan.Database, "name"),
	}
	if r.backends() == nil || !known(plan.TenantID) || !known(place...) || r.mayBeClaimed(ctx, plan) {
		return
	}
	seen, err := r.read(ctx, plan)
	if err == nil {
		answerEdits(diags, plan, editsValue(seen.Edited))
		return
	}
	if !errors.Is(err, tenant.ErrAbsent) {
		addLookup(diags, tenant.StepSeed, err)
	}
}

// mayBeClaimed is true for a database that carries nobody's mark: tenant_database may take it over in the same apply, and
// says so if it does not.
func (r *seedResource) mayBeClaimed(ctx context.Context, plan seedModel) bool {
	pool, err := r.backends().Pools.Find(plan.place().Pool)
	if err != nil {
		return false
	}
	id, place := tenant.ID(plan.TenantID.ValueString()), plan.place()
	if _, err := pool.Databases.Read(ctx, id, place); !tenant.HasCode(err, tenant.CodeForeign) {
		return false
	}
	planner, ok := pool.Databases.(tenant.DatabasePlanner)
	if !ok {
		return false
	}
	_, err = planner.PlanDatabase(ctx, tenant.DatabaseSpec{Tenant: id, Place: place, Claim: true})
	return err == nil
}

func answerEdits(diags *diag.Diagnostics, plan seedModel, edits types.List) {
	edited := stringsOf(edits.Elements())
	if len(edited) == 0 {
		return
	}
	doing := "planning the seed of tenant " + plan.TenantID.ValueString()
	if plan.OnEdit.ValueString() == string(tenant.RefuseEdits) {
		addAttributeError(diags, path.Root("edited_rows"), tenant.StepSeed,
			tenant.Fail(tenant.CodeSeedEdited, doing, errors.New(named(edited))))
	}
	if plan.OnEdit.ValueString() == string(tenant.KeepEdits) {
		diags.AddWarning(
			fmt.Sprintf("Seeded rows of tenant %s were edited and are kept", plan.TenantID.ValueString()),
			named(edited)+"\n\nThey stay as they are because on_edit is \"keep\".",
		)
	}
}

func named(rows []string) string {
	if len(rows) <= namedRows {
		return strings.Join(rows, "\n")
	}
	return fmt.Sprintf("%s\nand %d more", strings.Join(rows[:namedRows], "\n"), len(rows)-namedRows)
}
