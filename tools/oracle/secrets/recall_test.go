package secrets

import (
	"encoding/pem"
	"maps"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/zricethezav/gitleaks/v8/cmd/generate/config/utils"
	"github.com/zricethezav/gitleaks/v8/config"

	"ramet/internal/base/secret"
)

const (
	keys       = 25   // made for each rule
	ownForm    = 0.98 // the recall of kinds with a form of their own
	byTheName  = 0.90 // of the rest
	leastKinds = 200  // fewer judged kinds mean that the making went wrong
)

// assigns is what the expressions of rules have that know a key by the name before it.
const assigns = `\?=|,)`

// rest are rules without that, and without a form of their own: they know a command line.
var rest = map[string]bool{"curl-auth-header": true, "curl-auth-user": true}

// score is how many of the keys that gitleaks found are gone.
type score struct{ gone, found int }

func (s score) recall() float64 { return float64(s.gone) / float64(s.found) }

func TestRecall(t *testing.T) {
	cfg := shipped(t)
	ours := secret.New(nil)
	own, named := map[string]score{}, map[string]score{}
	for _, id := range slices.Sorted(maps.Keys(cfg.Rules)) {
		rule := cfg.Rules[id]
		if rule.Path != nil || rule.Regex == nil {
			continue
		}
		s := tried(t, cfg, rule, ours)
		if s.found == 0 {
			t.Errorf("%s: gitleaks finds none of the keys that were made", id)
			continue
		}
		kinds, least := own, ownForm
		if rest[id] || strings.Contains(rule.Regex.String(), assigns) {
			kinds, least = named, byTheName
		}
		kinds[id] = s
		if s.recall() < least {
			t.Logf("%-40s %.2f of %d", id, s.recall(), s.found)
		}
	}
	if n := len(own) + len(named); n < leastKinds {
		t.Errorf("only %d kinds were judged", n)
	}
	check(t, "kinds with a form of their own", own, ownForm)
	check(t, "the rest", named, byTheName)
}

// check weighs all kinds alike, however many of their keys were found.
func check(t *testing.T, what string, kinds map[string]score, least float64) {
	t.Helper()
	var sum float64
	for _, s := range kinds {
		sum += s.recall()
	}
	recall := sum / float64(len(kinds))
	t.Logf("recall of %s: %.4f over %d kinds (least %.2f)", what, recall, len(kinds), least)
	if !(recall >= least) {
		t.Errorf("the recall of %s is %.4f, less than %.2f", what, recall, least)
	}
}

// tried makes keys of a rule, and texts with them.
func tried(t *testing.T, cfg config.Config, rule config.Rule, ours *secret.Redactor) score {
	t.Helper()
	parsed, err := syntax.Parse(rule.Regex.String(), syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	m := &maker{random: rand.New(rand.NewPCG(1, 2)), text: rule.Regex.String()}
	d := judge(cfg, rule)
	var s score
	for range keys {
		for _, text := range texts(m, rule, parsed) {
			for _, key := range found(d, text) {
				s.found++
				// No more than the first half may be left.
				if !strings.Contains(ours.All(text), key[len(key)/2:]) {
					s.gone++
				}
			}
		}
	}
	return s
}

// texts are texts with one key of a rule.
func texts(m *maker, rule config.Rule, parsed *syntax.Regexp) []string {
	expression := rule.Regex.String()
	switch {
	case rule.RuleID == "private-key": // its expression takes anything for a key
		block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: make([]byte, 100+m.random.IntN(1000))}
		for i := range block.Bytes {
			block.Bytes[i] = byte(m.random.Uint32())
		}
		return around(rule, string(pem.EncodeToMemory(block)))
	case rule.RuleID == "curl-auth-header": // these take a whole command line
		return []string{`curl -X POST -H "Authorization: Bearer ` + m.letters(32) + `" https://example.com/` + "\n"}
	case rule.RuleID == "curl-auth-user":
		return []string{"curl -u admin:" + m.letters(16) + " https://example.com/\n"}
	case !strings.Contains(expression, assigns):
		return around(rule, m.make(parsed))
	}
	group := capture(parsed, max(1, rule.SecretGroup))
	return utils.GenerateSampleSecrets(m.name(expression), m.make(group))
}

// name is one of the names that a rule looks for before a key.
func (m *maker) name(expression string) string {
	_, names, _ := strings.Cut(expression, `{0,50}?(?:`)
	names, _, _ = strings.Cut(names, `)(?:[ \t\w.-]{0,20})`)
	parsed, err := syntax.Parse("(?i:"+names+")", syntax.Perl)
	if err != nil {
		return names
	}
	return m.make(parsed)
}

func (m *maker) letters(n int) string {
	return m.repeat(&syntax.Regexp{Op: syntax.OpCharClass, Rune: []rune{'a', 'z', 'A', 'Z', '0', '9'}}, n, n)
}

// around puts a key where keys stand, in a text that has a word of the rule.
func around(rule config.Rule, key string) []string {
	texts := []string{
		key + "\n",
		"export SOMETHING=" + key + "\n",
		`{"a": "b", "c": "` + key + `"}`,
		"curl -H 'X-Something: " + key + "' https://example.com/\n",
		"the server said " + key + " and went away\n",
	}
	for i, text := range texts {
		has := slices.ContainsFunc(rule.Keywords, func(w string) bool { return strings.Contains(strings.ToLower(text), w) })
		if !has && len(rule.Keywords) > 0 {
			texts[i] = "# about " + rule.Keywords[0] + "\n" + text
		}
	}
	return texts
}
