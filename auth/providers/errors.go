package providers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"golang.org/x/oauth2"

	"lectern/documents/apierror"
)

// busy is the answer while too many logins wait for the provider.
func (p *Provider) busy() error {
	return p.unavailable("too many logins by " + p.Name + " are at work; try again, or log in another way")
}

func (p *Provider) unavailable(message string) *apierror.Error {
	return &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError", Message: message,
		Reason: apierror.Provider}
}

// refused logs why a login fails, and returns what the client is told.
func (p *Provider) refused(ctx context.Context, why error, message string) error {
	p.log.InfoContext(ctx, "login by another provider refused", "provider", p.Name, "error", why)
	return apierror.Application(message)
}

// failure logs that the provider has failed, and returns what the client is told: 503 if it cannot be reached, and else
// 502. An error that the client may read is returned as it is.
func (p *Provider) failure(ctx context.Context, err error) error {
	var told *apierror.Error
	if errors.As(err, &told) {
		return told
	}
	p.log.WarnContext(ctx, "login by another provider failed", "provider", p.Name, "error", describe(err))
	var netErr net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &netErr) || errors.Is(err, context.Canceled) {
		return p.unavailable(p.Name + " cannot be reached; try again later, or log in another way")
	}
	return &apierror.Error{Status: http.StatusBadGateway, Name: "BadGatewayError", Reason: apierror.Provider,
		Message: p.Name + " gives an answer that cannot be used; try again later, or log in another way"}
}

// describe returns an error for the log. Of an answer of the token endpoint it has the code and the description: the
// rest is not for logs.
func describe(err error) string {
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) {
		text := fmt.Sprintf("the token endpoint answers %d %s %s", answer.Response.StatusCode, answer.ErrorCode,
			answer.ErrorDescription)
		return strings.TrimSpace(shorten(text, 300))
	}
	return shorten(err.Error(), 300)
}

// shorten returns the beginning of a text, without control characters.
func shorten(s string, most int) string {
	if len(s) > most {
		s = s[:most]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return ' '
		}
		return r
	}, s)
}
