// Package tenanttest holds one conformance suite per port of package tenant. Every backend, embedded or real, passes
// the same suite, so that a stand-in cannot lie.
package tenanttest

import (
	"bytes"
	"context"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Installation is the installation whose keyring the suites use.
const Installation = "test-eu"

// Keyring returns a keyring of Installation with one fixed key.
func Keyring(tb testing.TB) *tenant.Keyring {
	tb.Helper()
	return KeyringOf(tb, Installation)
}

// KeyringOf returns a keyring of another installation with the same key: a neighbour on a shared system.
func KeyringOf(tb testing.TB, installation string) *tenant.Keyring {
	tb.Helper()
	ring, err := tenant.NewKeyring(installation, []tenant.Key{
		{ID: "k1", Secret: bytes.Repeat([]byte{7}, tenant.MinKeyLen)},
	})
	require.NoError(tb, err)
	return ring
}

// LongIDs are two valid ids of the greatest length that agree in all but their last byte.
func LongIDs() (tenant.ID, tenant.ID) {
	stem := strings.Repeat("a", 62)
	return tenant.ID(stem + "a"), tenant.ID(stem + "b")
}

// Journal records what is written to it and keeps the contract of the catalog's: an Adopted after an own Intent
// counts as Created.
type Journal struct {
	mu     sync.Mutex
	Events []string // "intent database test-eu_acme", in order
	open   map[tenant.Object]bool
	made   map[tenant.Object]string
}

var _ tenant.Journal = (*Journal)(nil)

func (j *Journal) write(event string, o tenant.Object) {
	j.Events = append(j.Events, event+" "+o.String())
}

// Intent records that o will be made.
func (j *Journal) Intent(_ context.Context, o tenant.Object) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.open == nil {
		j.open, j.made = map[tenant.Object]bool{}, map[tenant.Object]string{}
	}
	j.open[o] = true
	j.write("intent", o)
	return nil
}

// Created records that o was made.
func (j *Journal) Created(_ context.Context, o tenant.Object, externalID string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.open[o] {
		j.write("CREATED WITHOUT INTENT", o)
		return nil
	}
	j.made[o] = externalID
	j.write("created", o)
	return nil
}

// Adopted records that o was found with our mark.
func (j *Journal) Adopted(_ context.Context, o tenant.Object, externalID string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.open[o] {
		j.made[o] = externalID
		return nil
	}
	j.write("adopted", o)
	return nil
}

// Removed records that o is gone.
func (j *Journal) Removed(_ context.Context, o tenant.Object) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.made, o)
	delete(j.open, o)
	j.write("removed", o)
	return nil
}

// Made returns the objects that this journal counts as created, with their external ids.
func (j *Journal) Made() map[tenant.Object]string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return maps.Clone(j.made)
}

// RequireSound fails the test if an object was made without an Intent before it, or an Intent was left open.
func (j *Journal) RequireSound(tb testing.TB) {
	tb.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, event := range j.Events {
		require.NotContains(tb, event, "CREATED WITHOUT INTENT")
	}
	for o := range j.open {
		require.Contains(tb, j.made, o, "an intent was left open")
	}
}
