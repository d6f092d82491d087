package session

import (
	"os"

	"ramet/internal/base/fault"
	"ramet/internal/driver"
	"ramet/internal/run/recipe"
)

// CheckDrivers refuses workers whose driver nobody knows here; with installed also those whose program is not
// found on this machine.
func (w Programs) CheckDrivers(workers []recipe.DrivenWorker, installed bool) error {
	for _, one := range workers {
		p, err := driver.FindPreset(one.Driver, w.ws.Config.Drivers)
		if err == nil && installed {
			err = p.Installed(os.Environ())
		}
		if err != nil {
			return ofWorker(one, err)
		}
	}
	return nil
}

// ofWorker says of which worker an error tells.
func ofWorker(one recipe.DrivenWorker, err error) error {
	f, ok := fault.Of(err)
	if !ok {
		return err
	}
	return fault.New(f.Code, "line %d: worker %s: %s", one.Line, one.Worker, f.Message).WithHint("%s", f.Hint)
}
