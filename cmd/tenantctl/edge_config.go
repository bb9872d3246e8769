package main

import (
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tenantry/terraform-provider-tenant/internal/edge/caddy"
)

func newEdgeConfig(e *edgeOptions) *cobra.Command {
	var config caddy.Config
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the one configuration of Caddy, which never changes",
		Long: "config prints a JSON file for `caddy run --config FILE`. It holds the token for which the edge hands out the key of the\n" +
			"wildcard certificate: let nobody but Caddy read it.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return e.printConfig(config) },
	}
	flags := cmd.Flags()
	flags.StringVar(&config.HTTPS, "https", ":443", "where Caddy listens for HTTPS")
	flags.StringVar(
		&config.HTTP,
		"http",
		":80",
		"where Caddy listens for HTTP: it redirects, and answers the authority's challenges",
	)
	flags.StringVar(
		&config.Storage,
		"storage",
		"",
		"the folder for Caddy's certificates (default Caddy's own)",
	)
	return cmd
}

func (e *edgeOptions) printConfig(config caddy.Config) error {
	if err := e.check(); err != nil {
		return err
	}
	folder, err := e.folder()
	if err != nil {
		return err
	}
	if config.Token, err = certificateToken(folder); err != nil {
		return err
	}
	c := e.certificates
	config.ACME = caddy.ACME{CA: c.ca, Email: c.email, Roots: slices.Clone(c.roots)}
	for n, root := range config.ACME.Roots {
		if config.ACME.Roots[n], err = filepath.Abs(root); err != nil {
			return usageError{err}
		}
	}
	config.Zone, config.Edge = e.zone, e.listen
	text, err := config.JSON()
	if err != nil {
		return err
	}
	_, err = e.out.Write(text)
	return err
}
