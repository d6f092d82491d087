package sandbox

import (
	"errors"
	"strings"

	"ramet/internal/base/text"
)

// setting is one line of a git configuration: its name, with everything but a subsection
// in small letters, and its value.
type setting struct{ name, value string }

// harmlessKeys are the settings that git init, git clone and git remote write, and those
// of a person's name. What they say runs nothing.
var harmlessKeys = text.Regexp(`^(core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|sharedrepository|quotepath)|` +
	`extensions\.(objectformat|refstorage|noop)|init\.defaultbranch|user\.(name|email)|remote\..*\.(fetch|tagopt|prune)|branch\..*\.(remote|merge|rebase)|pull\.rebase|push\.default|gc\.auto|commit\.gpgsign)$`)

// plainURL is an address that names no program (ext::) and no option.
var plainURL = text.Regexp(`^((https?|ssh|git|file)://[^-]|/|\.{1,2}/|[A-Za-z0-9][A-Za-z0-9._@-]*:[^:])`)

func (s setting) harmless() bool {
	if strings.HasPrefix(s.name, "remote.") && (strings.HasSuffix(s.name, ".url") || strings.HasSuffix(s.name, ".pushurl")) {
		return plainURL().MatchString(s.value)
	}
	if s.name == "commit.gpgsign" {
		return s.value == "false"
	}
	return harmlessKeys().MatchString(s.name)
}

var (
	errConfig = errors.New("not understood")
	section   = text.Regexp(`^\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]`)
	key       = text.Regexp(`^([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$`)
)

// parseConfig reads the plain form of a git configuration, as git itself writes it.
// What is stranger is an error: who cannot read it cannot judge it.
func parseConfig(text string) ([]setting, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	var out []setting
	at := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := section().FindStringSubmatch(line); m != nil {
			at = strings.ToLower(m[1])
			if m[2] != "" || strings.Contains(m[0], `"`) {
				at += "." + m[2]
			}
			line = strings.TrimSpace(line[len(m[0]):])
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		m := key().FindStringSubmatch(line)
		// A line that goes on, or a value in quotes, may hide what it means.
		if m == nil || at == "" || strings.ContainsAny(m[2], "\\") || strings.Count(m[2], `"`)%2 == 1 {
			return nil, errConfig
		}
		value := strings.TrimSpace(m[2])
		if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		out = append(out, setting{at + "." + strings.ToLower(m[1]), value})
	}
	return out, nil
}
