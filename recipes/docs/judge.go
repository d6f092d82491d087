package docs

import (
	"os"
	"path/filepath"
)

// A model may judge whether statements follow from the lines that they cite: compose gives it
// each page, and the gate reads its verdicts. Without one no model is asked.

const (
	judgedFile    = "artifacts/judged.json" // the sections that are judged
	statementsDir = "artifacts/statements/"
	verdictsDir   = "reports/judge/"

	judgeDenied = "JUDGE_DENIED" // a statement does not follow
	judgeSilent = "JUDGE_SILENT" // there is no verdict
)

// verdicts holds the judge's verdicts on a section.
type verdicts struct {
	Verdicts []struct {
		ID    int    `json:"id"`
		Holds bool   `json:"holds"`
		Why   string `json:"why"`
	} `json:"verdicts"`
}

// accuse writes what the judge is given.
func (c Call) accuse(p Plan, d drafts, repo *Repository) error {
	judged, written := []string{}, []string{}
	for _, page := range p.Pages {
		draft, ok := d.Pages[page.Path]
		if page.Draft == "" || !ok {
			continue
		}
		said := SplitStatements(draft, repo)
		if err := c.write(statementsDir+page.Section+".json", said); err != nil {
			return err
		}
		written = append(written, page.Section)
		if len(said) > 0 && c.Value("judge") != "" {
			judged = append(judged, page.Section)
		}
	}
	if err := c.write(statementsDir+"all.json", written); err != nil {
		return err
	}
	return c.write(judgedFile, judged)
}

// judged reads the verdicts of the judge.
func (g *gate) judged(c Call, repo *Repository) error {
	var sections []string
	if err := c.read(judgedFile, &sections); err != nil {
		return err
	}
	for _, section := range sections {
		var v verdicts
		name := verdictsDir + section + ".json"
		if _, err := os.Stat(filepath.Join(c.Inputs, filepath.FromSlash(name))); err == nil {
			if err := c.read(name, &v); err != nil {
				return err
			}
		}
		for _, page := range g.plan.Pages {
			if draft, ok := g.drafts.Pages[page.Path]; ok && page.Section == section {
				g.sentence(page, SplitStatements(draft, repo), v)
			}
		}
	}
	return nil
}

// sentence reports the statements of a page that the judge denies.
func (g *gate) sentence(page Page, said []Statement, v verdicts) {
	for _, s := range said {
		heard := false
		for _, one := range v.Verdicts {
			if one.ID != s.ID {
				continue
			}
			if heard = true; !one.Holds {
				g.say(judgeDenied, page.Path, s.Line, "the cited lines do not say this: %.300s (%.200q)", one.Why, s.Text)
				break
			}
		}
		if !heard {
			g.say(judgeSilent, page.Path, s.Line, "the judge did not say whether this follows from its lines: %.200q", s.Text)
		}
	}
}
