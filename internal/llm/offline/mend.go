package offline

import (
	"strings"

	"ramet/internal/llm/offline/scribe"
	"ramet/internal/text"
)

// mend does what can be done about an issue by rule, on the planned pages that it names.
func (w *work) mend(i scribe.Issue, sections []scribe.Section) {
	planned := map[string]scribe.Page{}
	var all []string
	for _, s := range sections {
		for _, p := range s.Pages {
			planned[p.Path] = p
			all = append(all, p.Path)
		}
	}
	var files []string
	for _, f := range i.Files {
		if _, ok := planned[f]; ok && len(files) < mostCalls {
			files = append(files, f)
		} else {
			w.say("I leave %s alone: it is no page of the plan.", name(f))
		}
	}
	if len(files) == 0 {
		w.say("There is nothing that I can mend: %s.", text.Line(strings.TrimRight(i.Message, "."), 200))
		return
	}
	texts, ok := w.readAll(files)
	if !ok {
		return
	}
	var calls []call
	for k, f := range files {
		if o := texts[k].failed; o != nil {
			if o.act != "" {
				w.tell(*o)
			}
			continue
		}
		c, did := scribe.Repair(i, planned[f], all, texts[k].page)
		if did == "" {
			w.say("I cannot mend %s in %s by rule: %s.", name(i.Code), name(f), text.Line(strings.TrimRight(i.Message, "."), 200))
			continue
		}
		e := edit(f, c)
		e.act = did + " in " + name(f)
		calls = append(calls, e)
	}
	out, ok := w.do(calls...)
	if !ok {
		return
	}
	for _, o := range out {
		if o.failed {
			w.tell(o)
		} else {
			w.say("%s.", strings.ToUpper(o.act[:1])+o.act[1:])
		}
	}
}
