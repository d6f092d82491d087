package offline

import (
	"fmt"
	"slices"
	"strings"

	"ramet/internal/late"
	"ramet/internal/llm/offline/scribe"
	"ramet/internal/text"
)

// answerOrder carries out the orders that are not parsed from plain words: to draft a
// section of documentation, and to mend what a gate found in it. ok is false for all
// others.
func (w *work) answerOrder(order string) (ok bool) {
	if a, why, ok := scribe.Draft(order); ok {
		if why != "" {
			w.say("I cannot draft this section: %s.", text.Line(why, 200))
			return true
		}
		w.draft(&a)
		return true
	}
	if i, sections, why, ok := scribe.Mend(order); ok {
		if why != "" {
			w.say("I cannot mend this issue: %s.", text.Line(why, 200))
			return true
		}
		w.mend(i, sections)
		return true
	}
	return false
}

// drafted is what came of the pages.
type drafted struct{ wrote, updated, same int }

// draft writes the pages: those that are new together, and those that exist after
// reading them.
func (w *work) draft(a *scribe.Assignment) {
	var sum drafted
	var old []scribe.Page
	var fresh []scribe.Page
	for _, p := range a.Section.Pages {
		if p.Update {
			old = append(old, p)
		} else {
			fresh = append(fresh, p)
		}
	}
	failed, ok := w.writeAll(a, fresh, &sum)
	if !ok {
		return
	}
	absent, ok := w.reviseAll(a, old, &sum)
	if !ok {
		return
	}
	others, ok := w.writeAll(a, absent, &sum) // which were said to exist
	if !ok {
		return
	}
	// A page that is there against expectation is one that exists. What failed for
	// another reason is told.
	var there []scribe.Page
	for _, f := range failed {
		if deniedWord().MatchString(f.text) {
			w.tell(f.outcome)
		} else {
			there = append(there, f.page)
		}
	}
	if absent, ok = w.reviseAll(a, there, &sum); !ok {
		return
	}
	for _, f := range failed {
		if slices.ContainsFunc(absent, func(p scribe.Page) bool { return p.Path == f.page.Path }) {
			w.tell(f.outcome)
		}
	}
	for _, f := range others {
		w.tell(f.outcome)
	}
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{sum.wrote, "wrote %s"}, {sum.updated, "brought %s up to date"}, {sum.same, "found %s up to date"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf(p.what, count(p.n, "page")))
		}
	}
	if len(parts) == 0 {
		parts = []string{"wrote no page"}
	}
	w.say("Section %q: I %s.", a.Section.Name, strings.Join(parts, ", "))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// perAnswer is how many calls each answer makes, so that few answers do for any number.
func perAnswer(n int) int { return max(mostCalls, (n+7)/8) }

// unwritten is a page that could not be written.
type unwritten struct {
	outcome
	page scribe.Page
}

// writeAll writes new pages. Those that fail are given back, and not told.
func (w *work) writeAll(a *scribe.Assignment, pages []scribe.Page, sum *drafted) (failed []unwritten, ok bool) {
	n := perAnswer(len(pages))
	for len(pages) > 0 {
		now := pages[:min(n, len(pages))]
		pages = pages[len(now):]
		var calls []call
		for _, p := range now {
			calls = append(calls, call{"write", map[string]any{"path": p.Path, "content": scribe.Fresh(a, p)}, "write " + name(p.Path)})
		}
		out, ok := w.do(calls...)
		if !ok {
			return nil, false
		}
		for i, o := range out {
			if o.failed {
				failed = append(failed, unwritten{o, now[i]})
			} else {
				sum.wrote++
			}
		}
	}
	return failed, true
}

// reviseAll reads pages and edits them. Those that are not there are given back.
func (w *work) reviseAll(a *scribe.Assignment, pages []scribe.Page, sum *drafted) (absent []scribe.Page, ok bool) {
	n := perAnswer(len(pages))
	for len(pages) > 0 {
		now := pages[:min(n, len(pages))]
		pages = pages[len(now):]
		texts, ok := w.readAll(paths(now))
		if !ok {
			return nil, false
		}
		var calls []call
		for i, p := range now {
			if texts[i].failed != nil {
				absent = append(absent, p)
				continue
			}
			c, why := scribe.Revise(a, p, texts[i].page)
			switch {
			case why != "":
				w.say("I left %s as it is: %s.", name(p.Path), why)
			case c.Old == "":
				calls = append(calls, call{"write", map[string]any{"path": p.Path, "content": c.New}, "write " + name(p.Path)})
			case c.Old == c.New:
				sum.same++
			default:
				calls = append(calls, edit(p.Path, c))
			}
		}
		out, ok := w.do(calls...)
		if !ok {
			return nil, false
		}
		for _, o := range out {
			if o.failed {
				w.tell(o)
			} else {
				sum.updated++
			}
		}
	}
	return absent, true
}

func paths(pages []scribe.Page) []string {
	var out []string
	for _, p := range pages {
		out = append(out, p.Path)
	}
	return out
}

func edit(path string, c scribe.Change) call {
	return call{"edit", map[string]any{"path": path, "old_string": c.Old, "new_string": c.New}, "edit " + name(path)}
}

// reading is a page that was read.
type reading struct {
	page   string
	failed *outcome
}

// readAll reads pages to their ends, together.
func (w *work) readAll(paths []string) ([]reading, bool) {
	out := make([]reading, len(paths))
	next := make([]int, len(paths)) // the line to go on with; 0: all is read
	for i := range next {
		next[i] = 1
	}
	for round := 0; round < 8; round++ {
		var calls []call
		var of []int
		for i, p := range paths {
			if next[i] == 0 {
				continue
			}
			args := map[string]any{"path": p}
			if next[i] > 1 {
				args["offset"] = next[i]
			}
			calls, of = append(calls, call{"read", args, "read " + name(p)}), append(of, i)
		}
		if len(calls) == 0 {
			break
		}
		results, ok := w.do(calls...)
		if !ok {
			return nil, false
		}
		if len(results) == 0 { // the tool is not offered
			for i := range out {
				out[i].failed = &outcome{}
			}
			return out, true
		}
		for k, o := range results {
			i := of[k]
			if next[i] = 0; o.failed {
				out[i].failed = &o
				continue
			}
			page, more := unnumber(o.text)
			out[i].page += page
			next[i] = more
		}
	}
	return out, true
}

var (
	numbered = late.Regexp(`^ *\d+\t`)
	goFrom   = late.Regexp(`there is more: go on with offset (\d{1,9})`)
)

// unnumber takes the numbers of lines off what read shows, and says where to go on.
func unnumber(shown string) (page string, more int) {
	var b strings.Builder
	for line := range strings.Lines(shown) {
		if at := numbered().FindStringIndex(line); at != nil {
			b.WriteString(line[at[1]:])
		} else if m := goFrom().FindStringSubmatch(line); m != nil {
			fmt.Sscan(m[1], &more)
		}
	}
	return b.String(), more
}
