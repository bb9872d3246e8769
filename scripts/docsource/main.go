// Command docsource writes what the documentation takes from the code:
//
//	docsource schema   the provider's schema, as `terraform providers schema -json` writes it
//	docsource codes    the table of failure codes, in Markdown
//
// The schema comes from the provider itself, so that the documentation is the same whatever Terraform is installed: an
// older one leaves out list resources, actions and identities.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "docsource:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, to io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("want one of schema and codes, got %q", args)
	}
	switch args[0] {
	case "schema":
		schemas, err := providerSchemas(ctx)
		if err != nil {
			return err
		}
		return json.NewEncoder(to).Encode(schemas)
	case "codes":
		return writeCodes(to)
	default:
		return fmt.Errorf("unknown subject %q", args[0])
	}
}

func writeCodes(to io.Writer) error {
	table := []byte("| code | class | what it means | what to do |\n| --- | --- | --- | --- |\n")
	for _, info := range tenant.Codes() {
		row := fmt.Sprintf("| `%s` | %s | %s | %s |", info.Code, info.Class, info.Meaning, info.Remedy)
		table = append(append(table, row...), '\n')
	}
	_, err := to.Write(table)
	return err
}
