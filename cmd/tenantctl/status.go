package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenantry/terraform-provider-tenant/internal/catalog"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func newStatus(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "status [TENANT_ID...]",
		Short: "Show what the catalog knows of tenants",
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withCatalog(cmd.Context(), func(ctx context.Context, c *catalog.Catalog) error {
				return o.status(ctx, c, args)
			})
		},
	}
}

func newHistory(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "history TENANT_ID",
		Short: "Show what happened to a tenant, and when",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withCatalog(cmd.Context(), func(ctx context.Context, c *catalog.Catalog) error {
				return o.history(ctx, c, tenant.ID(args[0]))
			})
		},
	}
}

func (o *options) withCatalog(ctx context.Context, verb func(context.Context, *catalog.Catalog) error) error {
	if _, err := os.Stat(o.catalogPath()); errors.Is(err, fs.ErrNotExist) {
		return &tenant.Failure{
			Code:   tenant.CodeInvalidConfig,
			Doing:  "opening the catalog " + o.catalogPath(),
			Err:    errors.New("it does not exist: nothing was applied here yet"),
			Remedy: "Go to the folder of the root module or name it with --chdir; `tenantctl apply` makes the catalog.",
		}
	}
	opened, err := o.openCatalog(ctx)
	if err != nil {
		return err
	}
	return errors.Join(verb(ctx, opened), opened.Close())
}

// knownTenant returns a tenant of the catalog, or a failure that a person understands.
func knownTenant(ctx context.Context, c *catalog.Catalog, id tenant.ID) (catalog.Tenant, error) {
	row, err := c.Get(ctx, id)
	if errors.Is(err, tenant.ErrAbsent) {
		return catalog.Tenant{}, unknownTenant(id)
	}
	return row, err
}

func unknownTenant(id tenant.ID) error {
	return tenant.Fail(tenant.CodeInvalidConfig, "looking for tenant "+string(id),
		errors.New("the catalog does not know it; `tenantctl apply` makes it known"))
}

// tenantStatus is the published form of a tenant; its field names are a contract.
type tenantStatus struct {
	TenantID           tenant.ID         `json:"tenant_id"`
	Status             catalog.Status    `json:"status"`
	DisplayName        string            `json:"display_name"`
	Plan               string            `json:"plan"`
	Hostname           string            `json:"hostname"`
	Generation         int64             `json:"generation"`
	ObservedGeneration int64             `json:"observed_generation"`
	Steps              []stepStatus      `json:"steps"`
	WaitingFor         string            `json:"waiting_for,omitempty"`
	WaitUntil          *time.Time        `json:"wait_until,omitempty"`
	Failure            *failureStatus    `json:"failure,omitempty"`
	Attempts           int64             `json:"attempts"`
	LastReconcile      *time.Time        `json:"last_reconcile,omitempty"`
	NextReconcile      *time.Time        `json:"next_reconcile,omitempty"`
	Mail               *mailStatus       `json:"mail,omitempty"`
	Objects            map[string]string `json:"objects"`
	Outputs            json.RawMessage   `json:"outputs,omitempty"`
}

type stepStatus struct {
	Step    tenant.Step        `json:"step"`
	Status  catalog.StepStatus `json:"status"`
	Reason  string             `json:"reason,omitempty"`
	Message string             `json:"message,omitempty"`
	Since   time.Time          `json:"since"`
}

type failureStatus struct {
	Code    tenant.Code  `json:"code"`
	Class   tenant.Class `json:"class"`
	Step    tenant.Step  `json:"step,omitempty"`
	Message string       `json:"message"`
	Remedy  string       `json:"remedy"`
}

type mailStatus struct {
	Tenant      tenant.ID         `json:"tenant_id"`
	Kind        string            `json:"kind"`
	To          string            `json:"to"`
	MessageID   string            `json:"message_id"`
	State       catalog.MailState `json:"state"`
	Attempts    int               `json:"attempts"`
	NextAttempt *time.Time        `json:"next_attempt,omitempty"`
	Sent        *time.Time        `json:"sent,omitempty"`
	Detail      string            `json:"detail,omitempty"`
}

func (o *options) status(ctx context.Context, c *catalog.Catalog, ids []string) error {
	rows, err := c.List(ctx)
	if err != nil {
		return err
	}
	list := []tenantStatus{}
	for _, row := range rows {
		if len(ids) == 0 || slices.Contains(ids, string(row.ID)) {
			list = append(list, statusOf(row))
		}
	}
	if err := o.show(list, func() { o.statusTable(list) }); err != nil {
		return err
	}
	for _, id := range ids {
		known := slices.ContainsFunc(list, func(s tenantStatus) bool { return string(s.TenantID) == id })
		if !known {
			return unknownTenant(tenant.ID(id))
		}
	}
	return nil
}

// show writes a document for programs, or calls table for people.
func (o *options) show(document any, table func()) error {
	if !o.json {
		table()
		return nil
	}
	encoder := json.NewEncoder(o.out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}

func (o *options) statusTable(list []tenantStatus) {
	w := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TENANT\tSTATUS\tPLAN\tHOSTNAME\tSTEPS\tMAIL")
	for _, row := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n",
			row.TenantID, row.Status, row.Plan, row.Hostname, stepSummary(row.Steps), mailSummary(row.Mail))
	}
	_ = w.Flush()
	for _, row := range list {
		o.statusNotes(row)
	}
}

// statusNotes tells below the table what a person has to know or do.
func (o *options) statusNotes(row tenantStatus) {
	if row.Failure != nil {
		f := row.Failure
		fmt.Fprintf(o.out, "\n%s failed: %s%s\n", row.TenantID, strings.ReplaceAll(f.Message, "\n", "\n    "),
			advice(f.Message, f.Remedy, f.Code, f.Class))
	}
	if row.WaitingFor != "" && row.WaitUntil != nil {
		fmt.Fprintf(o.out, "\n%s waits for the proof of %s until %s; `tenantctl apply %s` looks for it\n",
			row.TenantID, row.WaitingFor, row.WaitUntil.Format(time.RFC3339), row.TenantID)
	}
	if mail := row.Mail; mail != nil && mail.Detail != "" && mail.Sent == nil {
		fmt.Fprintf(
			o.out,
			"\n%s: the %s mail to %s is not delivered: %s\n",
			row.TenantID,
			mail.Kind,
			mail.To,
			mail.Detail,
		)
		if mail.NextAttempt != nil {
			fmt.Fprintf(
				o.out,
				"    → `tenantctl mail` tries again from %s on\n",
				mail.NextAttempt.Format(time.RFC3339),
			)
		}
	}
	for _, record := range requiredRecords(row) {
		fmt.Fprintf(o.out, "\n%s: the customer still has to publish (%s):\n    %s  %s  %s\n",
			row.TenantID, record.Purpose, record.Name, record.Type, record.Value)
	}
}

// takeOutputs fills in what the tenant's file leaves to defaults of the root module.
func (s *tenantStatus) takeOutputs() {
	var output struct {
		DisplayName string `json:"display_name"`
		Plan        string `json:"plan"`
	}
	if json.Unmarshal(s.Outputs, &output) != nil {
		return
	}
	s.DisplayName, s.Plan = cmp.Or(s.DisplayName, output.DisplayName), cmp.Or(s.Plan, output.Plan)
}

type requiredRecord struct {
	Purpose string `json:"purpose"`
	Name    string `json:"name"`
	Type    string `json:"type"`
	Value   string `json:"value"`
}

// requiredRecords are those of a custom hostname that is not verified yet.
func requiredRecords(row tenantStatus) []requiredRecord {
	var output struct {
		Verification string           `json:"verification"`
		Required     []requiredRecord `json:"required_records"`
	}
	if json.Unmarshal(row.Outputs, &output) != nil || output.Verification == string(tenant.ClaimVerified) {
		return nil
	}
	return output.Required
}

func stepSummary(steps []stepStatus) string {
	ready := 0
	for _, step := range steps {
		if step.Status == catalog.StepReady {
			ready++
		}
	}
	return fmt.Sprintf("%d/%d ready", ready, len(tenant.Steps()))
}

func mailSummary(mail *mailStatus) string {
	if mail == nil {
		return "-"
	}
	return string(mail.State)
}

func statusOf(row catalog.Tenant) tenantStatus {
	out := tenantStatus{
		TenantID:           row.ID,
		Status:             row.Status,
		DisplayName:        row.DisplayName,
		Plan:               row.Plan,
		Hostname:           row.Hostname,
		Generation:         row.Generation,
		ObservedGeneration: row.ObservedGeneration,
		WaitingFor:         row.WaitingFor,
		WaitUntil: optionalTime(
			row.WaitUntil,
		),
		Attempts:      row.Attempts,
		LastReconcile: optionalTime(row.LastReconcile),
		NextReconcile: optionalTime(row.NextReconcile),
		Outputs:       row.Outputs,
		Objects:       map[string]string{},
		Steps:         []stepStatus{},
	}
	out.takeOutputs()
	for _, c := range row.Conditions {
		out.Steps = append(out.Steps, stepStatus{c.Step, c.Status, c.Reason, c.Message, c.Since})
	}
	for _, entry := range row.ExternalIDs {
		out.Objects[entry.Object.String()] = entry.ExternalID
	}
	if f := row.Failure; f != nil {
		out.Failure = &failureStatus{f.Code, f.Class, f.Step, f.Message, f.Remedy}
	}
	if row.Mail != nil {
		mail := mailOf(*row.Mail)
		out.Mail = &mail
	}
	return out
}

func mailOf(mail catalog.Mail) mailStatus {
	return mailStatus{
		Tenant: mail.Tenant, Kind: mail.Kind, To: mail.To, MessageID: mail.MessageID, State: mail.State,
		Attempts: mail.Attempts, NextAttempt: optionalTime(mail.NextAttempt), Sent: optionalTime(mail.SentAt),
		Detail: mail.Detail,
	}
}

func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (o *options) history(ctx context.Context, c *catalog.Catalog, id tenant.ID) error {
	if _, err := knownTenant(ctx, c, id); err != nil {
		return err
	}
	entries, err := c.History(ctx, id)
	if err != nil {
		return err
	}
	lines := []historyLine{}
	for _, e := range entries {
		lines = append(lines, historyLine{e.Time, e.Kind, e.Run, e.Epoch, e.Text, e.Detail})
	}
	return o.show(lines, func() {
		for _, entry := range lines {
			text := entry.Text
			if entry.Detail != "" {
				text += "\n" + entry.Detail
			}
			fmt.Fprintf(o.out, "%s  %-14s %s\n", entry.Time.Format(time.RFC3339), entry.Kind,
				strings.ReplaceAll(text, "\n", "\n    "))
		}
	})
}

// historyLine is the published form of an entry of the history; its field names are a contract.
type historyLine struct {
	Time   time.Time         `json:"time"`
	Kind   catalog.EventKind `json:"kind"`
	Run    int64             `json:"run,omitempty"`
	Epoch  int64             `json:"epoch"`
	Text   string            `json:"text"`
	Detail string            `json:"detail,omitempty"`
}
