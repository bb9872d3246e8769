package resources

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/stretchr/testify/require"
)

// seedValue is a value of tenant_seed with two of its attributes, in the encoding in which Terraform sends it.
func seedValue(t *testing.T, tables tftypes.Value) *tfprotov6.DynamicValue {
	t.Helper()
	types := map[string]tftypes.Type{tablesName: tables.Type(), "tenant_id": tftypes.String}
	value, err := tfprotov6.NewDynamicValue(tftypes.Object{AttributeTypes: types},
		tftypes.NewValue(tftypes.Object{AttributeTypes: types},
			map[string]tftypes.Value{tablesName: tables, "tenant_id": text("acme")}))
	require.NoError(t, err)
	return &value
}

func TestSealedTablesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	unknownCell := row(map[string]tftypes.Value{"code": text("1"), "name": text(tftypes.UnknownValue)})
	many := make([]tftypes.Value, 70000)
	for i := range many {
		many[i] = tftypes.NewValue(tableType(), nil)
	}
	for name, tables := range map[string]tftypes.Value{
		"none":    listed(tableType()),
		"one":     listed(tableType(), table("a", []string{"code"}, account("1", "ä"), unknownCell)),
		"16":      listed(tableType(), many[:16]...),
		"70000":   listed(tableType(), many...),
		"null":    tftypes.NewValue(tablesType(), nil),
		"unknown": tftypes.NewValue(tablesType(), tftypes.UnknownValue),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := seedValue(t, tables)
			value := sent
			require.NoError(t, seal(seedType, &value))
			framework := tftypes.Object{AttributeTypes: map[string]tftypes.Type{
				tablesName: tftypes.String, "tenant_id": tftypes.String,
			}}
			seen, err := value.Unmarshal(framework)
			require.NoError(t, err, "the framework sees a text")
			again, err := tfprotov6.NewDynamicValue(framework, seen)
			require.NoError(t, err)
			value = &again
			require.NoError(t, unseal(seedType, &value))
			back, err := value.Unmarshal(tftypes.Object{AttributeTypes: map[string]tftypes.Type{
				tablesName: tablesType(), "tenant_id": tftypes.String,
			}})
			require.NoError(t, err)
			var attributes map[string]tftypes.Value
			require.NoError(t, back.As(&attributes))
			require.True(t, tables.Equal(attributes[tablesName]))
		})
	}
}

func TestOnlySeedsAreSealed(t *testing.T) {
	t.Parallel()
	value := seedValue(t, listed(tableType()))
	sent := value
	require.NoError(t, seal("tenant_domain", &value))
	require.Same(t, sent, value)
	null, err := tfprotov6.NewDynamicValue(tftypes.String, text(nil))
	require.NoError(t, err)
	var none *tfprotov6.DynamicValue
	value = &null
	require.NoError(t, seal(seedType, &value, &none))
	require.Equal(t, null, *value)
	require.Nil(t, none)
	value = &tfprotov6.DynamicValue{MsgPack: sent.MsgPack[:1+1+len(tablesName)]}
	require.Error(t, seal(seedType, &value), "a value that ends too early")
}
