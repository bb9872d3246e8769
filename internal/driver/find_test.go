package driver_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/driver"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// releaseServer stands in for the release server: it has one version, signed with a key of its own.
type releaseServer struct {
	*httptest.Server

	publicKey string
	files     map[string][]byte
}

const released = "1.99.0"

// newReleaseServer serves a Terraform that is a script. spoil may change what is served after it was signed.
func newReleaseServer(t *testing.T, spoil func(files map[string][]byte)) *releaseServer {
	t.Helper()
	archive := fmt.Sprintf("terraform_%s_%s_%s.zip", released, runtime.GOOS, runtime.GOARCH)
	sums := fmt.Sprintf("terraform_%s_SHA256SUMS", released)
	s := &releaseServer{files: map[string][]byte{archive: zipped(t)}}
	s.files[sums] = fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(s.files[archive]), archive)
	signer, err := openpgp.NewEntity("releases", "", "releases@example.com", nil)
	require.NoError(t, err)
	var signature, key bytes.Buffer
	require.NoError(t, openpgp.DetachSign(&signature, signer, bytes.NewReader(s.files[sums]), nil))
	s.files[sums+".sig"] = signature.Bytes()
	armoured, err := armor.Encode(&key, openpgp.PublicKeyType, nil)
	require.NoError(t, err)
	require.NoError(t, signer.Serialize(armoured))
	require.NoError(t, armoured.Close())
	s.publicKey = key.String()

	mux := http.NewServeMux()
	mux.HandleFunc("GET /terraform/index.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).
			Encode(map[string]any{"name": "terraform", "versions": map[string]any{released: map[string]any{
				"name": "terraform", "version": released, "shasums": sums, "shasums_signature": sums + ".sig",
				"builds": []map[string]string{
					{
						"name":     "terraform",
						"version":  released,
						"os":       runtime.GOOS,
						"arch":     runtime.GOARCH,
						"filename": archive,
						"url":      s.URL + "/terraform/" + released + "/" + archive,
					},
				},
			}}})
	})
	mux.HandleFunc("GET /terraform/{version}/{file}", func(w http.ResponseWriter, r *http.Request) {
		content, ok := s.files[r.PathValue("file")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/zip")
		_, _ = w.Write(content)
	})
	if spoil != nil {
		spoil(s.files)
	}
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func zipped(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	program, err := archive.Create("terraform")
	require.NoError(t, err)
	_, err = fmt.Fprintf(program, "#!/bin/sh\necho '{\"terraform_version\": %q}'\n", released)
	require.NoError(t, err)
	require.NoError(t, archive.Close())
	return out.Bytes()
}

func (s *releaseServer) find(t *testing.T, dir string) (path, told string, err error) {
	t.Helper()
	path, err = driver.FindTerraform(t.Context(), driver.TerraformSource{
		Dir: dir, Releases: s.URL, PublicKey: s.publicKey, Tell: func(text string) { told += text },
	})
	return path, told, err
}

// withoutTerraform leaves nothing on PATH but an old Terraform, if there is to be one.
func withoutTerraform(t *testing.T, old bool) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if old {
		script := "#!/bin/sh\necho '{\"terraform_version\": \"1.5.7\"}'\n"
		require.NoError(
			t,
			os.WriteFile(filepath.Join(dir, "terraform"), []byte(script), 0o700),
		)
	}
}

func TestTerraformIsInstalled(t *testing.T) { //nolint:paralleltest // it changes PATH
	withoutTerraform(t, true)
	s, dir := newReleaseServer(t, nil), filepath.Join(t.TempDir(), "bin")
	path, told, err := s.find(t, dir)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "terraform"), path)
	require.Contains(t, told, "installing the newest into "+dir)

	s.Close()
	again, told, err := s.find(t, dir)
	require.NoError(t, err, "an installed one is found without the server")
	require.Equal(t, path, again)
	require.Empty(t, told)
}

func TestTerraformIsNotInstalled(t *testing.T) { //nolint:paralleltest // it changes PATH
	withoutTerraform(t, true)
	cases := map[string]struct {
		spoil func(files map[string][]byte)
		gone  bool
		says  string
	}{
		"a wrong checksum": {
			spoil: func(files map[string][]byte) {
				for name := range files {
					if filepath.Ext(name) == ".zip" {
						files[name] = append(files[name], 0)
					}
				}
			},
			says: "checksum mismatch",
		},
		"checksums of somebody else": {
			spoil: func(files map[string][]byte) {
				files["terraform_"+released+"_SHA256SUMS"] = []byte("0000  terraform\n")
			},
			says: "signature",
		},
		"a missing version": {
			spoil: func(files map[string][]byte) { clear(files) },
			says:  "404",
		},
		"no network": {gone: true, says: "connect"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s, dir := newReleaseServer(t, c.spoil), t.TempDir()
			if c.gone {
				s.Close()
			}
			_, _, err := s.find(t, dir)
			require.True(t, tenant.HasCode(err, tenant.CodeTerraformMissing), "%v", err)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, "1.5.7", "the one that is there, and too old, is named")
			require.NoFileExists(t, filepath.Join(dir, "terraform"))
		})
	}
}
