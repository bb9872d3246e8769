package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenantry/terraform-provider-tenant/internal/edge/warm"
	"github.com/tenantry/terraform-provider-tenant/internal/edge/wildcard"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// edgeStatus is what `edge status --json` prints.
type edgeStatus struct {
	Wildcard     *wildcard.Status   `json:"wildcard"` // null before the first attempt
	Certificates []warm.Certificate `json:"certificates"`
}

func newEdgeStatus(e *edgeOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Print what is recorded of certificates, whether the edge runs or not",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return e.status() },
	}
}

func (e *edgeOptions) status() error {
	status, err := readEdgeStatus(e.folderName())
	if err != nil {
		return tenant.Fail(tenant.CodeStorage, "reading what the edge has recorded", err)
	}
	return e.show(status, func() {
		w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "HOSTNAME\tISSUER\tSERIAL\tNOT AFTER\tERROR")
		if wild := status.Wildcard; wild != nil {
			fmt.Fprintf(
				w,
				"%s\t%s\t%s\t%s\t%s\n",
				wild.Name,
				wild.Issuer,
				wild.Serial,
				shown(wild.NotAfter),
				wild.Error,
			)
		}
		for _, one := range status.Certificates {
			fmt.Fprintf(
				w,
				"%s\t%s\t%s\t%s\t%s\n",
				one.Hostname,
				one.Issuer,
				one.Serial,
				shown(one.NotAfter),
				one.Error,
			)
		}
		_ = w.Flush()
	})
}

func readEdgeStatus(folder string) (status edgeStatus, err error) {
	status.Certificates, err = warm.Read(filepath.Join(folder, certificatesFile))
	if status.Certificates == nil {
		status.Certificates = []warm.Certificate{}
	}
	if err != nil {
		return status, err
	}
	//nolint:gosec // the user's own folder
	text, err := os.ReadFile(filepath.Join(folder, wildcard.StatusFile))
	if errors.Is(err, fs.ErrNotExist) {
		return status, nil
	}
	if err != nil {
		return status, err
	}
	return status, json.Unmarshal(text, &status.Wildcard)
}

func shown(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
