package catalog

import (
	"encoding/json"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Status is where a tenant stands in its life.
type Status string

// The statuses.
const (
	Provisioning Status = "provisioning" // being onboarded; its hostnames are not open
	Online       Status = "online"       // announced and in use
	Suspended    Status = "suspended"    // closed for now
	Offboarding  Status = "offboarding"  // being taken down
	Offboarded   Status = "offboarded"   // gone; the row is evidence
	Failed       Status = "failed"       // the last run of an onboarding failed; the next one goes on from there
)

// StepStatus is how far one step of a tenant is.
type StepStatus string

// The statuses of a step.
const (
	StepUnknown     StepStatus = "unknown"
	StepProgressing StepStatus = "progressing"
	StepReady       StepStatus = "ready"
	StepFailed      StepStatus = "failed"
)

// Spec is what somebody wants of a tenant. Values must hold nothing sensitive: whatever is given here is
// stored, and shown by status, as it is.
type Spec struct {
	Values      json.RawMessage // a JSON object with sorted keys
	DisplayName string
	Plan        string
	// TakenOver says that the tenant's people use it already: it is announced to nobody.
	TakenOver bool
}

// Condition tells of one step.
type Condition struct {
	Step       tenant.Step
	Status     StepStatus
	Reason     string // one word for programs, such as Applied
	Message    string // for people
	Generation int64  // of the spec that it was observed at; below the tenant's it is out of date
	Since      time.Time
}

// Failure is a tenant.Failure as it is stored. Message must hold no secret.
type Failure struct {
	Code    tenant.Code
	Class   tenant.Class
	Step    tenant.Step
	Message string
	Remedy  string
}

// Tenant is all that the catalog knows of a tenant. Times are in UTC, whole milliseconds; the zero time
// means never.
type Tenant struct {
	ID                 tenant.ID
	Spec               json.RawMessage // as declared
	DisplayName        string
	Plan               string
	Generation         int64 // of the spec; grows with every change of it
	ObservedGeneration int64 // of the spec that the last finished run worked with
	Onboarding         int64 // 1, and one more for each onboarding after an offboarding
	Status             Status
	Conditions         []Condition     // every step of tenant.Steps in that order, then others
	Outputs            json.RawMessage // the output "tenant" of the last successful run; nil before
	Hostname           string          // the active one, as the last successful run recorded it
	ExternalIDs        []JournalEntry  // what this onboarding made or adopted, in order; nothing that is removed
	Failure            *Failure        // of the last run; nil if it succeeded
	Attempts           int64           // failed runs since the last successful one
	LastReconcile      time.Time       // the end of the last run
	NextReconcile      time.Time
	WaitingFor         string // the custom hostname whose proof holds the pivot up
	WaitUntil          time.Time
	AnnouncedAt        time.Time // the time of the pivot
	TakenOver          bool      // it was Online before it came here, and was announced to nobody
	Epoch              int64
	Mail               *Mail // the newest one of this onboarding; nil before the pivot
}

// RunResult is how a run ended.
type RunResult string

// The results of a run.
const (
	RunRunning   RunResult = "running"
	RunSucceeded RunResult = "succeeded"
	RunFailed    RunResult = "failed"
	RunAbandoned RunResult = "abandoned" // its owner died; the next run went on
)

// Run is one run of Terraform for a tenant.
type Run struct {
	ID         int64
	Tenant     tenant.ID
	Generation int64
	Epoch      int64
	Action     string // the verb, such as apply
	Result     RunResult
	Changes    string
	Failure    *Failure
	StartedAt  time.Time
	FinishedAt time.Time
}

// Outcome is what a run came to.
type Outcome struct {
	Changes       string          // for people: "4 added, 0 changed, 0 removed"
	Outputs       json.RawMessage // the output "tenant"; kept as it was if the run failed. Nothing sensitive
	Hostname      string          // the active one
	Conditions    []Condition
	Failure       *Failure // nil: the run succeeded
	NextReconcile time.Time
}

// PivotRequest is what a tenant goes Online with.
type PivotRequest struct {
	Generation int64
	Outputs    json.RawMessage // the output "tenant", and all that the mail may claim
	Hostname   string          // the active one
	// Reopen orders the hostnames of a tenant that is Online already to be opened again although Hostname
	// is the same: for a run that made bindings anew, which begin closed.
	Reopen bool
	Mail   NewMail // the zero value tells nobody
	// TakenOver says that the tenant was announced before this catalog knew of it: it gets no mail, now or later.
	TakenOver bool
}

// NewMail is a mail to be queued.
type NewMail struct {
	Kind      string
	MessageID string
	To        string // address
	ToName    string
}

// MailState is how far a mail is.
type MailState string

// The states of a mail.
const (
	MailWaiting   MailState = "waiting" // for the tenant's hostnames to be open
	MailDue       MailState = "due"
	MailClaimed   MailState = "claimed"   // somebody is delivering it now
	MailSent      MailState = "sent"      // accepted by the mail system
	MailUncertain MailState = "uncertain" // maybe accepted; tried again under the same Message-ID
	MailFailed    MailState = "failed"    // the last attempt failed; another one follows
	MailObsolete  MailState = "obsolete"  // its tenant was offboarded before it could be sent
)

// Mail is one mail to a tenant. There is one of a kind for each onboarding, under one Message-ID.
type Mail struct {
	Tenant      tenant.ID
	Kind        string
	Onboarding  int64
	MessageID   string
	To          string
	ToName      string
	Claims      json.RawMessage // the recorded output that its text may claim things from
	State       MailState
	Uncertain   bool // an attempt may have been accepted without an answer: there may be more than one copy
	Attempts    int
	QueuedAt    time.Time
	NextAttempt time.Time
	SentAt      time.Time
	Detail      string // why the last attempt failed
	token       string // of the claim
}

// Order is an order to the edge, written with the pivot, about all of a tenant's hostnames.
type Order struct {
	Tenant    tenant.ID
	Number    int64
	State     string // a tenant.BindingState
	Epoch     int64
	OrderedAt time.Time

	onboarding int64
}

// JournalState is what the journal knows of an object.
type JournalState string

// The states of an object.
const (
	JournalIntended JournalState = "intended" // about to be made; it may or may not exist
	JournalCreated  JournalState = "created"  // made by this onboarding
	JournalAdopted  JournalState = "adopted"  // found with our mark
	JournalRemoved  JournalState = "removed"  // seen absent after its removal
)

// JournalEntry is one object of a tenant's onboarding.
type JournalEntry struct {
	Object     tenant.Object
	State      JournalState
	ExternalID string
	ChangedAt  time.Time
}

// EventKind is the kind of an entry of the history.
type EventKind string

// The kinds of history entries. They are a contract.
const (
	EventDeclared      EventKind = "declared"
	EventStatus        EventKind = "status"
	EventWaiting       EventKind = "waiting"
	EventRunStarted    EventKind = "run_started"
	EventRunSucceeded  EventKind = "run_succeeded"
	EventRunFailed     EventKind = "run_failed"
	EventRunAbandoned  EventKind = "run_abandoned"
	EventGateOrdered   EventKind = "gate_ordered"
	EventGateMoved     EventKind = "gate_moved"
	EventMailQueued    EventKind = "mail_queued"
	EventMailChanged   EventKind = "mail_changed"
	EventMailSent      EventKind = "mail_sent"
	EventMailFailed    EventKind = "mail_failed"
	EventMailUncertain EventKind = "mail_uncertain"
	EventMailResend    EventKind = "mail_resend"
)

// Event is one entry of the history. Text names no person: it can never be erased. Detail can, and comes
// from the run that the event belongs to.
type Event struct {
	Sequence   int64
	Tenant     tenant.ID
	Onboarding int64
	Time       time.Time
	Epoch      int64 // of the owner at that time
	Run        int64 // 0: of no run
	Kind       EventKind
	Text       string
	Detail     string // why the run failed
}
