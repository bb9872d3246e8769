package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
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

	server  *server
	own     *Shared // closed with the instance; nil if the caller's is used
	stop    context.CancelFunc
	stopped <-chan struct{}
}

// Serve starts an instance. One that is shared by two runs would give each the other's configuration, so every run
// gets its own. Its socket lies in the folder that the environment variable PLUGIN_UNIX_SOCKET_DIR names, without
// encryption: the caller makes that folder accessible to its own user only. The SDK logs to stderr unless the
// variables TF_LOG_SDK, TF_LOG_SDK_PROTO and TF_LOG_PROVIDER_TENANT are "off". The end of ctx does not stop the
// instance: Terraform, which gets the signal itself, still has to save its state through it.
func Serve(ctx context.Context, options Options) (*Served, error) {
	const doing = "serving the provider inside this process"
	served := &Served{}
	if options.Shared == nil {
		served.own = NewShared()
		options.Shared = served.own
	}
	served.server = newServer(options)
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	// Buffered, so that an instance that listens too late is not held by a send that nobody receives.
	configs, stopped, failed := make(chan *plugin.ReattachConfig, 1), make(chan struct{}), make(chan error, 1)
	served.stop, served.stopped = stop, stopped
	var log bytes.Buffer // read only once nobody writes it any more
	go func() {
		failed <- tenant.Guard(doing, func() error {
			return tf6server.Serve(Address, func() tfprotov6.ProviderServer { return served.server },
				tf6server.WithDebug(serving, configs, stopped),
				tf6server.WithGoPluginLogger(hclog.New(&hclog.LoggerOptions{Level: hclog.Error, Output: &log})),
				tf6server.WithoutLogStderrOverride())
		})
	}()
	config, err := await(ctx, configs, failed, &log)
	if err != nil {
		stop()
		return nil, tenant.Fail(tenant.CodeUnavailable, doing, err)
	}
	served.Reattach = config
	return served, nil
}

func await(
	ctx context.Context, configs <-chan *plugin.ReattachConfig, failed <-chan error, log fmt.Stringer,
) (*plugin.ReattachConfig, error) {
	timeout := time.NewTimer(serveTimeout)
	defer timeout.Stop()
	select {
	case config := <-configs:
		return config, nil
	case err := <-failed:
		// go-plugin returns nothing when it gives up; it logs why.
		return nil, errors.Join(fmt.Errorf("it ended at once: %s", strings.TrimSpace(log.String())), err)
	case <-timeout.C:
		return nil, errors.New("it does not listen")
	case <-ctx.Done():
		return nil, tenant.Fail(tenant.CodeCanceled, "waiting for the provider to listen", ctx.Err())
	}
}

// Close stops the instance. It returns when the last call in flight has ended: their contexts end with the
// connection, but until they have returned, the tenant is not free. Backends of Options.Shared stay open.
func (s *Served) Close() {
	s.stop()
	<-s.stopped
	s.server.calls.end()
	if s.own != nil {
		_ = s.own.Close() // nothing is left to be written: each call has returned
	}
}
