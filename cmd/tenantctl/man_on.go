//go:build man

package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manPages returns a hidden command that writes a manual page for each verb into a folder: `go run -tags man
// ./cmd/tenantctl man FOLDER`, as a release does.
func manPages() []*cobra.Command {
	return []*cobra.Command{{
		Use: "man FOLDER", Short: "Write the manual pages", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cmd.Root().DisableAutoGenTag = true
			undated := time.Unix(0, 0) // a page is the same whenever it is written
			return doc.GenManTree(cmd.Root(), &doc.GenManHeader{
				Section: "1", Source: "tenantctl", Manual: "tenantctl", Date: &undated,
			}, args[0])
		},
	}}
}
