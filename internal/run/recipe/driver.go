package recipe

import (
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

// Drivers of workers. A driver takes the place of a vendor (decision 040): driver/NAME, or
// driver/NAME/MODEL with the program's own word for a model.
const (
	driverVendor = "driver"
	ownDriver    = "ramet" // ramet's own loop
)

// driver reads the name of a program, or a parameter that holds one.
func (p *parser) driver(m member, what string) string {
	name := p.text(m, what)
	switch {
	case name == "":
	case braces().FindString(name) == name:
		p.checkNames(m.value.Line, what, name)
	case !driverRule().MatchString(name):
		p.say(m.value.Line, "%s is %.60q: name a driver, or {parameter}; `ramet drivers` lists them", what, name)
	}
	return name
}

// badModel returns why a worker with that driver cannot ask a model, or "".
func badModel(driver, model string) string {
	if driver == "" || driver == ownDriver {
		if _, err := llm.ParseRef(model); err != nil {
			return "write vendor/name, or {parameter}; `ramet models` lists them"
		}
		return ""
	}
	if strings.ContainsFunc(model, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "use the program's own word for it"
	}
	return ""
}

// Asks returns the model that a worker's agents ask, with the values of parameters: vendor/name, or driver/NAME/MODEL; empty:
// the recipe does not say.
func (w Worker) Asks(values map[string]string) string {
	driver, model := bindValue(w.Driver, values), bindValue(w.Model, values)
	if driver == "" || driver == ownDriver {
		return model
	}
	return strings.TrimSuffix(driverVendor+"/"+driver+"/"+model, "/")
}

// DriverOf returns the driver in the model of a worker; empty: ramet's own loop asks the model.
func DriverOf(asks string) string {
	rest, ok := strings.CutPrefix(asks, driverVendor+"/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// DrivenWorker is a worker whose agents a program drives.
type DrivenWorker struct {
	Worker string
	Line   int // where the worker stands
	Driver string
}

// Driven returns the workers whose agents programs drive. others is the model of workers for which the recipe names
// none.
func (r *Recipe) Driven(values map[string]string, others string) []DrivenWorker {
	var out []DrivenWorker
	for _, w := range r.Workers {
		if w.Prompt == "" {
			continue
		}
		asks := w.Asks(values)
		if asks == "" {
			asks = others
		}
		if name := DriverOf(asks); name != "" {
			out = append(out, DrivenWorker{w.Name, w.Line, name})
		}
	}
	return out
}

// checkAsked looks at parameters that are drivers and models of workers.
func (r *Recipe) checkAsked(values map[string]string) error {
	for _, w := range r.Workers {
		driver, model := bindValue(w.Driver, values), bindValue(w.Model, values)
		if driver != "" && !driverRule().MatchString(driver) {
			return fault.New(fault.Usage, "parameter %s is %.60q, and drives worker %s", strings.Trim(w.Driver, "{}"), driver, w.Name).WithHint("name a driver; `ramet drivers` lists them")
		}
		if why := badModel(driver, model); model != "" && why != "" {
			return fault.New(fault.Usage, "parameter %s is %.60q, and worker %s asks that model", strings.Trim(w.Model, "{}"), model, w.Name).WithHint("%s", why)
		}
	}
	return nil
}

// bindValue returns a value, or that of the parameter which it names in braces.
func bindValue(s string, values map[string]string) string {
	if name := strings.Trim(s, "{}"); name != s {
		return values[name]
	}
	return s
}
