//go:build failpoints

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// failpoint reads TENANT_FAILPOINT, for tests that end an installed plugin at a named point: kill=NAME@N ends this
// process, with SIGKILL, when it passes the failpoint NAME for the N-th time (the first is 1).
func failpoint() func(string) {
	point, isKill := strings.CutPrefix(os.Getenv("TENANT_FAILPOINT"), "kill=")
	if !isKill {
		return nil
	}
	name, count, _ := strings.Cut(point, "@")
	target, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("TENANT_FAILPOINT: %v", err))
	}
	var passed atomic.Int64
	return func(at string) {
		if at == name && passed.Add(1) == target {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the signal is on its way; not one more write
		}
	}
}
