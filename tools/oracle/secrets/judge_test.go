package secrets

import (
	"strings"
	"sync"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/rs/zerolog"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/logging"
)

// rules are gitleaks' own, as it is shipped.
var rules = sync.OnceValues(func() (config.Config, error) {
	logging.Logger = zerolog.Nop() // it would print what it finds
	var text config.ViperConfig
	if _, err := toml.Decode(config.DefaultConfig, &text); err != nil {
		return config.Config{}, err
	}
	return text.Translate()
})

func shipped(t testing.TB) config.Config {
	t.Helper()
	cfg, err := rules()
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// judge is gitleaks with one rule.
func judge(cfg config.Config, rule config.Rule) *detect.Detector {
	cfg.Rules = map[string]config.Rule{rule.RuleID: rule}
	cfg.Keywords = map[string]struct{}{}
	for _, word := range rule.Keywords {
		cfg.Keywords[word] = struct{}{}
	}
	return judgeAll(cfg)
}

func judgeAll(cfg config.Config) *detect.Detector {
	d := detect.NewDetector(cfg)
	d.IgnoreGitleaksAllow = true
	return d
}

// found are the keys that a judge finds in a text.
func found(d *detect.Detector, text string) []string {
	var out []string
	for _, f := range d.DetectString(text) {
		key := f.Secret
		if len(key) < 8 { // a piece of it: the expression has groups for something else
			key = f.Match
		}
		out = append(out, strings.Trim(key, "\"'`"))
	}
	return out
}
