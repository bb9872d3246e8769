package tenant_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant/tenanttest"
)

func TestParseID(t *testing.T) {
	t.Parallel()
	long, longer := tenanttest.LongIDs()
	for _, good := range []string{"a", "acme", "a-1", "0", string(long), string(longer), "wwww", "n-s"} {
		id, err := tenant.ParseID(good)
		require.NoError(t, err)
		require.Equal(t, tenant.ID(good), id)
	}
	for _, bad := range []string{
		"", "-a", "a-", "A", "a_b", "a.b", "a b", "é", strings.Repeat("a", 64), "xn--bcher-kva",
		"www", "api", "auth", "login", "mail", "admin", "edge", "claims", "ns", "ns1", "nsa",
	} {
		_, err := tenant.ParseID(bad)
		require.Error(t, err, bad)
	}
}

func TestNamesDiffer(t *testing.T) {
	t.Parallel()
	one, two := tenanttest.LongIDs()
	first, second := tenant.Name(63, "prod-eu", string(one)), tenant.Name(63, "prod-eu", string(two))
	require.NotEqual(t, first, second, "two ids that agree in their first 62 bytes")
	require.Len(t, first, 63)
	require.NotEqual(t, tenant.Name(63, "a-b", "c"), tenant.Name(63, "a", "b-c"))
	require.Equal(t, "prod-eu_acme", tenant.Name(63, "prod-eu", "acme"))
}

func TestOwns(t *testing.T) {
	t.Parallel()
	ring := tenanttest.Keyring(t)
	object := tenant.Object{Tenant: "acme", Kind: tenant.KindDatabase, Name: "test-eu_acme"}
	mark := ring.Mark(object)
	require.NoError(t, ring.Owns(object, mark))
	for name, other := range map[string]tenant.Object{
		"tenant": {Tenant: "evil", Kind: object.Kind, Name: object.Name},
		"kind":   {Tenant: "acme", Kind: tenant.KindUser, Name: object.Name},
		"name":   {Tenant: "acme", Kind: object.Kind, Name: "another"},
	} {
		err := ring.Owns(other, mark)
		require.ErrorIs(t, err, tenant.ErrForeign, name)
		require.True(t, tenant.HasCode(err, tenant.CodeForeign), name)
	}
	rewritten := strings.Replace(mark, ":acme:", ":evil:", 1)
	stolen := tenant.Object{Tenant: "evil", Kind: object.Kind, Name: object.Name}
	for name, text := range map[string]string{
		"none": "", "nonsense": "a:b", "cut": mark[:len(mark)-1], "longer": mark + "x", "neighbour": tenanttest.KeyringOf(t, "test-us").Mark(object),
	} {
		require.ErrorIs(t, ring.Owns(object, text), tenant.ErrForeign, name)
	}
	require.ErrorIs(t, ring.Owns(stolen, rewritten), tenant.ErrForeign, "a rewritten mark claims nothing")
	require.True(
		t,
		tenant.HasCode(ring.Owns(object, strings.Replace(mark, ":k1:", ":k2:", 1)), tenant.CodeUnknownKey),
	)
}

func TestLongestMarkFitsACharacterString(t *testing.T) {
	t.Parallel()
	long, _ := tenanttest.LongIDs()
	ring, err := tenant.NewKeyring(strings.Repeat("i", tenant.InstallationMaxLen),
		[]tenant.Key{{ID: strings.Repeat("k", 16), Secret: make([]byte, 32)}})
	require.NoError(t, err)
	require.LessOrEqual(
		t,
		len(ring.Mark(tenant.Object{Tenant: long, Kind: tenant.KindRecord, Name: strings.Repeat("n", 253)})),
		255,
	)
}

func TestKeysRotate(t *testing.T) {
	t.Parallel()
	before := []tenant.Key{{ID: "k1", Secret: bytes.Repeat([]byte{1}, 32)}}
	after := append([]tenant.Key{{ID: "k2", Secret: bytes.Repeat([]byte{2}, 32)}}, before...)
	older, err := tenant.NewKeyring("test-eu", before)
	require.NoError(t, err)
	newer, err := tenant.NewKeyring("test-eu", after)
	require.NoError(t, err)
	object := tenant.Object{Tenant: "acme", Kind: tenant.KindUser, Name: "a@acme.example"}
	require.NoError(t, newer.Owns(object, older.Mark(object)), "the older key still verifies")
	require.Equal(t, "k2", newer.CurrentKeyID())
	ref := tenant.SecretRef{Tenant: "acme", Purpose: "application", Version: 1, Incarnation: "i"}
	once, err := older.Derive(ref)
	require.NoError(t, err)
	ref.KeyID = "k1"
	again, err := newer.Derive(ref)
	require.NoError(t, err)
	require.Equal(t, once.Reveal(), again.Reveal())
	ref.KeyID = "k3"
	_, err = newer.Derive(ref)
	require.True(t, tenant.HasCode(err, tenant.CodeUnknownKey))
}

func TestDerivedSecretsDifferByEveryField(t *testing.T) {
	t.Parallel()
	ring := tenanttest.Keyring(t)
	base := tenant.SecretRef{Tenant: "acme", Purpose: "application", Version: 1, Incarnation: "i"}
	seen := map[string]bool{}
	for _, change := range []func(*tenant.SecretRef){
		func(*tenant.SecretRef) {}, func(r *tenant.SecretRef) { r.Tenant = "evil" }, func(r *tenant.SecretRef) { r.Purpose = "database" },
		func(r *tenant.SecretRef) { r.Version = 2 }, func(r *tenant.SecretRef) { r.Incarnation = "j" },
		func(r *tenant.SecretRef) { r.Tenant, r.Purpose = "acmea", "pplication" },
	} {
		ref := base
		change(&ref)
		secret, err := ring.Derive(ref)
		require.NoError(t, err)
		require.False(t, seen[secret.Reveal()], ref)
		seen[secret.Reveal()] = true
	}
}

func TestKeyErrorsTellNoSecret(t *testing.T) {
	t.Parallel()
	secret := "do-not-tell"
	encoded := base64.StdEncoding.EncodeToString([]byte(secret))
	for _, text := range []string{"k1:" + encoded, "k1:" + encoded + "!", encoded, "k1:" + encoded + ",k1:" + encoded, "K:" + encoded} {
		keys, err := tenant.ParseKeys(text)
		if err == nil {
			_, err = tenant.NewKeyring("test-eu", keys)
		}
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), secret)
		require.NotContains(t, err.Error(), encoded)
	}
}

func TestSecretsPrintAsSuch(t *testing.T) {
	t.Parallel()
	secret := tenant.NewSecret("hunter2")
	holder := struct{ inner tenant.Secret }{secret}
	encoded, err := json.Marshal(map[string]any{"s": secret})
	require.NoError(t, err)
	for _, text := range []string{
		fmt.Sprint(secret), fmt.Sprintf("%v %+v %#v %s", secret, secret, secret, secret),
		fmt.Sprintf("%v %+v %#v", holder, holder, holder), string(encoded),
	} {
		require.NotContains(t, text, "hunter2")
	}
	require.Equal(t, "hunter2", secret.Reveal())
	require.Empty(t, tenant.Secret{}.Reveal())
}

func TestFailuresKeepTheNearestCode(t *testing.T) {
	t.Parallel()
	inner := tenant.Fail(tenant.CodeBusy, "opening the file", errors.New("locked"))
	outer := tenant.FailureOf(
		fmt.Errorf("more: %w", tenant.Fail(tenant.CodeInternal, "creating the database", inner)),
	)
	require.Equal(t, tenant.CodeBusy, outer.Code)
	require.Equal(t, tenant.Retryable, outer.Class)
	require.NotEmpty(t, outer.Remedy)
	require.ErrorContains(t, &outer, "creating the database: opening the file: locked")
	require.Equal(t, tenant.CodeInternal, tenant.FailureOf(errors.New("plain")).Code)
}

func TestFailureLineComesBack(t *testing.T) {
	t.Parallel()
	for _, info := range tenant.Codes() {
		require.NotEmpty(t, info.Meaning, info.Code)
		require.NotEmpty(t, info.Remedy, info.Code)
		failure := tenant.Failure{
			Code:       info.Code,
			Class:      info.Class,
			Step:       tenant.StepSeed,
			RetryAfter: 1500 * time.Millisecond,
		}
		found, ok := tenant.ParseFailureLine("some detail\n" + failure.Line() + "\n")
		require.True(t, ok, info.Code)
		failure.RetryAfter = 2 * time.Second
		require.Equal(t, failure, found)
	}
	line := tenant.Failure{Code: tenant.CodeBusy, Class: tenant.Retryable}.Line()
	_, ok := tenant.ParseFailureLine(line + "\nmore")
	require.False(t, ok, "only the last line counts")
}

func TestGuardTurnsAPanicIntoAFailure(t *testing.T) {
	t.Parallel()
	err := tenant.Guard("seeding acme", func() error { panic("oh") })
	require.True(t, tenant.HasCode(err, tenant.CodeInternal))
	require.ErrorContains(t, err, "seeding acme")
	require.NoError(t, tenant.Guard("nothing", func() error { return nil }))
}

func TestCheckHostname(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"books.acme.example", "a.b", "xn--bcher-kva.example", "app.example.com"} {
		require.NoError(t, tenant.CheckHostname(good, "app.example"))
	}
	for _, bad := range []string{
		"", "acme", "Acme.example", "a..b", "a.b.", "-a.b", "a_b.c", "app.example", "x.app.example", "x.y.app.example", "example",
		"bücher.example", strings.Repeat("a.", 127) + "aa", strings.Repeat("a", 64) + ".b", "*.b",
	} {
		err := tenant.CheckHostname(bad, "app.example")
		require.True(t, tenant.HasCode(err, tenant.CodeHostnameForbidden), bad)
	}
	require.Error(t, tenant.CheckHostname("corp.example", "app.corp.example"), "above our own zone")
}

func FuzzParseID(f *testing.F) {
	for _, seed := range []string{"acme", "", "-", "ns1", "a\x00b", "xn--a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := tenant.ParseID(s)
		if err != nil {
			require.Empty(t, id)
			return
		}
		require.NoError(t, tenant.CheckHostname(tenant.DefaultHostname(id, "app.example"), "zone.test"))
	})
}

func FuzzName(f *testing.F) {
	f.Add("prod-eu", "acme", 16)
	f.Add(strings.Repeat("a", 80), "b", 63)
	f.Fuzz(func(t *testing.T, one, two string, limit int) {
		if limit < 16 || limit > 255 {
			return
		}
		name := tenant.Name(limit, one, two)
		require.LessOrEqual(t, len(name), limit)
		require.Equal(t, name, tenant.Name(limit, one, two))
	})
}

func FuzzOwns(f *testing.F) {
	ring := tenanttest.Keyring(f)
	object := tenant.Object{Tenant: "acme", Kind: tenant.KindRecord, Name: "acme.app.example/CNAME"}
	mark := ring.Mark(object)
	f.Add(mark)
	f.Add("tenantry1:::::")
	f.Fuzz(func(t *testing.T, text string) {
		require.Equal(t, text == mark, ring.Owns(object, text) == nil)
	})
}

func FuzzParseFailureLine(f *testing.F) {
	f.Add("x\ntenant-failure: code=busy class=retryable step=database retry_after_s=7")
	f.Add("tenant-failure: code= class= step= retry_after_s=99999999999")
	f.Fuzz(func(t *testing.T, detail string) {
		if found, ok := tenant.ParseFailureLine(detail); ok {
			again, ok := tenant.ParseFailureLine(found.Line())
			require.True(t, ok)
			require.Equal(t, found, again)
		}
	})
}

func FuzzParseKeys(f *testing.F) {
	f.Add("k1:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	f.Add(",:")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := tenant.ParseKeys(text)
		if err == nil {
			require.NotEmpty(t, keys)
		}
	})
}
