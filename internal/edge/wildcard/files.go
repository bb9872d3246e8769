package wildcard

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// StatusFile is the file of the folder that holds the Status, as JSON.
const StatusFile = "wildcard.json"

// The other files of the folder.
const (
	accountFile     = "account.pem"
	certificateFile = "wildcard.pem"
	valueFile       = "challenge.txt"
)

// certificate is a chain with its key.
type certificate struct {
	pem  []byte
	leaf *x509.Certificate
}

// renewAt is when two thirds of its life are over.
func (c *certificate) renewAt() time.Time {
	life := c.leaf.NotAfter.Sub(c.leaf.NotBefore)
	return c.leaf.NotBefore.Add(life / 3 * 2).UTC()
}

// parseCertificate checks that the key fits, and that the chain is for names below the zone.
func parseCertificate(text []byte, zone string) (*certificate, error) {
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		return nil, err
	}
	if err := pair.Leaf.VerifyHostname("a." + zone); err != nil {
		return nil, err
	}
	return &certificate{text, pair.Leaf}, nil
}

// readCertificate returns nil if there is none for this zone: the next one takes its place.
func readCertificate(path, zone string) (*certificate, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the caller's own configured path
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // absent is fine
	}
	if err != nil {
		return nil, err
	}
	held, err := parseCertificate(text, zone)
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // it is no use for this zone, so it is as good as absent
	}
	return held, nil
}

// newKey returns a key and its PEM.
func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}

// accountKey is the key by which the authority knows us, made once.
func accountKey(path string) (crypto.Signer, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the caller's own configured path
	if errors.Is(err, fs.ErrNotExist) {
		key, fresh, err := newKey()
		if err != nil {
			return nil, err
		}
		return key, write(path, fresh)
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s holds no key", path)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s holds no key: %w", path, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s holds a key that can't sign", path)
	}
	return signer, nil
}

func writeJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return write(path, append(text, '\n'))
}

// write replaces the file (0600): a reader finds the old one or the new one.
func write(path string, text []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".wildcard-*")
	if err != nil {
		return err
	}
	_, err = bytes.NewReader(text).WriteTo(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(file.Name()))
	}
	return err
}
