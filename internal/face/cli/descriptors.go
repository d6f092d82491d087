package cli

import (
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

// explainDescriptors gives a failure for want of file descriptors its own words, whatever it met
// first: a configuration or a folder that cannot be opened is not a bad one.
func explainDescriptors(err error) error {
	f, ok := fault.Of(err)
	if !durable.Crowded(err) || ok && f.Hint == durable.CrowdedHint {
		return err
	}
	if ok && strings.HasPrefix(string(f.Code), "PROVIDER_") {
		return f.WithHint(durable.CrowdedHint)
	}
	return fault.New(fault.StorageIO, "%w", err).WithHint(durable.CrowdedHint)
}
