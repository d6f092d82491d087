package secret

import (
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
	"github.com/rs/zerolog"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/logging"
	"github.com/zricethezav/gitleaks/v8/report"
)

// genericRule is the one rule that knows no format: a word like "token", an
// assignment, and something that looks random.
const genericRule = "generic-api-key"

// rules are the known formats, shared by all redactors.
type rules struct {
	specific *detect.Detector
	generic  *detect.Detector // genericRule alone
	markers  []string
}

// known builds the rules at the first call: hundreds of regular expressions
// that most commands never need. Rules that are bound to file names stay
// unused, since our texts have none.
var known = sync.OnceValue(func() *rules {
	// gitleaks logs to stderr, secrets included at its lower levels.
	logging.Logger = zerolog.Nop()
	// Its own constructor goes through viper's global state, which anything in
	// the process may have pointed elsewhere; the text it embeds is enough.
	var text config.ViperConfig
	if _, err := toml.Decode(config.DefaultConfig, &text); err != nil {
		panic("secret: built-in rules: " + err.Error())
	}
	cfg, err := text.Translate()
	if err != nil {
		panic("secret: built-in rules: " + err.Error())
	}
	r := &rules{}
	for id := range cfg.Rules {
		r.markers = append(r.markers, marker(id))
	}
	generic := cfg
	generic.Rules = map[string]config.Rule{genericRule: cfg.Rules[genericRule]}
	generic.Keywords = map[string]struct{}{}
	for _, word := range genericWords {
		generic.Keywords[word] = struct{}{}
	}
	delete(cfg.Rules, genericRule)
	r.specific, r.generic = detect.NewDetector(cfg), detect.NewDetector(generic)
	// A remark beside a secret is no reason to keep it.
	r.specific.IgnoreGitleaksAllow, r.generic.IgnoreGitleaksAllow = true, true
	return r
})

// once is one pass over the known formats. The specific rules come first: what
// they find has the better name.
func (r *rules) once(s string, markers []string) string {
	s = redactFindings(s, r.specific.DetectString(s), markers)
	var findings []report.Finding
	for _, w := range assignments(s) {
		findings = append(findings, r.generic.DetectString(s[w.from:w.to])...)
	}
	return redactFindings(s, findings, markers)
}

func redactFindings(s string, findings []report.Finding, markers []string) string {
	return replace(s, places(s, findings, markers), markers)
}

// places are the pieces of a text that findings are about.
func places(s string, findings []report.Finding, markers []string) []span {
	if len(findings) == 0 {
		return nil
	}
	var patterns []pattern
	var spans []span
	seen := map[pattern]bool{}
	for _, f := range findings {
		// Some rules take the quotes along; without them JSON stays JSON.
		p := pattern{text: strings.Trim(f.Secret, "\"'`"), label: marker(f.RuleID)}
		if !slices.Contains(markers, p.label) {
			p.label = marker(nameless)
		}
		if len(p.text) >= MinValue {
			// The same secret elsewhere in the text goes too, even where the
			// words around it are not those of the rule.
			if !seen[p] {
				seen[p] = true
				patterns = append(patterns, p)
			}
			continue
		}
		spans = append(spans, within(s, f.Match, p)...)
	}
	if m := newMatcher(patterns); m != nil {
		spans = m.find(s, spans)
	}
	return spans
}

// within finds a short secret only where the whole match stands: elsewhere the
// same few bytes are a coincidence.
func within(s, match string, p pattern) []span {
	var spans []span
	if match == "" || p.text == "" {
		return nil
	}
	for at := 0; ; {
		i := strings.Index(s[at:], match)
		if i < 0 {
			return spans
		}
		at += i
		for in := 0; ; {
			j := strings.Index(match[in:], p.text)
			if j < 0 {
				break
			}
			spans = append(spans, span{at + in + j, at + in + j + len(p.text), p.label})
			in += j + len(p.text)
		}
		at += len(match)
	}
}
