package session

import (
	"slices"
	"strings"

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
	return chooseEnvironment(s.Environ(), conf)
}

// addEnvironment adds the environment of this process to a prompt that has none.
func (w *Workspace) addEnvironment(p *kernel.Prompt) {
	if p.Environment == nil && w.environment != nil {
		p.Environment = w.environment()
	}
}
