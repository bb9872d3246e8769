package resources

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// planMigrations plans the folder's files. It returns false where the folder is not known yet, or can't be read.
func (r *databaseResource) planMigrations(
	plan *databaseModel,
	diags *diag.Diagnostics,
) (tenant.Migrations, bool) {
	plan.Migrations = types.MapUnknown(types.StringType)
	if !known(plan.MigrationsPath) || r.meta == nil {
		return tenant.Migrations{}, false
	}
	files, err := r.load(plan.MigrationsPath)
	if err != nil {
		addAttributeError(diags, path.Root("migrations_path"), tenant.StepDatabase, err)
		return tenant.Migrations{}, false
	}
	plan.Migrations = sumsValue(sumsOf(files))
	return files, true
}

func addPending(diags *diag.Diagnostics, files tenant.Migrations, applied []tenant.Migration) {
	_, err := files.Pending(applied)
	addAttributeError(diags, path.Root("migrations_path"), tenant.StepDatabase, err)
}

// load reads the folder of migrations; without one there are none.
func (r *databaseResource) load(folder types.String) (tenant.Migrations, error) {
	if folder.IsNull() {
		return tenant.Migrations{}, nil
	}
	return r.folder(r.meta.resolve(folder.ValueString()))
}

// applied is the migrations of a refreshed state, in the order of their versions.
func (m databaseModel) applied() []tenant.Migration {
	var done []tenant.Migration
	elements := m.Migrations.Elements()
	for _, name := range slices.Sorted(maps.Keys(elements)) {
		if sum, ok := elements[name].(types.String); ok {
			done = append(
				done,
				tenant.Migration{Version: versionOf(name), Name: name, SHA256: sum.ValueString()},
			)
		}
	}
	slices.SortStableFunc(done, func(a, b tenant.Migration) int { return cmp.Compare(a.Version, b.Version) })
	return done
}

func sumsOf(files tenant.Migrations) map[string]string {
	sums := map[string]string{}
	for _, file := range files.Files {
		sums[file.Name] = file.SHA256
	}
	return sums
}

func sumsValue(sums map[string]string) types.Map {
	elements := make(map[string]attr.Value, len(sums))
	for name, sum := range sums {
		elements[name] = types.StringValue(sum)
	}
	return types.MapValueMust(types.StringType, elements)
}

// versionOf is the number that a migration's file name begins with, as goose reads it; 0 if there is none.
func versionOf(name string) int64 {
	digits, _, _ := strings.Cut(name, "_")
	version, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	return version
}
