package tenant

import (
	"context"
	"strings"
)

// OnEdit says what happens to seeded rows that somebody has changed since.
type OnEdit string

// The answers to an edit.
const (
	KeepEdits    OnEdit = "keep"    // edits stay; a plan names them in a warning
	RestoreEdits OnEdit = "restore" // the next apply puts the seed's values back
	RefuseEdits  OnEdit = "error"   // a plan fails with CodeSeedEdited
)

// Row is one row of a seed: column name to value in the database's text form; nil is NULL.
type Row map[string]*string

// SeedTable is the seed of one table.
type SeedTable struct {
	Name string
	Key  []string // columns that identify a row; every row has them, not NULL
	Rows []Row
}

// SeedSpec is what a tenant's database should contain from the start. Tables are written in their order and removed
// in the reverse one.
type SeedSpec struct {
	Tenant ID
	Place  Place
	Tables []SeedTable
	OnEdit OnEdit
}

// RowEdit names a seeded row that is no longer as it was seeded, or one that can't go because others point at it.
type RowEdit struct {
	Table      string
	Key        string   // "code=1000", composite keys joined by ","
	Columns    []string // the changed ones, sorted; empty if the row was deleted
	Referenced []string // of a kept row that is unedited: the tables with rows that point at it, sorted
}

// String is how a plan shows the edit: accounts[code=1000]: name, active.
func (e RowEdit) String() string {
	what := "deleted"
	switch {
	case len(e.Columns) > 0:
		what = strings.Join(e.Columns, ", ")
	case len(e.Referenced) > 0:
		what = "referenced by " + strings.Join(e.Referenced, ", ")
	}
	return e.Table + "[" + e.Key + "]: " + what
}

// Seed is what is seen of a tenant's seed.
type Seed struct {
	Edited []RowEdit // ordered by table and key
	Kept   []RowEdit // rows that the seed no longer has, kept because they are edited or referenced
}

// SeedReader is the power to tell what was seeded.
type SeedReader interface {
	// ReadTables returns the seed as it was last applied, without rows that are only kept; ErrAbsent and CodeForeign as
	// Seeds.Read.
	ReadTables(ctx context.Context, id ID, place Place) ([]SeedTable, error)
}

// Seeds writes the rows that a tenant can't work without into its database.
type Seeds interface {
	// Apply writes the seed in one transaction together with a marker row: all of it or nothing. It inserts absent
	// rows, updates unedited ones whose seed changed, takes over a row that exists with the seed's key (where it differs
	// from the seed, it counts as edited), treats edited ones as spec.OnEdit says, and removes a row that the seed no
	// longer has only if it is unedited and unreferenced. What was written is remembered as the database gives it back,
	// so that a canonical form ("0.1" for "0.10") is no edit. It fails with CodeSeedInvalid, CodeSeedEdited or
	// CodeSeedFailed. Repeating it changes nothing.
	Apply(ctx context.Context, spec SeedSpec, journal Journal) (Seed, error)
	// Read compares the rows with what was seeded; ErrAbsent if there is no marker row or no database; CodeForeign if
	// the marker is not ours.
	Read(ctx context.Context, id ID, place Place) (Seed, error)
	// Delete forgets the seed: the marker goes, the rows stay: they are the tenant's data and go with the database.
	Delete(ctx context.Context, id ID, place Place, journal Journal) error
}
