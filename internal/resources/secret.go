package resources

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// secretAttribute describes a derived secret: all but the secret.
func secretAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		Computed: true,
		Attributes: map[string]schema.Attribute{
			"key_id": schema.StringAttribute{
				Computed: true, MarkdownDescription: "The key that the secret is derived with.",
			},
			"version": schema.Int64Attribute{Computed: true, MarkdownDescription: "Its version."},
			"incarnation": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "A random id made with the object, so that a tenant_id that is used again gets new secrets.",
			},
			"fingerprint": schema.StringAttribute{
				Computed: true, MarkdownDescription: "The first 16 digits of its SHA-256.",
			},
		},
	}
}

func secretType() map[string]attr.Type {
	return map[string]attr.Type{
		"key_id": types.StringType, "version": types.Int64Type,
		"incarnation": types.StringType, "fingerprint": types.StringType,
	}
}

func secretAttributes(secret tenant.SecretState) map[string]attr.Value {
	return map[string]attr.Value{
		"key_id":      types.StringValue(secret.KeyID),
		"version":     types.Int64Value(secret.Version),
		"incarnation": types.StringValue(secret.Incarnation),
		"fingerprint": types.StringValue(secret.Fingerprint),
	}
}

func secretValue(secret tenant.SecretState) types.Object {
	return types.ObjectValueMust(secretType(), secretAttributes(secret))
}

// secretRef names the secret that a state tells of.
func secretRef(id types.String, secret types.Object, purpose string) tenant.SecretRef {
	ref := tenant.SecretRef{
		Tenant:      tenant.ID(id.ValueString()),
		Purpose:     purpose,
		Incarnation: textOf(secret, "incarnation").ValueString(),
		KeyID:       textOf(secret, "key_id").ValueString(),
	}
	if version, ok := secret.Attributes()["version"].(types.Int64); ok {
		ref.Version = version.ValueInt64()
	}
	return ref
}

// derivable refuses a state whose secret nobody can derive any more.
func derivable(keyring *tenant.Keyring, id types.String, secret types.Object, purpose string) error {
	if !known(textOf(secret, "key_id")) {
		return nil
	}
	if _, err := keyring.Derive(secretRef(id, secret, purpose)); err != nil {
		return tenant.Fail(tenant.CodeUnknownKey,
			fmt.Sprintf("planning the %s's secret of tenant %s", purpose, id.ValueString()), err)
	}
	return nil
}

// lowered refuses a version that goes back: an old secret may be known to those it was taken from.
func lowered(id string, version int64) error {
	return tenant.Fail(tenant.CodeInvalidConfig, "lowering the credentials_version of tenant "+id,
		fmt.Errorf("it is %d, and can only be raised", version))
}
