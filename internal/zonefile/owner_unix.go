//go:build unix

package zonefile

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives the new file the owner of the old one, so that a name server that could read it still can. Only root
// may do that; for everybody else the new file is theirs.
func keepOwner(file *os.File, old fs.FileInfo) {
	if old == nil {
		return
	}
	if stat, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = file.Chown(int(stat.Uid), int(stat.Gid))
	}
}
