package permit

import (
	"context"
	"encoding/json"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/launch/proxy"
	"ramet/internal/turn/tool"
)

// Network is the name under which rules permit confined commands to connect to hosts: net(HOST) on the ports
// 80 and 443, net(HOST:PORT) on this port. An IP address is permitted only by a rule that names it.
const Network = "net"

// usualPorts are those that a rule without a port permits.
var usualPorts = []string{"80", "443"}

// splitPort splits a host from its port; empty: there is none.
func splitPort(s string) (host, port string) {
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		return s[:i], s[i+1:]
	}
	return s, ""
}

// parseLiteral reads an IP address as it is written in a rule, IPv6 in brackets.
func parseLiteral(host string) (netip.Addr, bool) {
	inner, bracketed := strings.CutPrefix(host, "[")
	if bracketed {
		inner = strings.TrimSuffix(inner, "]")
	}
	a, err := netip.ParseAddr(inner)
	return a.Unmap(), err == nil && a.Zone() == "" && a.Is6() == bracketed
}

// checkHost checks the pattern of a network rule.
func checkHost(pattern string) (at int, why string) {
	host, port := splitPort(pattern)
	if n, err := strconv.ParseUint(port, 10, 16); strings.Contains(pattern[len(host):], ":") && (err != nil || n == 0 || strconv.FormatUint(n, 10) != port) {
		return len(host) + 1, "no number of a port"
	}
	if _, ok := parseLiteral(host); ok {
		return 0, ""
	}
	name := strings.TrimPrefix(host, "*.")
	if strings.Contains(name, "*") {
		return strings.LastIndexByte(pattern, '*'), "a * that does not stand for names below a host, as in *.example.com"
	}
	if !proxy.IsHostName(name) {
		return len(host) - len(name), "no name of a host"
	}
	return 0, ""
}

// matchHost reports whether a pattern permits a host and port; the empty pattern permits every name.
func matchHost(pattern, subject string) bool {
	host, port := splitPort(pattern)
	_, wanted := splitPort(subject)
	return matchHostName(host, subject) && (port == wanted || port == "" && slices.Contains(usualPorts, wanted))
}

// matchHostName reports whether a pattern permits a host, on whatever port.
func matchHostName(pattern, subject string) bool {
	pattern, _ = splitPort(pattern)
	host, _ := splitPort(subject)
	if want, literal := parseLiteral(host); literal {
		named, ok := parseLiteral(pattern)
		return ok && named == want
	}
	if below, many := strings.CutPrefix(pattern, "*"); many {
		return len(host) > len(below) && strings.EqualFold(host[len(host)-len(below):], below)
	}
	return pattern == "" || strings.EqualFold(pattern, host)
}

// hostRule returns the rule that permits a host and port.
func hostRule(subject string) Rule {
	if host, port := splitPort(subject); slices.Contains(usualPorts, port) {
		subject = host
	}
	return Rule{Tool: Network, Pattern: subject}
}

// refuseHost refuses a host that no person is asked about: an address that no rule names, and a port beyond
// the rules for its host.
func refuseHost(rules []held, subject string) error {
	host, _ := splitPort(subject)
	why := ""
	if _, literal := parseLiteral(host); literal {
		why = "it is an IP address, which is reached only by a rule that names it"
	} else if slices.ContainsFunc(rules, func(r held) bool {
		return r.Tool == Network && r.Pattern != "" && matchHostName(r.Pattern, subject)
	}) {
		why = "the rules for this host do not permit this port"
	}
	if why == "" {
		return nil
	}
	return fault.New(fault.Denied, "network to %s was not permitted: %s", subject, why).WithHint("the user can permit it with --allow '%s'", hostRule(subject))
}

// Reach decides whether a confined command, which runs as this call, may connect to a host and port, written
// HOST:PORT. It asks the user where no rule does, and then takes as long as that takes. The record says who decided;
// a refusal is a DENIED fault.
func (p *Policy) Reach(ctx context.Context, c tool.Call, subject, command string) (*history.Permission, error) {
	what := "for " + text.Line(command, 100)
	rule := hostRule(subject)
	spec := tool.Spec{Name: Network, Access: tool.Connects,
		Subject: func(json.RawMessage) string { return subject },
		Summary: func(json.RawMessage) string { return "network to " + rule.Pattern + ", " + what },
		Where:   func(json.RawMessage) string { return what }}
	c.ID += "-" + Network // the call itself has begun
	_, record, err := p.Decide(ctx, spec, c)
	if err == nil && record != nil && record.Rule == "" {
		record.Rule = rule.String() // once: the record says for which host
	}
	return record, err
}

// NamesAddress reports whether a rule for an agent names this address and port.
func (p *Policy) NamesAddress(ctx context.Context, a id.Agent, to netip.AddrPort) bool {
	standing, err := p.standing(ctx, a)
	if err != nil || standing.Mode == ReadOnly {
		return false
	}
	rules, err := p.rules(standing)
	if err != nil {
		return false
	}
	_, named := matchHeld(rules, Network, net.JoinHostPort(to.Addr().Unmap().String(), strconv.Itoa(int(to.Port()))))
	return named
}
