package resources

import (
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func (m databaseModel) place() tenant.Place {
	return tenant.Place{
		Pool:      m.Pool.ValueString(),
		Isolation: tenant.Isolation(m.Isolation.ValueString()),
		Name:      m.Name.ValueString(),
	}
}

// desired is what the model wants the database to be.
func (m databaseModel) desired(files tenant.Migrations) tenant.DatabaseSpec {
	return tenant.DatabaseSpec{
		Tenant:          tenant.ID(m.TenantID.ValueString()),
		Migrations:      files,
		ReadOnly:        m.ReadOnly.ValueBool(),
		Extensions:      slices.Sorted(slices.Values(stringsOf(m.Extensions.Elements()))),
		PasswordVersion: m.CredentialsVersion.ValueInt64(),
		Claim:           m.Claim.ValueBool(),
		Baseline:        m.BaselineVersion.ValueInt64(),
	}
}

// with is the planned model after an apply: what the plan left open is what was made.
func (m databaseModel) with(database tenant.Database) databaseModel {
	m.ID = m.TenantID
	m.Pool = types.StringValue(database.Place.Pool)
	m.Isolation = types.StringValue(string(database.Place.Isolation))
	m.Name = types.StringValue(database.Place.Name)
	fill(&m.Credentials, credentialsValue(database.User, database.Password))
	return m.seen(database)
}

// seen is the model after a refresh: where the database lives is kept, what it has applied is new.
func (m databaseModel) seen(database tenant.Database) databaseModel {
	names := map[int64]string{}
	for name := range m.Migrations.Elements() {
		names[versionOf(name)] = name
	}
	sums := map[string]string{}
	for _, applied := range database.Applied {
		name := applied.Name
		// A file that was renamed after it was applied keeps its new name, so that no plan renames it back.
		if renamed, ok := names[applied.Version]; ok {
			name = renamed
		}
		sums[name] = applied.SHA256
	}
	m.Migrations = sumsValue(sums)
	m.ReadOnly = types.BoolValue(database.ReadOnly)
	m.Drift = driftValue(database.Drift)
	return m
}

// disposal is what a destroy does with the data.
func (m databaseModel) disposal() tenant.Disposal {
	keep, err := time.ParseDuration(m.Retention.ValueString())
	if err != nil {
		keep = 0 // for ever
	}
	return tenant.Disposal{
		How: tenant.OnDestroy(m.OnDestroy.ValueString()), Force: m.ForceDestroy.ValueBool(), Keep: keep,
	}
}

// lossy begins the line of a difference that no apply repairs.
const lossy = "not repaired: "

func driftValue(drift []tenant.Drift) types.Set {
	lines := make([]string, 0, len(drift))
	for _, one := range drift {
		line := one.What
		if one.Loss != "" {
			line = lossy + one.What + " (" + one.Loss + ")"
		}
		lines = append(lines, line)
	}
	return textSet(lines)
}

// credentialsValue is null where nobody logs in.
func credentialsValue(user string, password tenant.SecretState) types.Object {
	if user == "" {
		return types.ObjectNull(credentialsType())
	}
	secret := secretAttributes(password)
	secret["username"] = types.StringValue(user)
	return types.ObjectValueMust(credentialsType(), secret)
}

func credentialsType() map[string]attr.Type {
	out := secretType()
	out["username"] = types.StringType
	return out
}
