//go:build !failpoints

package main

// failpointHook returns nil: a released program has no failpoints.
func failpointHook(string) func(string) { return nil }
