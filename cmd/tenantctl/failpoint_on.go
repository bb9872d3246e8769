//go:build failpoints

package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// failpointHook reads TENANT_FAILPOINT, for tests that end the work at a named point:
//
//	record=FILE       append each failpoint passed to FILE, one a line
//	stop=NAME#N       at the N-th passing of NAME stop this process (SIGSTOP), until somebody continues or kills it
//	interrupt=NAME#N  there send this process a SIGINT, as Ctrl-C does, and go on
//	kill=WHOM@NAME#N  at the N-th passing of the failpoint NAME (the first is 1) kill WHOM: driver, terraform or both
//
// Terraform's process ids are those written into the children's lock files below the data folder.
func failpointHook(data string) func(string) {
	order, argument, _ := strings.Cut(os.Getenv("TENANT_FAILPOINT"), "=")
	switch order {
	case "record":
		return func(name string) { appendLine(argument, name) }
	case "stop":
		return at(argument, stop)
	case "interrupt":
		return at(argument, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGINT) })
	case "kill":
		whom, point, _ := strings.Cut(argument, "@")
		return at(point, func() { kill(whom, data) })
	default:
		return nil
	}
}

// stop returns when somebody continues this process. Until the signal arrives, which may take a moment, not one more
// thing is done.
func stop() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	<-continued
}

// at returns a hook that acts at one passing of one failpoint, given as NAME#N.
func at(point string, act func()) func(string) {
	wanted, count, _ := strings.Cut(point, "#")
	target, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("TENANT_FAILPOINT: %v", err))
	}
	var passed atomic.Int64
	return func(name string) {
		if name == wanted && passed.Add(1) == target {
			act()
		}
	}
}

func kill(whom, data string) {
	if whom != "driver" {
		for _, pid := range childPIDs(data) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if whom != "terraform" {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way; not one more write
	}
}

func childPIDs(data string) []int {
	files, _ := filepath.Glob(filepath.Join(data, "locks", "*.terraform.lock"))
	var pids []int
	for _, file := range files {
		content, _ := os.ReadFile(file) //nolint:gosec // below the data folder
		if pid, err := strconv.Atoi(strings.TrimSpace(string(content))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func appendLine(path, text string) {
	//nolint:gosec // the file that the test names
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintln(file, text)
	_ = file.Close()
}
