package session

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/operation/public"
	"ramet/internal/run"
)

// Runs are the verbs of orchestrated runs for faces that are no command line. Each is carried
// out as the command line that does it, so that no face decides anything of its own. Only a person
// may: what a recipe does is permitted by whoever names it.
type Runs struct {
	// Command carries out a command line in this process and returns what it prints.
	Command func(ctx context.Context, args ...string) (string, error)
	// Begin carries one out in a process of its own, which goes on in the background, and
	// returns what it prints first. nil: this system cannot.
	Begin func(ctx context.Context, args ...string) (string, error)
}

// Start begins a run; it goes on in a process of its own.
func (r Runs) Start(ctx context.Context, s public.RunStart) (public.RunMade, error) {
	if s.RunID != "" {
		if err := run.CheckRunID(s.RunID); err != nil {
			return public.RunMade{}, err
		}
	}
	words := []string{"run", "start"}
	words = flagSession(words, "recipe", s.Recipe)
	words = flagSession(words, "repo", s.Repo)
	words = flagSession(words, "into", s.Into)
	words = flagSession(words, "run-id", s.RunID)
	words = flagSession(words, "accept", s.Accept)
	words = pairs(words, "set", s.Set)
	return r.carry(ctx, "start a run", carried(words, s.Model, s.Limits, s.NoCache))
}

// Resume goes on with a run, in a process of its own.
func (r Runs) Resume(ctx context.Context, runID string, s public.RunResume) (public.RunMade, error) {
	if err := run.CheckRunID(runID); err != nil {
		return public.RunMade{}, err
	}
	words := []string{"run", "resume"}
	for _, item := range s.Redo {
		words = append(words, "--redo="+item)
	}
	if s.Force {
		words = append(words, "--force")
	}
	if s.FromFailed {
		words = append(words, "--from-failed")
	}
	words = flagSession(words, "accept", s.Accept)
	return r.carry(ctx, "resume a run", carried(words, s.Model, s.Limits, s.NoCache), runID)
}

// Cancel ends a run for good, wherever it is carried out.
func (r Runs) Cancel(ctx context.Context, runID string, s public.RunCancel) (public.RunMade, error) {
	if err := run.CheckRunID(runID); err != nil {
		return public.RunMade{}, err
	}
	return r.do(ctx, r.Command, "cancel a run", flagSession([]string{"run", "cancel"}, "reason", s.Reason), runID)
}

// Fork makes a run that continues another from one of its events. It goes on when it is resumed.
func (r Runs) Fork(ctx context.Context, runID string, s public.RunFork) (public.RunMade, error) {
	if err := run.CheckRunID(runID); err != nil {
		return public.RunMade{}, err
	}
	if s.At == "" {
		return public.RunMade{}, fault.New(fault.InvalidField, "fork run %s: at is missing", runID).WithHint("give the event_id or the number of one of its events")
	}
	words := flagSession([]string{"run", "fork"}, "at", s.At)
	return r.do(ctx, r.Command, "fork a run", flagSession(words, "run-id", s.RunID), runID)
}

// carry carries out a run in a process of its own, which says what it made and goes on.
func (r Runs) carry(ctx context.Context, what string, words []string, args ...string) (public.RunMade, error) {
	if r.Begin == nil {
		return public.RunMade{}, fault.New(fault.Usage, "this system cannot carry out runs in the background")
	}
	return r.do(ctx, r.Begin, what, append(words, "--detach"), args...)
}

// do carries out a command line, made so that no argument can be taken for a flag.
func (r Runs) do(ctx context.Context, by func(context.Context, ...string) (string, error), what string, words []string, args ...string) (out public.RunMade, err error) {
	if a, ok := ctx.Value(asKey{}).(id.Agent); ok && a != "" {
		return out, fault.New(fault.Denied, "%s: only a person may, and this is agent %s", what, a.Short()).WithHint("say what is needed; the person can do it")
	}
	said, err := by(ctx, append(append(words, "--json", "--"), args...)...)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal([]byte(said), &out); err != nil {
		return out, fault.New(fault.Failed, "%s: what was answered cannot be read: %w", what, err)
	}
	return out, nil
}

// carried are the flags of whatever is carried out.
func carried(words []string, model string, limits map[string]string, noCache bool) []string {
	words = pairs(flagSession(words, "model", model), "limit", limits)
	if noCache {
		words = append(words, "--no-cache")
	}
	return words
}

func flagSession(words []string, name, value string) []string {
	if value == "" {
		return words
	}
	return append(words, "--"+name+"="+value)
}

func pairs(words []string, name string, values map[string]string) []string {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		words = append(words, "--"+name+"="+key+"="+values[key])
	}
	return words
}
