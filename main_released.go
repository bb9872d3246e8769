//go:build !failpoints

package main

// failpoint is nil: a released plugin passes no failpoints.
func failpoint() func(string) { return nil }
