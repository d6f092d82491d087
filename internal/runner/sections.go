package runner

import (
	"encoding/json"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
)

// planFile lists which of a recipe's sections there are.
const planFile = "artifacts/plan.json"

// sectionNames are the sections that there are: those of the plan, once there is one.
func (r *Run) sectionNames() ([]string, error) {
	if len(r.Recipe.Sections) == 0 {
		return nil, nil // whatever its plan is
	}
	data, err := r.Folder.Read(planFile)
	if fault.Is(err, fault.NotFound) {
		names := make([]string, len(r.Recipe.Sections))
		for i, s := range r.Recipe.Sections {
			names[i] = s.Name
		}
		return names, nil
	}
	if err != nil {
		return nil, err
	}
	var plan struct {
		Sections []struct {
			Name string `json:"name"`
		} `json:"sections"`
	}
	if err := json.Unmarshal(data, &plan); err != nil {
		return nil, fault.New(fault.OutputInvalid, "read %s: %w", planFile, err)
	}
	var names []string
	for _, s := range plan.Sections {
		names = append(names, s.Name)
	}
	return names, nil
}

// sectionOf is the recipe's section of that name.
func (r *Run) sectionOf(name string) recipe.Section {
	if s, ok := r.Recipe.Section(name); ok {
		return s
	}
	return recipe.Section{Name: name, Title: name}
}

// section are the events that bring a section to a state, by the way that there is.
func (r *Run) section(name string, to run.SectionState) []Record {
	now, ok := r.sections[name]
	if !ok {
		now = run.NotStarted
	}
	var records []Record
	for _, next := range run.SectionPath(now, to) {
		records = append(records, newRecord(run.SectionStateChanged, run.SectionStep{Section: name, Old: now, New: next}))
		now = next
	}
	r.sections[name] = now
	return records
}

// allSections are the events that bring all sections to a state.
func (r *Run) allSections(to run.SectionState) []Record {
	names, err := r.sectionNames()
	if err != nil {
		return nil // the worker that needs them says so
	}
	var records []Record
	for _, n := range names {
		records = append(records, r.section(n, to)...)
	}
	return records
}
