package git

import (
	"os"
	"strings"

	"ramet/internal/launch"
)

// reach are the variables that say how another repository is reached. They count where
// one may be.
var reach = map[string]bool{"GIT_SSH": true, "GIT_SSH_COMMAND": true, "GIT_SSH_VARIANT": true, "GIT_SSL_CAINFO": true, "GIT_SSL_CAPATH": true}

// environment returns what programs for a project get of ours, without what would lead git
// elsewhere, and in English. Where another repository may be reached, what is needed for
// it is there too.
func environment(env []string, user bool, allow []string) []string {
	if len(allow) > 0 {
		env = launch.ReachingVariables(env)
	} else {
		env = launch.EnvironmentFor(env)
	}
	var out []string
	for _, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		upper := strings.ToUpper(name)
		switch {
		case strings.HasPrefix(upper, "GIT_") && !(len(allow) > 0 && reach[upper]), upper == "LC_ALL", upper == "LANGUAGE":
			continue
		}
		out = append(out, pair)
	}
	out = append(out, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_EDITOR=false",
		"GIT_NO_LAZY_FETCH=1")
	if !user {
		out = append(out, "GIT_NO_REPLACE_OBJECTS=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1")
	}
	if len(allow) == 0 {
		return append(out, "GIT_ALLOW_PROTOCOL=none") // none is not a protocol
	}
	return append(out, "GIT_ALLOW_PROTOCOL="+strings.Join(allow, ":"), "GIT_ASKPASS=", "SSH_ASKPASS=", "GCM_INTERACTIVE=never")
}

// Fields returns the texts between NULs.
func Fields(out string) []string {
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
}
