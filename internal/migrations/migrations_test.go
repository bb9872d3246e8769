package migrations_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/migrations"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const good = "-- +goose Up\nCREATE TABLE a (id INTEGER PRIMARY KEY);\n-- +goose Down\nDROP TABLE a;\n"

func folder(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, contents := range files {
		require.NoError(tb, os.WriteFile(filepath.Join(dir, name), []byte(contents), 0o600))
	}
	return dir
}

func TestLoad(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"00010_ten.sql":        good + "\n",
		"9_nine.sql":           good,
		"00001_one.sql":        good,
		".00001_draft.sql":     "not SQL",
		"README.md":            "# notes",
		"helpers.go":           "package x",
		"00002_x_test.go":      "package x",
		"00002_notes.sql.orig": "left over",
	}
	dir := folder(t, files)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "older"), 0o700))
	got, err := migrations.Load(dir)
	require.NoError(t, err)
	require.Len(t, got.Files, 3)
	require.Equal(t, []string{"00001_one.sql", "9_nine.sql", "00010_ten.sql"},
		[]string{got.Files[0].Name, got.Files[1].Name, got.Files[2].Name}, "ordered by version, not by name")
	require.Equal(t, int64(9), got.Files[1].Version)
	require.Equal(t, got.Files[0].SHA256, got.Files[1].SHA256, "a checksum is of the contents alone")
	require.NotEqual(t, got.Files[0].SHA256, got.Files[2].SHA256)

	elsewhere, err := migrations.Load(folder(t, files))
	require.NoError(t, err)
	require.Equal(t, got.Files, elsewhere.Files, "the same files in another folder are equal")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "00001_one.sql"), []byte("changed since"), 0o600))
	contents, err := fs.ReadFile(got.FS, "00001_one.sql")
	require.NoError(t, err)
	require.Equal(t, good, string(contents), "what was hashed is what will be applied")
	require.NoError(t, fstest.TestFS(got.FS, "00001_one.sql", "9_nine.sql", "00010_ten.sql"))
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		files map[string]string
		names []string
	}{
		"a name without a version": {
			map[string]string{"1_a.sql": good, "users.sql": good},
			[]string{"users.sql"},
		},
		"a name without underscore": {map[string]string{"00001.sql": good}, []string{"00001.sql"}},
		"a signed version":          {map[string]string{"+1_a.sql": good}, []string{"+1_a.sql"}},
		"version zero":              {map[string]string{"00000_a.sql": good}, []string{"00000_a.sql"}},
		"a version beyond 63 bits": {
			map[string]string{"9223372036854775808_a.sql": good},
			[]string{"9223372036854775808_a.sql"},
		},
		"an upper-case extension": {map[string]string{"00001_a.SQL": good}, []string{"00001_a.SQL"}},
		"a migration in Go": {
			map[string]string{"1_a.sql": good, "00002_b.go": "package x"},
			[]string{"00002_b.go"},
		},
		"two of one version": {
			map[string]string{"00001_a.sql": good, "1_b.sql": good},
			[]string{"00001_a.sql", "1_b.sql"},
		},
		"no annotation": {
			map[string]string{"00001_a.sql": "CREATE TABLE a (id INTEGER);"},
			[]string{"00001_a.sql"},
		},
		"empty contents": {map[string]string{"00001_a.sql": ""}, []string{"00001_a.sql"}},
		"only down": {
			map[string]string{"00001_a.sql": "-- +goose Down\nDROP TABLE a;\n"},
			[]string{"00001_a.sql"},
		},
		"an unknown annotation": {
			map[string]string{"00001_a.sql": "-- +goose Up\n-- +goose Sideways\n"},
			[]string{"00001_a.sql"},
		},
		"a missing semicolon": {
			map[string]string{"00001_a.sql": "-- +goose Up\nCREATE TABLE a (id INTEGER)\n"},
			[]string{"00001_a.sql"},
		},
		"a statement that never end": {
			map[string]string{"00001_a.sql": "-- +goose Up\n-- +goose StatementBegin\nSELECT 1;\n"},
			[]string{"00001_a.sql"},
		},
		"environment substitution": {
			map[string]string{"00001_a.sql": "-- +goose Up\n-- +goose ENVSUB ON\nSELECT '${TENANT_KEYS}';\n"},
			[]string{"00001_a.sql", "ENVSUB"},
		},
		"no migration at all": {map[string]string{"README.md": ""}, []string{"NNNNN_name.sql"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, c.files)
			_, err := migrations.Load(dir)
			require.Truef(t, tenant.HasCode(err, tenant.CodeMigrationsFolder), "%v", err)
			for _, part := range append(c.names, dir) {
				require.ErrorContains(t, err, part)
			}
		})
	}
}

func TestLoadRefusesWhatIsNoFile(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"00001_a.sql": good})
	require.NoError(t, os.Mkdir(filepath.Join(dir, "00002_b.sql"), 0o700))
	_, err := migrations.Load(dir)
	require.Truef(t, tenant.HasCode(err, tenant.CodeMigrationsFolder), "%v", err)
	require.ErrorContains(t, err, "00002_b.sql")

	dir = folder(t, nil)
	require.NoError(t, os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "00001_a.sql")))
	_, err = migrations.Load(dir)
	require.Truef(t, tenant.HasCode(err, tenant.CodeMigrationsFolder), "%v", err)
	require.ErrorContains(t, err, "00001_a.sql")

	_, err = migrations.Load(filepath.Join(dir, "absent"))
	require.Truef(t, tenant.HasCode(err, tenant.CodeMigrationsFolder), "%v", err)
}

func FuzzLoad(f *testing.F) {
	f.Add("00001_a.sql", []byte(good))
	f.Add("1_.sql", []byte("-- +goose NO TRANSACTION\n-- +goose Up\nPRAGMA user_version = 1;\n"))
	f.Add("+1_a.sql", []byte("-- +goose Up\n"))
	f.Add(
		"00002_fn.sql",
		[]byte("-- +goose Up\n-- +goose StatementBegin\nSELECT ';';\nSELECT 2;\n-- +goose StatementEnd\n"),
	)
	f.Add("2_env.sql", []byte("-- +goose Up\n-- +goose envsub on\nSELECT '$HOME';\n"))
	f.Add("3_b.SQL", []byte("\ufeff-- +goose Up\r\nSELECT 1;\r\n"))
	f.Add("users.sql", []byte("SELECT"))
	f.Add("4_x.go", []byte("package x"))
	f.Add(".5_x.sql", []byte{0, 0xff})
	f.Fuzz(func(t *testing.T, name string, contents []byte) {
		if name == "" || len(name) > 200 || strings.ContainsAny(name, "/\x00") || name == "." ||
			name == ".." {
			return
		}
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), contents, 0o600))
		got, err := migrations.Load(dir)
		if err != nil {
			require.Truef(t, tenant.HasCode(err, tenant.CodeMigrationsFolder), "%v", err)
			return
		}
		require.Len(t, got.Files, 1)
		require.Equal(t, name, got.Files[0].Name)
		require.Positive(t, got.Files[0].Version)
		require.Len(t, got.Files[0].SHA256, 64)
		kept, err := fs.ReadFile(got.FS, name)
		require.NoError(t, err)
		require.Equal(t, string(contents), string(kept))
	})
}

func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	for n := range 20 {
		name := filepath.Join(dir, "000"+string(rune('1'+n/10))+string(rune('0'+n%10))+"_x.sql")
		require.NoError(
			b,
			os.WriteFile(name, []byte(good+strings.Repeat("-- a comment of a usual length\n", 20)), 0o600),
		)
	}
	for b.Loop() {
		_, err := migrations.Load(dir)
		require.NoError(b, err)
	}
}
