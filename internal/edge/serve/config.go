package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

func (c *Config) complete() error {
	c.Zone = tenant.PlainName(c.Zone)
	switch {
	case c.Bindings == "" || c.Copy == "":
		return errors.New("the files of the bindings and of their copy are not given")
	case !tenant.IsPlainName(c.Zone):
		return fmt.Errorf("%q is not the name of a zone", c.Zone)
	case c.Upstream != "" && !isUpstream(c.Upstream):
		return fmt.Errorf("the upstream %q is not host:port", c.Upstream)
	}
	if c.Poll == 0 {
		c.Poll = defaultPoll
	}
	if c.StaleAfter == 0 {
		c.StaleAfter = defaultStaleAfter
	}
	if c.RetryAfter == 0 {
		c.RetryAfter = defaultRetryAfter
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c.Pages.check()
}

// isUpstream reports whether the proxy can send requests there. Anything but host:port could mean more to it than an
// address does.
func isUpstream(s string) bool {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	number, err := strconv.ParseUint(port, 10, 16)
	return err == nil && number > 0 &&
		(net.ParseIP(host) != nil || tenant.IsPlainName(tenant.PlainName(host)))
}
