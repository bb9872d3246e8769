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

// built is the version and the commit, such as "0.1.0+1a2b3c4", set with -ldflags '-X main.built=…'.
//
//nolint:gochecknoglobals // the linker sets nothing but variables
var built string

func main() {
	attach := flag.Bool("debug", false, "wait for a debugger and print how Terraform reattaches")
	tell := flag.Bool("version", false, "print the version and the commit")
	flag.Parse()
	if *tell {
		_, err := fmt.Fprintln(os.Stdout, "terraform-provider-tenant "+version())
		end(err)
		return
	}
	var options []tf6server.ServeOpt
	if *attach {
		options = append(options, tf6server.WithManagedDebug())
	}
	err := tf6server.Serve(provider.Address, func() tfprotov6.ProviderServer {
		return provider.NewServer(provider.Options{Version: version(), Failpoint: failpoint()})
	}, options...)
	end(err)
}

func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// version is what the program was built as; a build without our flags is what Go says of the module.
func version() string {
	if built != "" {
		return built
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
