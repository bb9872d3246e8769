// Command terraform-provider-tenant is the provider as Terraform starts it.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/tenantry/terraform-provider-tenant/internal/provider"
)

func main() {
	attach := flag.Bool("debug", false, "wait for a debugger and print how Terraform reattaches")
	flag.Parse()
	var options []tf6server.ServeOpt
	if *attach {
		options = append(options, tf6server.WithManagedDebug())
	}
	err := tf6server.Serve(provider.Address, func() tfprotov6.ProviderServer {
		return provider.NewServer(provider.Options{Version: version(), Failpoint: failpoint()})
	}, options...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// version is the module's, as Go stamps it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
