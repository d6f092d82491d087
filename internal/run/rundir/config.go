package rundir

import (
	"encoding/json"

	"go.yaml.in/yaml/v3"

	"ramet/internal/base/fault"
)

// CheckConfig refuses a configuration that is not YAML or not of the published
// form.
func CheckConfig(text []byte) error {
	var value map[string]any
	if err := yaml.Unmarshal(text, &value); err != nil {
		return fault.New(fault.InvalidConfig, "the run's configuration is not YAML: %w", err).
			WithHint("`ramet schema run_config` prints the form")
	}
	if value == nil {
		value = map[string]any{} // an empty file
	}
	doc, err := json.Marshal(value)
	if err != nil {
		return fault.New(fault.InvalidConfig, "the run's configuration: %w", err)
	}
	return checkForm("run_config", runConfig, fault.InvalidConfig, doc)
}

// Config holds the settings that a run was started with and that the engine needs. The file may contain
// others.
type Config struct {
	Recipe  string             `yaml:"recipe"`                // its name
	Text    string             `yaml:"recipe_text,omitempty"` // the recipe itself, as it was at the start
	Model   string             `yaml:"model,omitempty"`       // vendor/name; empty: the configured one
	Set     map[string]string  `yaml:"set,omitempty"`
	NoCache bool               `yaml:"no_cache,omitempty"` // models are asked anew, also when it is resumed
	Limits  map[string]float64 `yaml:"limits,omitempty"`   // instead of the recipe's
}

// Format gives the text of run_config.yaml.
func (c Config) Format() ([]byte, error) {
	text, err := yaml.Marshal(c)
	if err != nil {
		return nil, fault.New(fault.InvalidConfig, "write the run's configuration: %w", err)
	}
	return text, CheckConfig(text)
}

// Config reads the configuration of a run.
func (s *Store) Config(runID string) (Config, error) {
	files, err := s.OpenFiles(runID)
	if err != nil {
		return Config{}, err
	}
	defer files.Close()
	text, err := files.Read(configFile)
	if err != nil {
		return Config{}, err
	}
	c, err := ParseConfig(text)
	if f, ok := fault.Of(err); ok {
		return c, fault.New(f.Code, "run %s: %s", runID, f.Message).WithHint("%s", f.Hint)
	}
	return c, err
}

// ParseConfig reads the text of run_config.yaml.
func ParseConfig(text []byte) (Config, error) {
	var c Config
	if err := yaml.Unmarshal(text, &c); err != nil {
		return Config{}, fault.New(fault.InvalidConfig, "read the run's configuration: %w", err)
	}
	if c.Text == "" {
		return Config{}, fault.New(fault.InvalidConfig, "it contains no recipe: it was made by `ramet run init`").
			WithHint("only runs of `ramet run start` can be carried out; this one belongs to the program that appends to it")
	}
	return c, nil
}
