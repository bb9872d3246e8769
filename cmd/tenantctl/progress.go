package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/tenantry/terraform-provider-tenant/internal/driver"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// progress shows events as they come: JSON on stdout for programs, lines for people, those that need attention on
// stderr.
func (o *options) progress() driver.Progress {
	var mu sync.Mutex
	return func(event driver.Event) {
		mu.Lock()
		defer mu.Unlock()
		if o.json {
			if text, err := json.Marshal(event); err == nil {
				fmt.Fprintf(o.out, "%s\n", text)
			}
			return
		}
		out := o.out
		if event.Type == "failed" || event.Type == "warning" {
			out = o.err
		}
		fmt.Fprintln(out, eventLine(event))
	}
}

// eventLine is an event for a person; further lines of its message are indented below the first.
func eventLine(event driver.Event) string {
	what := event.Type
	if event.Step != "" && event.Type != "failed" {
		what = string(event.Step)
	}
	text := fmt.Sprintf(
		"%-20s %-9s %s",
		event.Tenant,
		what,
		strings.ReplaceAll(event.Message, "\n", "\n    "),
	)
	switch {
	case event.Type == "step" && event.Elapsed >= 1e9:
		text += fmt.Sprintf(" (%.0fs)", event.Elapsed.Seconds())
	case event.Type == "retry":
		text += fmt.Sprintf("\n    trying again in %.1fs", event.Elapsed.Seconds())
	case event.Type == "failed":
		text += advice(event.Message, event.Remedy, event.Code, event.Class)
	}
	return text
}

// advice ends the text of a failure: what to do, unless the provider has said it already, and the code for scripts.
func advice(said, remedy string, code tenant.Code, class tenant.Class) string {
	if strings.Contains(said, remedy) {
		return fmt.Sprintf("\n    (%s, %s)", code, class)
	}
	return fmt.Sprintf("\n    → %s (%s, %s)", remedy, code, class)
}
