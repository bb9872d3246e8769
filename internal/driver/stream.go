package driver

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// line is one event of Terraform's machine-readable output
// (https://developer.hashicorp.com/terraform/internals/machine-readable-ui), as far as it is used here.
type line struct {
	Type       string                `json:"type"`
	Message    string                `json:"@message"`
	Hook       *hook                 `json:"hook"`
	Change     *hook                 `json:"change"`
	Diagnostic *diagnostic           `json:"diagnostic"`
	Changes    *Changes              `json:"changes"`
	Outputs    map[string]outputLine `json:"outputs"`
}

type hook struct {
	Resource struct {
		Addr string `json:"addr"`
		Type string `json:"resource_type"`
	} `json:"resource"`
	Action  string  `json:"action"`
	Elapsed float64 `json:"elapsed_seconds"`
}

type diagnostic struct {
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Detail   string `json:"detail"`
	Address  string `json:"address"`
	Range    *struct {
		Filename string `json:"filename"`
		Start    struct {
			Line int `json:"line"`
		} `json:"start"`
	} `json:"range"`
}

type outputLine struct {
	Sensitive bool            `json:"sensitive"`
	Value     json.RawMessage `json:"value"`
}

// Changes counts what a run planned or did.
type Changes struct {
	Add    int `json:"add"`
	Change int `json:"change"`
	Remove int `json:"remove"`
}

// None reports whether there was nothing to do.
func (c Changes) None() bool { return c == Changes{} }

// PlannedChange is one resource that a plan would change.
type PlannedChange struct {
	Address string `json:"address"`
	Action  string `json:"action"`
}

// stream reads the events of one run as Terraform writes them. It is not safe for concurrent use; terraform-exec
// writes from one goroutine.
type stream struct {
	rest        []byte
	onHook      func(kind string, h hook)
	failing     string // the address of the resource whose work failed last: a delete error has none of its own
	planned     []PlannedChange
	did         Changes
	outputs     map[string]outputLine
	errors      []diagnostic
	warnings    []diagnostic
	sawOutputs  bool
	sawAnything bool
}

// Write takes any piece of the output.
func (s *stream) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	for {
		end := bytes.IndexByte(s.rest, '\n')
		if end < 0 {
			return len(p), nil
		}
		s.take(s.rest[:end])
		s.rest = s.rest[end+1:]
	}
}

func (s *stream) take(raw []byte) {
	var event line
	if err := json.Unmarshal(raw, &event); err != nil {
		return // a plain line, such as Terraform's own panic
	}
	s.sawAnything = true
	switch event.Type {
	case "planned_change":
		if event.Change != nil && event.Change.Action != "noop" {
			s.planned = append(s.planned, PlannedChange{event.Change.Resource.Addr, event.Change.Action})
		}
	case "apply_start", "apply_complete", "apply_errored":
		s.hook(event)
	case "change_summary":
		if event.Changes != nil {
			s.did = *event.Changes
		}
	case "outputs":
		s.outputs, s.sawOutputs = event.Outputs, true
	case "diagnostic":
		s.diagnostic(event.Diagnostic)
	}
}

func (s *stream) hook(event line) {
	if event.Hook == nil {
		return
	}
	if event.Type == "apply_errored" {
		s.failing = event.Hook.Resource.Addr
	}
	if s.onHook != nil {
		s.onHook(event.Type, *event.Hook)
	}
}

func (s *stream) diagnostic(d *diagnostic) {
	switch {
	case d == nil:
	case d.Severity == "error":
		if d.Address == "" {
			d.Address = s.failing
		}
		s.errors = append(s.errors, *d)
	default:
		s.warnings = append(s.warnings, *d)
	}
}

// text is how a person reads the diagnostic: without the line for machines.
func (d diagnostic) text() string {
	text := d.title()
	if detail := d.detail(); detail != "" {
		text += "\n" + detail
	}
	return text
}

// stepOf returns the step that a resource type of ours is reported as.
func stepOf(resourceType string) (tenant.Step, bool) {
	step := tenant.Step(strings.TrimPrefix(resourceType, "tenant_"))
	for _, known := range tenant.Steps() {
		if step == known && strings.HasPrefix(resourceType, "tenant_") {
			return step, true
		}
	}
	return "", false
}
