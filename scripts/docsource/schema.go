package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/tenantry/terraform-provider-tenant/internal/provider"
)

// shortName is where tfplugindocs looks for the schema, where Terraform writes the whole address.
const shortName = "tenant"

// object is a JSON object. Members that say nothing (false, empty, zero) are left out, as Terraform does.
type object map[string]any

// providerSchemas is the document of `terraform providers schema -json` for this provider.
func providerSchemas(ctx context.Context) (object, error) {
	server := provider.NewServer(provider.Options{})
	schemas, err := server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return nil, err
	}
	identities, err := server.GetResourceIdentitySchemas(ctx, &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		return nil, err
	}
	if problems := append(schemas.Diagnostics, identities.Diagnostics...); len(problems) > 0 {
		return nil, errors.New(problems[0].Summary + ": " + problems[0].Detail)
	}
	return object{
		"format_version": "1.0",
		"provider_schemas": object{shortName: object{
			"provider":                   schemaJSON(schemas.Provider),
			"resource_schemas":           each(schemas.ResourceSchemas, schemaJSON),
			"data_source_schemas":        each(schemas.DataSourceSchemas, schemaJSON),
			"ephemeral_resource_schemas": each(schemas.EphemeralResourceSchemas, schemaJSON),
			"list_resource_schemas":      each(schemas.ListResourceSchemas, schemaJSON),
			"action_schemas":             each(schemas.ActionSchemas, actionJSON),
			"functions":                  each(schemas.Functions, functionJSON),
			"resource_identity_schemas":  each(identities.IdentitySchemas, identityJSON),
		}},
	}, nil
}

func each[T any](all map[string]T, convert func(T) object) object {
	converted := object{}
	for name, one := range all {
		converted[name] = convert(one)
	}
	return converted
}

func schemaJSON(schema *tfprotov6.Schema) object {
	block := described(schema.Block.Description, schema.Block.DescriptionKind)
	if len(schema.Block.Attributes) > 0 {
		block["attributes"] = attributesJSON(schema.Block.Attributes)
	}
	if len(schema.Block.BlockTypes) > 0 {
		panic("nested blocks are not written: this provider has nested attributes only")
	}
	return object{"version": schema.Version, "block": block}
}

func actionJSON(schema *tfprotov6.ActionSchema) object {
	return object{"block": schemaJSON(schema.Schema)["block"]}
}

func attributesJSON(attributes []*tfprotov6.SchemaAttribute) object {
	all := object{}
	for _, attribute := range attributes {
		all[attribute.Name] = attributeJSON(attribute)
	}
	return all
}

func attributeJSON(attribute *tfprotov6.SchemaAttribute) object {
	one := described(attribute.Description, attribute.DescriptionKind)
	if nested := attribute.NestedType; nested != nil {
		one["nested_type"] = object{
			"attributes":   attributesJSON(nested.Attributes),
			"nesting_mode": strings.ToLower(nested.Nesting.String()),
		}
	} else {
		one["type"] = typeJSON(attribute.Type)
	}
	for name, holds := range map[string]bool{
		"required":   attribute.Required,
		"optional":   attribute.Optional,
		"computed":   attribute.Computed,
		"sensitive":  attribute.Sensitive,
		"write_only": attribute.WriteOnly,
		"deprecated": attribute.Deprecated,
	} {
		if holds {
			one[name] = true
		}
	}
	return one
}

func functionJSON(function *tfprotov6.Function) object {
	parameters := []object{}
	for _, parameter := range function.Parameters {
		parameters = append(parameters, object{
			"name": parameter.Name, "description": parameter.Description, "type": typeJSON(parameter.Type),
		})
	}
	if function.VariadicParameter != nil {
		panic("variadic parameters are not written: this provider has none")
	}
	return object{
		"summary": function.Summary, "description": function.Description,
		"return_type": typeJSON(function.Return.Type), "parameters": parameters,
	}
}

func identityJSON(schema *tfprotov6.ResourceIdentitySchema) object {
	attributes := object{}
	for _, attribute := range schema.IdentityAttributes {
		one := object{"type": typeJSON(attribute.Type), "description": attribute.Description}
		if attribute.RequiredForImport {
			one["required_for_import"] = true
		}
		if attribute.OptionalForImport {
			one["optional_for_import"] = true
		}
		attributes[attribute.Name] = one
	}
	return object{"version": schema.Version, "attributes": attributes}
}

func described(text string, kind tfprotov6.StringKind) object {
	described := object{"description_kind": strings.ToLower(kind.String())}
	if text != "" {
		described["description"] = text
	}
	return described
}

// typeJSON is a type in the form in which Terraform writes it, such as ["list","string"].
func typeJSON(typ tftypes.Type) json.RawMessage {
	//nolint:staticcheck // deprecated for providers; it is the one writer of this form that the protocol's library has
	text, err := typ.MarshalJSON()
	if err != nil {
		panic(fmt.Sprintf("writing the type %s: %v", typ, err))
	}
	return text
}
