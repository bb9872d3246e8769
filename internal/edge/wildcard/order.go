package wildcard

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/go-acme/lego/v5/acme"
	"github.com/go-acme/lego/v5/acme/api"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

const (
	userAgent   = "tenantctl"
	withdrawing = 30 * time.Second
)

// obtain gets a certificate and writes it down.
func (k *Keeper) obtain(ctx context.Context) (*certificate, error) {
	doing := fmt.Sprintf("getting the certificate for *.%s from %s", k.config.Zone, k.config.CA)
	held, err := k.order(ctx)
	if err == nil {
		err = write(k.path(certificateFile), held.pem)
	}
	if err != nil {
		return nil, classify(ctx, doing, err)
	}
	return held, nil
}

// order goes through one order (RFC 8555, section 7.1).
func (k *Keeper) order(ctx context.Context) (*certificate, error) {
	core, err := k.account(ctx)
	if err != nil {
		return nil, err
	}
	if err := k.sweep(ctx); err != nil {
		return nil, err
	}
	order, err := core.Orders.New(ctx, []string{"*." + k.config.Zone}, nil)
	if err != nil {
		return nil, err
	}
	for _, url := range order.Authorizations {
		if err := k.authorize(ctx, core, url); err != nil {
			return nil, err
		}
	}
	key, keyPEM, err := newKey()
	if err != nil {
		return nil, err
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader,
		&x509.CertificateRequest{DNSNames: []string{"*." + k.config.Zone}}, key)
	if err != nil {
		return nil, err
	}
	if _, err := core.Orders.UpdateForCSR(ctx, order.Finalize, csr); err != nil {
		return nil, err
	}
	chain, err := k.fetch(ctx, core, order.Location)
	if err != nil {
		return nil, err
	}
	return parseCertificate(append(chain, keyPEM...), k.config.Zone)
}

// account makes the account, or finds the one that the key has already: an authority that has forgotten it
// makes it again (RFC 8555, section 7.3.1).
func (k *Keeper) account(ctx context.Context) (*api.Core, error) {
	key, err := accountKey(k.path(accountFile))
	if err != nil {
		return nil, tenant.Fail(tenant.CodeStorage, "reading the account's key", err)
	}
	core, err := api.New(k.config.Client, userAgent, k.config.CA, "", key)
	if err != nil {
		return nil, err
	}
	account := acme.Account{TermsOfServiceAgreed: true}
	if k.config.Email != "" {
		account.Contact = []string{"mailto:" + k.config.Email}
	}
	_, err = core.Accounts.New(ctx, account)
	return core, err
}

// authorize shows the authority that the zone is ours.
func (k *Keeper) authorize(ctx context.Context, core *api.Core, url string) (err error) {
	authorization, err := core.Authorizations.Get(ctx, url)
	if err != nil || authorization.Status == acme.StatusValid {
		return err
	}
	dns01, err := dnsChallenge(authorization)
	if err != nil {
		return err
	}
	answer, err := core.GetKeyAuthorization(dns01.Token)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(answer))
	value := base64.RawURLEncoding.EncodeToString(sum[:])
	defer func() { err = errors.Join(err, k.withdraw(ctx, value)) }()
	// Written down first: what a kill leaves in the zone is withdrawn by the next attempt.
	if err := write(k.path(valueFile), []byte(value)); err != nil {
		return tenant.Fail(tenant.CodeStorage, "noting the value of the challenge", err)
	}
	if err := k.config.Challenge.Present(ctx, value); err != nil {
		return err
	}
	if _, err := core.Challenges.New(ctx, dns01.URL); err != nil {
		return err
	}
	return k.until(ctx, func() (bool, error) {
		seen, err := core.Authorizations.Get(ctx, url)
		return err == nil && seen.Status == acme.StatusValid, errors.Join(err, refusal(seen))
	})
}

func dnsChallenge(authorization acme.Authorization) (acme.Challenge, error) {
	for _, offered := range authorization.Challenges {
		if offered.Type == "dns-01" {
			return offered, nil
		}
	}
	return acme.Challenge{}, tenant.Fail(tenant.CodeInvalidConfig, "looking for a challenge by DNS",
		errors.New("the authority offers none"))
}

// refusal is why the authorization can't become valid any more, nil if it can.
func refusal(authorization acme.Authorization) error {
	switch authorization.Status {
	case acme.StatusInvalid, acme.StatusDeactivated, acme.StatusExpired, acme.StatusRevoked:
	default:
		return nil
	}
	for _, tried := range authorization.Challenges {
		if tried.Error != nil {
			return tried.Error
		}
	}
	return fmt.Errorf("the authorization is %s", authorization.Status)
}

// withdraw also works when ctx has ended: the record should not stay.
func (k *Keeper) withdraw(ctx context.Context, value string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawing)
	defer cancel()
	if err := k.config.Challenge.Withdraw(ctx, value); err != nil {
		return err
	}
	return os.Remove(k.path(valueFile))
}

// sweep withdraws what an attempt has left that was cut off.
func (k *Keeper) sweep(ctx context.Context) error {
	value, err := os.ReadFile(k.path(valueFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return tenant.Fail(tenant.CodeStorage, "looking for what an earlier attempt left", err)
	}
	return k.withdraw(ctx, string(value))
}

// fetch waits for the certificate and returns its chain.
func (k *Keeper) fetch(ctx context.Context, core *api.Core, url string) (chain []byte, err error) {
	var order acme.ExtendedOrder
	err = k.until(ctx, func() (bool, error) {
		order, err = core.Orders.Get(ctx, url)
		if err == nil && order.Status == acme.StatusInvalid {
			err = fmt.Errorf("the order is invalid: %w", order.Err())
		}
		return err == nil && order.Status == acme.StatusValid, err
	})
	if err != nil {
		return nil, err
	}
	raw, err := core.Certificates.Get(ctx, order.Certificate, true)
	if err != nil {
		return nil, err
	}
	return raw.Cert, nil
}

// until asks again and again, until it is done or fails.
func (k *Keeper) until(ctx context.Context, ask func() (done bool, err error)) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		if done, err := ask(); done || err != nil {
			return err
		}
		timer.Reset(k.config.Poll)
	}
}

// classify goes by the type of the authority's problem document (RFC 8555, section 6.7).
func classify(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return tenant.Fail(tenant.CodeUnavailable, doing, fmt.Errorf("it took too long: %w", err))
	}
	if limited, ok := errors.AsType[*acme.RateLimitedError](err); ok {
		return &tenant.Failure{
			Code: tenant.CodeUnavailable, RetryAfter: limited.RetryAfter, Doing: doing, Err: err,
		}
	}
	code := tenant.CodeUnavailable
	if problem, ok := errors.AsType[*acme.ProblemDetails](err); ok {
		switch problem.Type {
		case acme.ServerInternalErrorType, acme.RateLimitedErrorType, acme.BadNonceErrorType,
			acme.DNSErrorType, acme.ConnectionErrorType:
		default:
			code = tenant.CodeInvalidConfig
		}
	}
	return tenant.Fail(code, doing, err)
}
