package provider

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/stretchr/testify/require"

	"github.com/tenantry/terraform-provider-tenant/internal/resources"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// TestServingLeaksNothing looks at the goroutines of the whole process, so it runs beside no other test.
func TestServingLeaksNothing(t *testing.T) { //nolint:paralleltest // it counts what others would start
	for range 100 {
		serveOnce(t)
	}
	sockets, err := os.ReadDir(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"))
	require.NoError(t, err)
	require.Empty(t, sockets)
	// go-plugin leaves the writing ends of two pipes to the garbage collector; with them go those who read them.
	require.Eventually(t, func() bool {
		runtime.GC()
		return !strings.Contains(goroutines(), "go-plugin") && !strings.Contains(goroutines(), "grpc")
	}, time.Minute, time.Millisecond)
}

func serveOnce(t *testing.T) {
	t.Helper()
	served, err := Serve(t.Context(), Options{})
	require.NoError(t, err)
	require.Equal(t, "unix", served.Reattach.Addr.Network())
	require.True(t, served.Reattach.Test)
	require.Equal(t, 6, served.Reattach.ProtocolVersion)
	served.Close()
	served.Close()
}

func goroutines() string {
	stack := make([]byte, 1<<20)
	return string(stack[:runtime.Stack(stack, true)])
}

func TestServingEndsWithItsContextBeforeItBegins(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := await(ctx, nil, nil, nil)
	require.True(t, tenant.HasCode(err, tenant.CodeCanceled), err)
}

// slow is at work until it is let go, whatever its context says.
type slow struct {
	resources.Server

	started, release chan struct{}
}

func (s slow) ApplyResourceChange(
	context.Context, *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	close(s.started)
	<-s.release
	return &tfprotov6.ApplyResourceChangeResponse{}, nil
}

// TestCloseWaitsForWorkInFlight: when Terraform is gone, a create may still be at work on the tenant.
func TestCloseWaitsForWorkInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		work := slow{started: make(chan struct{}), release: make(chan struct{})}
		stopped := make(chan struct{})
		close(stopped)
		served := &Served{
			server: &server{inner: work, provider: newProvider(Options{})}, stop: func() {}, stopped: stopped,
		}
		go func() {
			_, err := served.server.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{})
			if err != nil {
				t.Error(err)
			}
		}()
		<-work.started
		closed := false
		go func() {
			served.Close()
			closed = true
		}()
		synctest.Wait()
		require.False(t, closed)
		close(work.release)
		synctest.Wait()
		require.True(t, closed)
	})
}
