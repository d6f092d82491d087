package launch

import (
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// EnvironmentFor returns what a process for a model or a project gets of an environment.
func EnvironmentFor(env []string) []string { return chooseVariables(env, work) }

// ReachingVariables returns what git gets of it where it speaks to another repository in the user's
// name: also the ssh agent, and what helpers need to find the user's credentials.
func ReachingVariables(env []string) []string { return chooseVariables(env, work, reach) }

func chooseVariables(env []string, tables ...[]string) []string {
	var named []string
	if p := permitted.Load(); p != nil {
		named = *p
	}
	out := make([]string, 0, 32)
	for _, pair := range env {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			continue
		}
		known := slices.ContainsFunc(tables, func(t []string) bool { return hasVariable(t, name) })
		if hasVariable(named, name) || known && !isGuarded(value) {
			out = append(out, pair)
		}
	}
	return out
}

// isGuarded reports whether a value has an address with a user in it, and so perhaps a password. Few have an
// address at all.
func isGuarded(value string) bool {
	return strings.Contains(value, "://") && withUser().MatchString(value)
}

var withUser = text.Regexp(`[a-zA-Z][a-zA-Z0-9+.-]*://[^/\s?#]*@`)

// permitted are the names that the user adds. They hold for the whole process, as the
// environment does, so that no starter of processes can forget them.
var permitted atomic.Pointer[[]string] // nil: none

// PermitVariables sets the names that the user adds to the table: NAME, or NAME_* for all that
// begin so. INVALID_CONFIG: no such name can be; nothing is changed then.
func PermitVariables(names []string) error {
	for _, name := range names {
		if err := CheckVariableName(name); err != nil {
			return err
		}
	}
	names = slices.Clone(names)
	permitted.Store(&names)
	return nil
}

var nameForm = text.Regexp(`^[A-Za-z_][A-Za-z0-9_()]*\*?$`)

// CheckVariableName refuses what is no name for Permit.
func CheckVariableName(name string) error {
	if nameForm().MatchString(name) {
		return nil
	}
	return fault.New(fault.InvalidConfig, "%.80q is no name of a variable", name).
		WithHint("name variables without their values, such as VAULT_ADDR; MY_* means all that begin with MY_")
}

// hasVariable looks a name up; one that ends with a star stands for all that begin so. Windows
// does not tell capital letters from small ones.
func hasVariable(table []string, name string) bool {
	return slices.ContainsFunc(table, func(entry string) bool {
		same := func(a, b string) bool { return a == b || runtime.GOOS == "windows" && strings.EqualFold(a, b) }
		if start, many := strings.CutSuffix(entry, "*"); many {
			return len(name) >= len(start) && same(name[:len(start)], start)
		}
		return same(name, entry)
	})
}
