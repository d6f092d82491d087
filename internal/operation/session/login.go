package session

import (
	"context"
	"time"

	"ramet/internal/base/text"
	"ramet/internal/operation/public"
)

// loginTime limits the time a person may take to log in.
const loginTime = 10 * time.Minute

// LoginServer lets a person log in at an MCP server; show is given the address to open.
func (w Servers) LoginServer(ctx context.Context, server string, show func(address string)) (public.ServerLogin, error) {
	out := public.ServerLogin{Server: server, Outcome: "logged in"}
	p, err := w.pooled()
	if err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	asked, err := p.Login(ctx, server, func(address string) { show(text.Line(address, 4000)) })
	if err == nil && !asked {
		out.Outcome = "no login is needed"
	}
	return out, err
}

// LogoutServer forgets a login.
func (w Servers) LogoutServer(server string) (public.ServerLogin, error) {
	out := public.ServerLogin{Server: server, Outcome: "logged out"}
	p, err := w.pooled()
	if err != nil {
		return out, err
	}
	there, err := p.Logout(server)
	if err == nil && !there {
		out.Outcome = "there was no login"
	}
	return out, err
}
