package app_test

import (
	"testing"
)

// Two who carry out runs on one database do not take each other's items, and those who only
// work do items of both.
func TestTwoOrchestratorsOnOneDatabase(t *testing.T) {
	t.Parallel()
	const pages = `
name: pages
description: for tests
limits: {parallel: 2}
states: {DRAFTING: [draft]}
workers:
  draft:
    each: [i01, i02, i03, i04, i05, i06, i07, i08, i09, i10, i11, i12]
    prompt: 'write {{scope}} patiently'
    outputs: [{path: 'drafts/{scope}.txt', answer: true}]
`
	f := newFleet(t, pages)
	other := f.site("other")
	f.write(other.dir, "recipe.yaml", pages)
	begin := func(s *site, run string) *task {
		k := s.begin("run", "start", "--recipe", "recipe.yaml", "--run-id", run, "--model", "script/model.jsonl")
		k.told(s)
		return k
	}
	here, there := begin(f.boss, f.run), begin(other, "s")
	for s, k := range map[*site]*task{f.boss: here, other: there} {
		eventually(t, s.name+" has an item", func() bool { return holds(k.cmd.Process.Pid, s.dir+"/gate") })
	}
	w := f.worker("w")
	eventually(t, "a worker has one, too", w.waits)
	w.open(24)
	f.boss.open(12)
	other.open(12)
	f.done(here)
	there.ends(t, 0, "run s is DONE")
	eventually(t, "the worker ended items", func() bool { return w.ended() > 0 })
	w.leaves()
	w.quiet()
}
