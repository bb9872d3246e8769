package resources

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// fill sets what a plan left unknown. A planned value stays: Terraform holds a provider to it, and what differs by
// then is the next refresh's to tell.
func fill[T attr.Value](planned *T, made T) {
	if (*planned).IsUnknown() {
		*planned = made
	}
}

func texts(values []string) []attr.Value {
	elements := make([]attr.Value, 0, len(values))
	for _, value := range values {
		elements = append(elements, types.StringValue(value))
	}
	return elements
}

func textList(values []string) types.List {
	return types.ListValueMust(types.StringType, texts(values))
}

// textSet sorts out duplicates, which a set must not have.
func textSet(values []string) types.Set {
	return types.SetValueMust(types.StringType, texts(slices.Compact(slices.Sorted(slices.Values(values)))))
}

// stringsOf returns the known texts among the elements of a list or set.
func stringsOf(elements []attr.Value) []string {
	values := make([]string, 0, len(elements))
	for _, element := range elements {
		if text, ok := element.(types.String); ok && known(text) {
			values = append(values, text.ValueString())
		}
	}
	return values
}
