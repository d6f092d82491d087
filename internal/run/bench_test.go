package run_test

import (
	"testing"

	"ramet/internal/run"
	"ramet/internal/testkit/runtest"
)

func BenchmarkCheckPayload(b *testing.B) {
	for _, kind := range []run.Type{run.RunStateChanged, run.WorkItemQueued, run.WorkItemFinished, run.IssueOpened, run.LLMCallStarted, run.LLMCallFinished} {
		payload := []byte(runtest.Examples()[kind])
		b.Run(string(kind), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := run.CheckPayload(kind, payload); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkApply(b *testing.B) {
	rounds := map[string][]step{
		"model call":  {do(run.LLMCallStarted)},
		"artifact":    {do(run.ArtifactWritten)},
		"gate":        {do(run.GateRunStarted), do(run.GateRunFinished)},
		"issue":       {do(run.IssueOpened), do(run.IssueResolved)},
		"transitions": {to(run.Validating, run.Fixing), to(run.Fixing, run.Validating)},
	}
	for name, steps := range rounds {
		b.Run(name, func(b *testing.B) {
			s := run.New(runtest.RunID)
			s.EventCount, s.RunState = 1, run.Validating
			r := run.NewReducer(s)
			var events []run.Event
			for i, x := range steps {
				events = append(events, runtest.Draft(i, x.kind, x.payload).Link(""))
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if err := r.Apply(events[i%len(events)]); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

func BenchmarkParseLine(b *testing.B) {
	line := runtest.Draft(1, run.LLMCallFinished, runtest.Examples()[run.LLMCallFinished]).Link("").Line()
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := run.ParseLine(line); err != nil {
			b.Fatal(err)
		}
	}
}
