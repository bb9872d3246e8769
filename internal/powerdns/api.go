package powerdns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// maxAnswer is how many bytes an answer may have: a zone of some hundred thousand records.
const maxAnswer = 256 << 20

// errLost says that no answer came: what was asked for may have happened.
var errLost = errors.New("no answer came")

// rrset is a record set in the API's form.
type rrset struct {
	Name       string   `json:"name"` // with a trailing dot
	Type       string   `json:"type"`
	TTL        int64    `json:"ttl"` // seconds
	ChangeType string   `json:"changetype,omitempty"`
	Records    []record `json:"records,omitempty"`
}

type record struct {
	Content  string `json:"content"`
	Disabled bool   `json:"disabled"`
}

type patch struct {
	RRsets []rrset `json:"rrsets"`
}

// get returns the record sets at the name, or all of the zone for "".
func (b *Backend) get(ctx context.Context, doing, name string) ([]rrset, error) {
	address := b.zone
	if name != "" {
		address += "?rrset_name=" + url.QueryEscape(name+".")
	}
	var zone patch
	if err := b.do(ctx, doing, http.MethodGet, address, nil, &zone); err != nil {
		return nil, err
	}
	if name == "" {
		return zone.RRsets, nil
	}
	var there []rrset // older servers don't know the filter and send all
	for _, set := range zone.RRsets {
		if tenant.PlainName(set.Name) == name {
			there = append(there, set)
		}
	}
	return there, nil
}

func (b *Backend) patch(ctx context.Context, doing string, changes *patch) error {
	return b.do(ctx, doing, http.MethodPatch, b.zone, changes, nil)
}

func (b *Backend) do(ctx context.Context, doing, method, address string, body, into any) error {
	content := io.Reader(http.NoBody)
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return tenant.Fail(tenant.CodeInternal, doing, err)
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return tenant.Fail(tenant.CodeInternal, doing, err)
	}
	request.Header.Set("X-API-Key", b.config.APIKey.Reveal())
	request.Header.Set("Accept", "application/json")
	response, err := b.client.Do(request)
	if err != nil {
		return unanswered(ctx, doing, err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return unanswered(ctx, doing, err)
	}
	if response.StatusCode/100 != 2 {
		return refused(doing, response, text)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return tenant.Fail(
			tenant.CodeInvalidConfig,
			doing,
			fmt.Errorf("the answer is not the API's: %w", err),
		)
	}
	return nil
}

// unanswered is the failure of a server that can't be reached or doesn't answer.
func unanswered(ctx context.Context, doing string, err error) error {
	if cause := ctx.Err(); cause != nil {
		return tenant.Fail(tenant.CodeCanceled, doing, cause)
	}
	return tenant.Fail(tenant.CodeUnavailable, doing, fmt.Errorf("%w: %w", errLost, err))
}

// refused is the failure that an HTTP status stands for.
func refused(doing string, response *http.Response, body []byte) error {
	failure := &tenant.Failure{Code: tenant.CodeInvalidConfig, Doing: doing}
	why := ""
	switch status := response.StatusCode; {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		why = ": the API key is not accepted, or not from this address"
	case status == http.StatusNotFound:
		why = ": there is no such zone or server"
	case status == http.StatusConflict || status == http.StatusUnprocessableEntity:
		failure.Code = tenant.CodeConflict
	case status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= http.StatusInternalServerError:
		failure.Code, failure.RetryAfter = tenant.CodeUnavailable, retryAfter(response.Header)
	}
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &said) == nil && said.Error != "" {
		why += fmt.Sprintf(" (%.300q)", said.Error)
	}
	failure.Err = errors.New("the server answered " + strconv.Itoa(response.StatusCode) + why)
	return failure
}

// retryAfter reads the header's form in seconds (RFC 9110, section 10.2.3); 0 without one.
func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.ParseUint(header.Get("Retry-After"), 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// setOf is the record set in the API's form, as a replacement of whatever is there of that name and type.
func setOf(want tenant.Record) rrset {
	set := rrset{
		Name: want.Name + ".", Type: want.Type, TTL: int64(want.TTL / time.Second), ChangeType: "REPLACE",
	}
	for _, value := range want.Values {
		set.Records = append(set.Records, record{Content: contentOf(want.Type, value)})
	}
	return set
}

func contentOf(recordType, value string) string {
	switch recordType {
	case "CNAME":
		return value + "."
	case "TXT":
		return `"` + strings.Join(tenant.CharacterStrings(value), `" "`) + `"`
	default:
		return value
	}
}
