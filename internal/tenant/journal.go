package tenant

import "context"

// Journal records which external objects an onboarding made, so that their ids are known the moment they exist and a
// compensation removes exactly what this onboarding created. All methods are idempotent. An error stops the work: an
// object that can't be recorded is not made.
type Journal interface {
	// Intent is written when the object was seen absent, before the request that creates it.
	Intent(ctx context.Context, o Object) error
	// Created is written right after the object exists. externalID is the outside system's id for it.
	Created(ctx context.Context, o Object, externalID string) error
	// Adopted is written when the object was found with our mark. If the journal holds an Intent of this onboarding
	// for it, a kill fell between the two writes and it counts as Created.
	Adopted(ctx context.Context, o Object, externalID string) error
	// Removed is written after the object was read again and found absent.
	Removed(ctx context.Context, o Object) error
}

// NoJournal is the journal of an apply by hand, or in HCP Terraform: the marks alone say what exists.
type NoJournal struct{}

// Intent does nothing.
func (NoJournal) Intent(context.Context, Object) error { return nil }

// Created does nothing.
func (NoJournal) Created(context.Context, Object, string) error { return nil }

// Adopted does nothing.
func (NoJournal) Adopted(context.Context, Object, string) error { return nil }

// Removed does nothing.
func (NoJournal) Removed(context.Context, Object) error { return nil }

var _ Journal = NoJournal{}

// Make is the one way to create an external object: it writes the Intent, runs create, writes Created with the id
// that create returns. The failpoints KIND.intended, KIND.made and KIND.recorded lie between its writes.
func Make(
	ctx context.Context,
	journal Journal,
	o Object,
	create func(context.Context) (externalID string, err error),
) (string, error) {
	if err := journal.Intent(ctx, o); err != nil {
		return "", err
	}
	Failpoint(ctx, string(o.Kind)+".intended")
	externalID, err := create(ctx)
	if err != nil {
		return "", err
	}
	Failpoint(ctx, string(o.Kind)+".made")
	if err := journal.Created(ctx, o, externalID); err != nil {
		return "", err
	}
	Failpoint(ctx, string(o.Kind)+".recorded")
	return externalID, nil
}
