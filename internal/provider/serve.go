package provider

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// serveTimeout is how long a served instance may take to listen; it takes a fraction of a millisecond.
const serveTimeout = 10 * time.Second

// Served is a provider instance that runs inside this process, for one run of Terraform.
type Served struct {
	// Reattach is what Terraform needs to find the instance.
	Reattach *plugin.ReattachConfig
	stop     context.CancelFunc
	stopped  <-chan struct{}
}

// Serve starts an instance. One that is shared by two runs would give each the other's configuration, so every run
// gets its own. Its socket lies in the folder that the environment variable PLUGIN_UNIX_SOCKET_DIR names, without
// encryption: the caller makes that folder accessible to its own user only.
func Serve(ctx context.Context, options Options) (*Served, error) {
	doing := "serving the provider inside this process"
	instance := NewServer(options)
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	configs, closed, failed := make(chan *plugin.ReattachConfig), make(chan struct{}), make(chan error, 1)
	go func() {
		failed <- tenant.Guard(doing, func() error {
			return tf6server.Serve(Address, func() tfprotov6.ProviderServer { return instance },
				tf6server.WithDebug(serving, configs, closed),
				tf6server.WithGoPluginLogger(hclog.NewNullLogger()), tf6server.WithoutLogStderrOverride())
		})
	}()
	timeout := time.NewTimer(serveTimeout)
	defer timeout.Stop()
	select {
	case config := <-configs:
		return &Served{Reattach: config, stop: stop, stopped: closed}, nil
	case err := <-failed:
		stop()
		return nil, tenant.Fail(tenant.CodeInternal, doing, errors.Join(errors.New("it ended at once"), err))
	case <-timeout.C:
		stop()
		return nil, tenant.Fail(tenant.CodeBusy, doing, errors.New("it did not listen in time"))
	case <-ctx.Done():
		stop()
		return nil, tenant.Fail(tenant.CodeCanceled, doing, ctx.Err())
	}
}

// Close stops the instance and waits until it has stopped. The shared backends stay open.
func (s *Served) Close() {
	s.stop()
	<-s.stopped
}
