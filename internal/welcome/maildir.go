package welcome

import (
	"context"
	"errors"
	"io/fs"
	"net/mail"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// messageIDMaxLen leaves room in a file's name of 255 bytes.
const messageIDMaxLen = 150

// Maildir is the Sender that puts each mail into a folder (0700), as TENANT.KIND.eml (0600), which mail programs open.
// A mail with the same Message-ID takes the place of the earlier copy; one with another, of an earlier onboarding,
// is kept beside it. A file is there whole or not at all.
type Maildir struct{ Dir string }

var _ Sender = Maildir{}

// Describe names the file.
func (d Maildir) Describe(message Message) string { return "is in " + d.path(message) }

func (d Maildir) path(message Message) string {
	return filepath.Join(d.Dir, string(message.Tenant)+"."+message.Kind+".eml")
}

// Send writes the file. Its outcome is never uncertain.
func (d Maildir) Send(ctx context.Context, message Message) (err error) {
	if _, err := tenant.ParseID(string(message.Tenant)); err != nil {
		return tenant.Fail(tenant.CodeInvalidTenantID, "storing the "+message.String(), err)
	}
	if message.Kind == "" || strings.ContainsAny(message.Kind, `/\.`) {
		return tenant.Fail(
			tenant.CodeInternal,
			"storing the "+message.String(),
			errors.New("its kind names no file"),
		)
	}
	if err := ctx.Err(); err != nil {
		return tenant.Fail(tenant.CodeCanceled, "storing the "+message.String(), err)
	}
	content, err := message.MIME()
	if err != nil {
		return err
	}
	// The lock lets the temporary file have one name, so that a killed writer leaves nothing that piles up.
	lock, err := sqlitefile.Acquire(ctx, filepath.Join(d.Dir, ".lock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if err := d.store(ctx, message, content); err != nil {
		return tenant.Fail(tenant.CodeStorage, "storing the "+message.String()+" in "+d.path(message), err)
	}
	return nil
}

func (d Maildir) store(ctx context.Context, message Message, content []byte) error {
	path := d.path(message)
	temporary := filepath.Join(d.Dir, "."+filepath.Base(path)+".new")
	if err := writeSynced(temporary, content); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "mail.written")
	if err := keepOther(path, message.MessageID); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "mail.kept")
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	tenant.Failpoint(ctx, "mail.stored")
	return syncFolder(d.Dir)
}

// keepOther moves a mail with another Message-ID out of the way: TENANT.KIND.MESSAGE-ID.eml.
func keepOther(path, messageID string) error {
	file, err := os.Open(path) //nolint:gosec // the path is made of a checked id in the caller's own folder
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	found, parseErr := mail.ReadMessage(file)
	if err := file.Close(); err != nil {
		return err
	}
	other := ""
	if parseErr == nil {
		other = strings.Trim(found.Header.Get("Message-Id"), "<> ")
	}
	if other == messageID {
		return nil
	}
	return os.Rename(path, strings.TrimSuffix(path, ".eml")+"."+fileName(other)+".eml")
}

// fileName makes a Message-ID, which may be anybody's, fit for the name of a file.
func fileName(messageID string) string {
	if messageID == "" {
		messageID = "unknown"
	}
	return tenant.Name(messageIDMaxLen, strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:`, r) || r < ' ' {
			return '_'
		}
		return r
	}, messageID))
}

func writeSynced(path string, content []byte) error {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	file, err := os.OpenFile(path, flags, 0o600) //nolint:gosec // as in keepOther
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Sync(), file.Close())
}

// syncFolder makes the rename last.
func syncFolder(path string) error {
	folder, err := os.Open(path) //nolint:gosec // the caller's own folder
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
