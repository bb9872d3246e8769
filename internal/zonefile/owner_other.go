//go:build !unix

package zonefile

import (
	"io/fs"
	"os"
)

// keepOwner does nothing: files have no owner to keep here.
func keepOwner(*os.File, fs.FileInfo) {}
