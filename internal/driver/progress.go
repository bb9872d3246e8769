package driver

import (
	"encoding/json"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Event is one thing that happened, for a person's screen or, as JSON, for a program.
type Event struct {
	Time   time.Time `json:"time"`
	Tenant tenant.ID `json:"tenant_id,omitempty"`
	// Type is one of: started, step, warning, waiting, online, changed, unchanged, gate, mail, failed, retry, notice,
	// planned.
	Type     string          `json:"type"`
	Step     tenant.Step     `json:"step,omitempty"`
	Message  string          `json:"message"`
	Code     tenant.Code     `json:"code,omitempty"`
	Class    tenant.Class    `json:"class,omitempty"`
	Remedy   string          `json:"remedy,omitempty"`
	Changes  []PlannedChange `json:"changes,omitempty"`
	Elapsed  time.Duration   `json:"elapsed_ns,omitempty"`
	Outputs  json.RawMessage `json:"-"`
	MailPath string          `json:"mail,omitempty"`
}

// Progress takes events; it must be safe for concurrent use and must not block for long.
type Progress func(Event)

func failureEvent(id tenant.ID, err error) Event {
	failure := tenant.FailureOf(err)
	return Event{
		Tenant: id, Type: "failed", Step: failure.Step, Message: err.Error(),
		Code: failure.Code, Class: failure.Class, Remedy: failure.Remedy,
	}
}
