//go:build depstmp

package depstmp

import (
	_ "github.com/gofrs/flock"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/hashicorp/go-hclog"
	_ "github.com/hashicorp/go-plugin"
	_ "github.com/hashicorp/go-version"
	_ "github.com/hashicorp/hc-install"
	_ "github.com/hashicorp/hc-install/fs"
	_ "github.com/hashicorp/hc-install/product"
	_ "github.com/hashicorp/hc-install/releases"
	_ "github.com/hashicorp/hc-install/src"
	_ "github.com/hashicorp/hcl/v2/hclparse"
	_ "github.com/hashicorp/hcl/v2/hclsyntax"
	_ "github.com/hashicorp/terraform-config-inspect/tfconfig"
	_ "github.com/hashicorp/terraform-exec/tfexec"
	_ "github.com/hashicorp/terraform-json"
	_ "github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	_ "github.com/hashicorp/terraform-plugin-framework/providerserver"
	_ "github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	_ "github.com/hashicorp/terraform-plugin-testing/helper/resource"
	_ "github.com/miekg/dns"
	_ "github.com/pressly/goose/v3"
	_ "github.com/spf13/cobra"
	_ "github.com/stretchr/testify/require"
	_ "github.com/wneessen/go-mail"
	_ "github.com/zclconf/go-cty/cty/json"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "modernc.org/sqlite"
)
