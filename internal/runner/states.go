package runner

import (
	"context"
	"encoding/json"
	"slices"

	"ramet/internal/fault"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
)

// walk goes from state to state. The work of a transitional state is done in it, that
// of a stable one before it is entered.
func (r *Run) walk(ctx context.Context) error {
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		next, err := r.onwards(ctx)
		if err != nil {
			return err
		}
		if next.Stable() {
			if err := r.work(ctx, next); err != nil {
				return err
			}
		}
		if err := r.enter(ctx, next); err != nil || next == run.Done {
			return err
		}
	}
}

// onwards does what is left to do in the present state and finds the next.
func (r *Run) onwards(ctx context.Context) (run.State, error) {
	state := r.now()
	switch state {
	case run.Validating:
		return r.validate(ctx)
	case run.Drafting, run.Linking, run.Fixing:
		if err := r.work(ctx, state); err != nil {
			return "", err
		}
	}
	return state.Next("")[0], nil
}

func (r *Run) now() run.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// enter changes the state, and with it those of the sections.
func (r *Run) enter(ctx context.Context, to run.State) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped != nil {
		return r.stopped
	}
	var records []Record
	switch to {
	case run.PlanReady:
		records = r.allSections(run.Outlined)
	case run.Validating:
		if r.state == run.Linking {
			records = r.allSections(run.Merged)
		}
	case run.ReadyForPR:
		records = r.allSections(run.Validated)
	case run.Done:
		records = append(records, Record{Type: run.RunCompleted, Payload: []byte("{}")})
	}
	if err := r.append(ctx, append(records, r.step(to, ""))...); err != nil {
		return err
	}
	r.state = to
	return nil
}

// work does all the work of a state, level by level: a worker's inputs are there before
// it begins.
func (r *Run) work(ctx context.Context, state run.State) error {
	for _, level := range r.Recipe.Order(state) {
		if err := r.level(ctx, level); err != nil {
			return err
		}
	}
	return nil
}

// sectionNames are the sections that there are: those of the plan, once there is one.
func (r *Run) sectionNames() ([]string, error) {
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

// planFile says which of a recipe's sections there are.
const planFile = "artifacts/plan.json"

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

// section are the events that bring a section to a state, by the way that there is.
func (r *Run) section(name string, to run.SectionState) []Record {
	now, ok := r.sections[name]
	if !ok {
		now = run.NotStarted
	}
	var records []Record
	for _, next := range run.SectionPath(now, to) {
		records = append(records, Record{Type: run.SectionStateChanged,
			Payload: object("section", name, "old_state", string(now), "new_state", string(next))})
		now = next
	}
	r.sections[name] = now
	return records
}

// sectionOf is the recipe's section of that name.
func (r *Run) sectionOf(name string) recipe.Section {
	if s, ok := r.Recipe.Section(name); ok {
		return s
	}
	return recipe.Section{Name: name, Title: name}
}

// inOrder are all attempts, oldest first as far as it matters: by worker as in the recipe,
// then by scope.
func (r *Run) inOrder() []*attempt {
	out := make([]*attempt, 0, len(r.items))
	for _, e := range r.items {
		if e.id != "" {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *attempt) int { return compare(a.id, b.id) })
	return out
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
