package tenant_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func migration(version int64, name, sum string) tenant.Migration {
	return tenant.Migration{Version: version, Name: name, SHA256: sum}
}

func TestPending(t *testing.T) {
	t.Parallel()
	one, two, three := migration(
		1,
		"00001_a.sql",
		"aa",
	), migration(
		2,
		"00002_b.sql",
		"bb",
	), migration(
		3,
		"00003_c.sql",
		"cc",
	)
	unknown := migration(1, "version 1", "")
	cases := map[string]struct {
		files, applied, want []tenant.Migration
		code                 tenant.Code
		names                string
	}{
		"nothing at all": {},
		"a new database": {files: []tenant.Migration{one, two}, want: []tenant.Migration{one, two}},
		"all applied": {
			files:   []tenant.Migration{one, two},
			applied: []tenant.Migration{one, two},
		},
		"one added": {
			files:   []tenant.Migration{one, two},
			applied: []tenant.Migration{one},
			want:    []tenant.Migration{two},
		},
		"applied in another order": {
			files:   []tenant.Migration{one, two, three},
			applied: []tenant.Migration{two, one},
			want:    []tenant.Migration{three},
		},
		"renamed": {
			files:   []tenant.Migration{migration(1, "00001_z.sql", "aa")},
			applied: []tenant.Migration{one},
		},
		"contents not known": {
			files:   []tenant.Migration{one, two},
			applied: []tenant.Migration{unknown},
			want:    []tenant.Migration{two},
		},
		"edited": {
			files: []tenant.Migration{
				one,
				migration(2, "00002_b.sql", "xx"),
			},
			applied: []tenant.Migration{one, two},
			code:    tenant.CodeMigrationEdited,
			names:   "00002_b.sql",
		},
		"inserted below": {
			files: []tenant.Migration{one, two, three}, applied: []tenant.Migration{one, three},
			code: tenant.CodeMigrationOrder, names: "00002_b.sql",
		},
		"inserted at the front": {
			files: []tenant.Migration{one, two}, applied: []tenant.Migration{two},
			code: tenant.CodeMigrationOrder, names: "00001_a.sql",
		},
		"the newest is missing": {
			files: []tenant.Migration{one}, applied: []tenant.Migration{one, two},
			code: tenant.CodeDatabaseAhead, names: "00002_b.sql",
		},
		"one below is missing": {
			files: []tenant.Migration{two}, applied: []tenant.Migration{one, two},
			code: tenant.CodeDatabaseAhead, names: "00001_a.sql",
		},
		"not managed": {applied: []tenant.Migration{one}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tenant.Migrations{Files: c.files}.Pending(c.applied)
			if c.code != "" {
				require.Truef(t, tenant.HasCode(err, c.code), "%v", err)
				require.ErrorContains(t, err, c.names)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}
