package rundir

import (
	"encoding/json"

	"go.yaml.in/yaml/v3"

	"ramet/internal/fault"
	"ramet/internal/run/schema"
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
	return schema.Validate("run_config", doc)
}
