package session

import (
	"context"
	"slices"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/core/config"
	"ramet/internal/driver"
	"ramet/internal/kernel"
	"ramet/internal/launch"
	"ramet/internal/model/credential"
)

// chooseEnvironment returns the part of an environment that goes with a prompt to a kernel in another
// process: what commands see, what says how vendors are reached, and what programs that drive agents ask for.
func chooseEnvironment(environ []string, conf *config.Config) *kernel.Environment {
	names := append(credential.Variables(), kernel.ModelVariable)
	for _, p := range driver.AllPresets(conf.Drivers) {
		names = append(names, p.Pass...)
	}
	commands := launch.EnvironmentFor(environ)
	out := &kernel.Environment{}
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if slices.Contains(commands, pair) || slices.ContainsFunc(names, func(want string) bool {
			start, many := strings.CutSuffix(want, "*")
			return name == want || many && strings.HasPrefix(name, start)
		}) {
			out.Variables = append(out.Variables, pair)
		}
	}
	return out
}

// ClientEnvironment returns what a prompt of this process takes along to another kernel; nil for a command of an
// agent, and if the configuration cannot be read.
func ClientEnvironment(s *Session) *kernel.Environment {
	conf, err := s.Config()
	if _, agents := s.Own(); agents || s.Environ == nil || err != nil {
		return nil
	}
	out := chooseEnvironment(s.Environ(), conf)
	out.Umask = s.Umask()
	return out
}

type clientKey struct{}

// WithClient returns a context for what a client of the background kernel asks for: its turns use the client's
// environment.
func WithClient(ctx context.Context, e *kernel.Environment) context.Context {
	return context.WithValue(e.WithUmask(ctx), clientKey{}, e)
}

// clientOf returns the environment of the client that asks; nil: there is none.
func clientOf(ctx context.Context) *kernel.Environment {
	e, _ := ctx.Value(clientKey{}).(*kernel.Environment)
	return e
}

// Lend lets the turns of an agent use the environment of the client that asks, before one begins.
func (w Turns) Lend(ctx context.Context, a id.Agent) {
	if w.ws.Kernel != nil {
		w.ws.Kernel.Lend(a, clientOf(ctx))
	}
}

// ClientVariables returns the part of the environment of this process that goes with a command line to the background
// kernel: what goes with prompts, and what command lines read. Other variables stay here.
func ClientVariables(s *Session) []string {
	var out []string
	if e := ClientEnvironment(s); e != nil {
		out = slices.Clone(e.Variables)
	}
	for _, pair := range s.Environ() {
		reads := slices.ContainsFunc([]string{"RAMET_", "XDG_", "NO_COLOR=", "HOME=", "TERM="}, func(start string) bool { return strings.HasPrefix(pair, start) })
		if reads && !slices.Contains(out, pair) {
			out = append(out, pair)
		}
	}
	return out
}
