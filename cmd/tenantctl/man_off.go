//go:build !man

package main

import "github.com/spf13/cobra"

// manPages returns nothing: a released program does not carry the writer of its manual.
func manPages() []*cobra.Command { return nil }
