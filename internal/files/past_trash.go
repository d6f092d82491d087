package files

import (
	"bytes"
	"context"
	"strings"

	"ramet/internal/base/chain"
	"ramet/internal/files/git"
)

// markForTrash marks what a plan takes away and what could not be brought back: contents that
// the store cannot read, and that git does not have any more.
func (p *Past) markForTrash(ctx context.Context, plan *RestorePlan) error {
	inGit, stored := map[string][]string{}, map[chain.Hash]bool{} // repository: its ids
	oids := map[chain.Hash]string{}
	for _, s := range plan.Steps {
		if !s.TakesAway() || stored[s.Before.Hash] {
			continue
		}
		h := s.Before.Hash
		if repo, oid, ok := p.store.InGit(h); ok {
			inGit[repo] = append(inGit[repo], oid)
			oids[h] = oid
			continue
		}
		_, err := p.store.Get(ctx, h)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		stored[h] = err == nil
	}
	there := map[string]bool{}
	for repo, ids := range inGit {
		for _, oid := range p.existing(ctx, repo, ids) {
			there[oid] = true
		}
	}
	plan.MarkForTrash(func(h chain.Hash) bool { return stored[h] || there[oids[h]] })
	return nil
}

// existing returns those ids that a repository has. If git does not answer, it has none.
func (p *Past) existing(ctx context.Context, repo string, ids []string) []string {
	var out bytes.Buffer
	c := git.Command{Dir: p.repository(repo), In: []byte(strings.Join(ids, "\n") + "\n"), Out: &out}
	if _, err := c.Run(ctx, "cat-file", "--batch-check=%(objectname) %(objecttype)"); err != nil {
		return nil
	}
	var there []string
	for line := range strings.Lines(out.String()) {
		if oid, ok := strings.CutSuffix(strings.TrimSpace(line), " blob"); ok {
			there = append(there, oid)
		}
	}
	return there
}
