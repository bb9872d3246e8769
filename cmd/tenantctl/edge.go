package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tenantry/terraform-provider-tenant/internal/edge/serve"
	"github.com/tenantry/terraform-provider-tenant/internal/edge/warm"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	// pagesFolder is where a project keeps pages of its own for the edge.
	pagesFolder = "pages"
	// edgeListen is where the edge's own server is, unless told otherwise: on this machine only.
	edgeListen = "127.0.0.1:8402"
	// edgeGrace is how long answers that are under way may take when the edge stops.
	edgeGrace = 5 * time.Second
)

// edgeOptions are the flags of the edge.
type edgeOptions struct {
	*options

	bindings, zone, listen, upstream, state, pages string
	poll, staleAfter, retryAfter                   time.Duration
	certificates                                   certificateOptions
}

func newEdge(o *options) *cobra.Command {
	e := &edgeOptions{options: o}
	cmd := &cobra.Command{
		Use:   "edge",
		Short: "Answer what the proxy at the edge asks: certificates, routes, the pages of closed hostnames",
		Long: "edge runs beside Caddy, on the same machine, until it is told to stop. It answers from its own copy of the table of\n" +
			"bindings, so that tenants are served while that table, or the catalog, is away. edge config prints the\n" +
			"configuration with which Caddy asks it.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return e.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&e.bindings, "bindings", "", "the file of the bindings (default edge.db in --data-dir)")
	flags.StringVar(
		&e.upstream,
		"upstream",
		"",
		"host:port of the application, for hostnames whose binding names none",
	)
	flags.StringVar(
		&e.pages,
		"pages",
		"",
		"the folder of your own pages, holding.html.tmpl and suspended.html.tmpl "+
			"(default "+pagesFolder+" in --chdir, if it is there)",
	)
	flags.DurationVar(
		&e.poll,
		"poll",
		50*time.Millisecond,
		"how often to look whether the bindings have changed",
	)
	flags.DurationVar(&e.staleAfter, "stale-after", time.Minute,
		"when /healthz calls a copy of the bindings stale that could not be compared; it is served for ever")
	flags.DurationVar(
		&e.retryAfter,
		"retry-after",
		30*time.Second,
		"when the holding page tells clients to come back",
	)
	e.sharedFlags(cmd)
	e.certificates.flags(cmd)
	cmd.AddCommand(newEdgeConfig(e), newEdgeStatus(e))
	return cmd
}

// sharedFlags are those of the edge and of its verbs alike.
func (e *edgeOptions) sharedFlags(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&e.zone, "zone", "", "our zone, below which tenants have their default hostnames")
	flags.StringVar(&e.listen, "listen", edgeListen, "the edge's own address, on this machine")
	flags.StringVar(
		&e.state,
		"state",
		"",
		"the folder (0700) of the edge's own files (default edge in --data-dir)",
	)
}

// folder is where the edge keeps its own files, made if it isn't there.
func (e *edgeOptions) folder() (string, error) {
	folder := e.folderName()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", tenant.Fail(tenant.CodeStorage, "making the folder of the edge", err)
	}
	return folder, nil
}

func (e *edgeOptions) folderName() string {
	if e.state != "" {
		return e.state
	}
	return filepath.Join(e.dataFolder(), "edge")
}

// check refuses what would open the edge's own server to others, and so the key of the certificate.
func (e *edgeOptions) check() error {
	if e.zone == "" {
		return usageError{errors.New("--zone is needed")}
	}
	host, _, err := net.SplitHostPort(e.listen)
	if err != nil {
		return usageError{fmt.Errorf("--listen: %w", err)}
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return usageError{
			fmt.Errorf("--listen %s is not an address of this machine alone, as 127.0.0.1 is", e.listen),
		}
	}
	return nil
}

func (e *edgeOptions) run(ctx context.Context) error {
	if err := e.check(); err != nil {
		return err
	}
	folder, err := e.folder()
	if err != nil {
		return err
	}
	config, err := e.serveConfig(folder)
	if err != nil {
		return err
	}
	workers, err := e.withWildcard(folder, &config)
	if err != nil {
		return err
	}
	// The server is made after what it tells of in /healthz, and the queue after the server, which knows the hostnames.
	var queue *warm.Queue
	if e.certificates.proxy != "" {
		config.Health["custom_certificates"] = func() any { return queue.Summary() }
	}
	server, err := serve.New(config)
	if err != nil {
		return err
	}
	if queue, err = e.withQueue(folder, config.Log, server.CustomHostnames); err != nil {
		return err
	}
	if queue != nil {
		workers = append(workers, worker{"having certificates made", queue.Run})
	}
	workers = append(workers, worker{"following the bindings", server.Follow})
	return e.work(ctx, workers, config.Log, server)
}

// work runs everything until the context ends, or one of it fails.
func (e *edgeOptions) work(
	ctx context.Context,
	workers []worker,
	log *slog.Logger,
	server http.Handler,
) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, w := range workers {
		group.Go(func() error {
			return tenant.Guard(w.doing, func() error { w.run(ctx); return nil })
		})
	}
	group.Go(func() error {
		return tenant.Guard("answering the proxy", func() error { return e.listenAndServe(ctx, log, server) })
	})
	return group.Wait()
}

func (e *edgeOptions) serveConfig(folder string) (serve.Config, error) {
	pages, err := serve.LoadPages(e.pagesFS())
	if err != nil {
		return serve.Config{}, err
	}
	token, err := certificateToken(folder)
	bindings := e.bindings
	if bindings == "" {
		bindings = filepath.Join(e.dataFolder(), "edge.db")
	}
	return serve.Config{
		Bindings: bindings, Copy: filepath.Join(folder, "bindings.json"), Zone: e.zone, Upstream: e.upstream,
		Pages: pages, CertificateToken: token, Health: map[string]func() any{},
		Poll: e.poll, StaleAfter: e.staleAfter, RetryAfter: e.retryAfter, Now: time.Now, Log: e.log(),
	}, err
}

func (e *edgeOptions) pagesFS() fs.FS {
	if e.pages != "" {
		return os.DirFS(e.pages)
	}
	return os.DirFS(filepath.Join(e.chdir, pagesFolder))
}

func (e *edgeOptions) log() *slog.Logger {
	if e.json {
		return slog.New(slog.NewJSONHandler(e.err, nil))
	}
	return slog.New(slog.NewTextHandler(e.err, nil))
}

// listenAndServe answers until ctx ends, and then lets answers that are under way come to their end.
func (e *edgeOptions) listenAndServe(ctx context.Context, log *slog.Logger, handler http.Handler) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", e.listen)
	if err != nil {
		return tenant.Fail(tenant.CodeUnavailable, "listening on "+e.listen, err)
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		stopped <- tenant.Guard("stopping the edge", func() error {
			grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), edgeGrace)
			defer cancel()
			return server.Shutdown(grace)
		})
	})
	log.Info("the edge answers", "address", listener.Addr().String())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return tenant.Fail(tenant.CodeUnavailable, "answering on "+e.listen, err)
	}
	return <-stopped
}

// certificateToken is what Caddy shows to get the key of the wildcard certificate, so that no other user of the machine
// does. It is made once and kept in the folder.
func certificateToken(folder string) (tenant.Secret, error) {
	path := filepath.Join(folder, "certificate.token")
	//nolint:gosec // the user's own folder
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = file.WriteString(rand.Text())
		err = errors.Join(err, file.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return tenant.Secret{}, tenant.Fail(tenant.CodeStorage, "making "+path, err)
	}
	text, err := os.ReadFile(path) //nolint:gosec // the user's own folder
	token := strings.TrimSpace(string(text))
	if err == nil && token == "" {
		err = errors.New("it is empty; remove it, and start Caddy with a fresh edge config")
	}
	if err != nil {
		return tenant.Secret{}, tenant.Fail(tenant.CodeStorage, "reading "+path, err)
	}
	return tenant.NewSecret(token), nil
}
