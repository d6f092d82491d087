package session

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/operation/public"
)

// Each verb of runs becomes one command line in which no argument can be taken for a flag, and reports what that
// command answers. Nothing runs for an agent, or with an id that is none.
func TestVerbsOfRunsAreCommandLines(t *testing.T) {
	ctx, wrong := t.Context(), errors.New("the command failed")
	limits := map[string]string{"calls": "2", "agents": "1"}
	for _, c := range []struct {
		want string // the command line; empty: the verb is refused
		verb func(Runs, context.Context) (public.RunMade, error)
	}{
		{"begin run start --detach --json --", func(r Runs, ctx context.Context) (public.RunMade, error) { return r.Start(ctx, public.RunStart{}) }},
		{"begin run start --recipe=r --repo=a --into=b --run-id=x --accept=d --set=k=v --model=m --limit=agents=1 --limit=calls=2 --no-cache --detach --json --",
			func(r Runs, ctx context.Context) (public.RunMade, error) {
				return r.Start(ctx, public.RunStart{Recipe: "r", Repo: "a", Into: "b", RunID: "x", Model: "m", Set: map[string]string{"k": "v"}, Limits: limits, Accept: "d", NoCache: true})
			}},
		{"begin run resume --detach --json -- x", func(r Runs, ctx context.Context) (public.RunMade, error) {
			return r.Resume(ctx, "x", public.RunResume{})
		}},
		{"begin run resume --redo=a --redo=b --force --from-failed --accept=d --model=m --limit=agents=1 --limit=calls=2 --no-cache --detach --json -- x",
			func(r Runs, ctx context.Context) (public.RunMade, error) {
				return r.Resume(ctx, "x", public.RunResume{Redo: []string{"a", "b"}, Force: true, FromFailed: true, Accept: "d", Model: "m", Limits: limits, NoCache: true})
			}},
		{"run cancel --reason=why --json -- x", func(r Runs, ctx context.Context) (public.RunMade, error) {
			return r.Cancel(ctx, "x", public.RunCancel{Reason: "why"})
		}},
		{"run fork --at=3 --run-id=y --json -- x", func(r Runs, ctx context.Context) (public.RunMade, error) {
			return r.Fork(ctx, "x", public.RunFork{At: "3", RunID: "y"})
		}},
		{"", func(r Runs, ctx context.Context) (public.RunMade, error) {
			return r.Start(ctx, public.RunStart{RunID: "no id"})
		}},
		{"", func(r Runs, ctx context.Context) (public.RunMade, error) {
			return r.Resume(ctx, "", public.RunResume{})
		}},
		{"", func(r Runs, ctx context.Context) (public.RunMade, error) {
			return r.Cancel(ctx, "", public.RunCancel{})
		}},
		{"", func(r Runs, ctx context.Context) (public.RunMade, error) {
			return r.Fork(ctx, "", public.RunFork{At: "3"})
		}},
		{"", func(r Runs, ctx context.Context) (public.RunMade, error) { return r.Fork(ctx, "x", public.RunFork{}) }},
	} {
		got, answer, fails := "", `{"run_id": "x", "path": "p", "run_state": "running"}`, error(nil)
		command := func(prefix ...string) func(context.Context, ...string) (string, error) {
			return func(_ context.Context, args ...string) (string, error) {
				got = strings.Join(append(prefix, args...), " ")
				return answer, fails
			}
		}
		r := Runs{Command: command(), Begin: command("begin")}
		made, err := c.verb(r, ctx)
		if got != c.want || c.want != "" && (err != nil || made != public.RunMade{RunID: "x", Path: "p", State: "running"}) || c.want == "" && err == nil {
			t.Errorf("%q, want %q: %+v, %v", got, c.want, made, err)
		}
		if c.want == "" {
			continue
		}
		answer = "{"
		if _, err := c.verb(r, ctx); !fault.Is(err, fault.Failed) {
			t.Errorf("%s, with an answer that is not readable: %v", c.want, err)
		}
		fails = wrong
		if _, err := c.verb(r, ctx); !errors.Is(err, wrong) {
			t.Errorf("%s, whose command fails: %v", c.want, err)
		}
		got = ""
		if _, err := c.verb(r, As(ctx, "an agent")); !fault.Is(err, fault.Denied) || got != "" {
			t.Errorf("%s, by an agent: %q, %v", c.want, got, err)
		}
		r.Begin = nil
		if _, err := c.verb(r, ctx); strings.HasPrefix(c.want, "begin") && !fault.Is(err, fault.Usage) {
			t.Errorf("%s, without processes in the background: %v", c.want, err)
		}
	}
}
