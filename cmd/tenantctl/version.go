package main

import "runtime/debug"

// built is the version and the commit, such as "0.1.0+1a2b3c4", set with -ldflags '-X main.built=…'.
//
//nolint:gochecknoglobals // the linker sets nothing but variables
var built string

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
