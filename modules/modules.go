// Package modules carries the tenant module, so that `tenantctl init` can lay a copy of it into a starter folder.
package modules

import "embed"

// Tenant holds the files of the module below the folder tenant.
//
//go:embed tenant/*.tf
var Tenant embed.FS
