package serve

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"
)

// fault is what is wrong with one thing, nil for nothing.
type fault struct{ text atomic.Pointer[string] }

func (f *fault) String() string {
	if text := f.text.Load(); text != nil {
		return *text
	}
	return ""
}

// health is what /healthz tells of the bindings.
type health struct {
	Status        string         `json:"status"` // "ok", "stale", or "empty" before anything is known
	Bindings      int            `json:"bindings"`
	Custom        int            `json:"custom_hostnames"`
	Unusable      int            `json:"without_upstream"`
	Source        string         `json:"source"`
	ReadAt        *time.Time     `json:"read_at,omitempty"`
	ConfirmedAt   *time.Time     `json:"confirmed_at,omitempty"`
	StaleAfterS   float64        `json:"stale_after_s"`
	TableError    string         `json:"table_error,omitempty"`
	CopyFileError string         `json:"copy_error,omitempty"`
	More          map[string]any `json:"more,omitempty"`
}

// state sums up what is known now.
func (s *Server) state() health {
	v := s.copy.Load()
	h := health{
		Status:        "ok",
		Bindings:      len(v.bindings),
		Custom:        len(v.custom),
		Unusable:      v.unusable,
		Source:        v.source,
		StaleAfterS:   s.config.StaleAfter.Seconds(),
		TableError:    s.table.String(),
		CopyFileError: s.file.String(),
	}
	confirmed := v.read
	if nanos := s.confirmed.Load(); nanos != 0 {
		confirmed = time.Unix(0, nanos)
	}
	if v.source == fromNothing {
		h.Status = "empty"
	} else {
		confirmed, read := confirmed.UTC(), v.read.UTC()
		h.ConfirmedAt, h.ReadAt = &confirmed, &read
		if s.config.Now().Sub(confirmed) > s.config.StaleAfter {
			h.Status = "stale"
		}
	}
	if len(s.config.Health) > 0 {
		h.More = map[string]any{}
	}
	for name, more := range s.config.Health {
		h.More[name] = more()
	}
	return h
}

// health answers 503 only where nothing else can be answered either: a stale copy goes on serving every tenant.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	state := s.state()
	w.Header().Set("Content-Type", "application/json")
	if state.Status == "empty" {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(state) // whoever asked has gone
}
