package trust

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"ramet/internal/base/fault"
)

// Gate stands before one project.
type Gate struct {
	Home    string // ramet's
	Project string
	Sources []Source // nil: Standard
	Now     func() time.Time
}

func (g Gate) sources() []Source {
	if g.Sources == nil {
		return Standard()
	}
	return g.Sources
}

// Review compares what is in the project with what was accepted there.
func (g Gate) Review() (Review, error) {
	real, c, given, err := g.accepted()
	if err != nil {
		return Review{}, err
	}
	ground, err := Open(real)
	if err != nil {
		return Review{}, err
	}
	defer ground.Close()
	found, err := findThings(ground, g.sources())
	if err != nil {
		return Review{}, err
	}
	r := Review{Project: real, home: g.Home, Older: c.older, Given: given && !c.older}
	for _, s := range g.sources() {
		r.kinds = append(r.kinds, s.Kind)
	}
	was := map[name]kept{}
	for _, k := range c.Things {
		if slices.Contains(r.kinds, k.Kind) {
			was[k.name()] = k
		}
	}
	for _, t := range found {
		item := Item{Thing: t, Change: New}
		if k, ok := was[t.name()]; ok {
			item.accepted, item.Change = &k, Changed
			if t.Refused == "" && t.SHA256() == k.SHA256 {
				item.Change = Same
			}
		}
		delete(was, t.name())
		r.Items = append(r.Items, item)
	}
	for _, k := range was {
		r.Items = append(r.Items, Item{Thing: Thing{Kind: k.Kind, Path: k.Path}, Change: Gone, accepted: &k})
	}
	slices.SortFunc(r.Items, func(a, b Item) int { return compareNames(a.name(), b.name()) })
	return r, nil
}

// Accept lets act what a person saw in a review, in exactly these bytes. What was
// accepted of other kinds stays.
func (g Gate) Accept(ctx context.Context, r Review) error {
	c := consent{At: time.Now().UTC(), Things: []kept{}}
	if g.Now != nil {
		c.At = g.Now().UTC()
	}
	for _, i := range r.Items {
		if !i.acts() {
			continue
		}
		if err := keepBytes(g.Home, i.Thing); err != nil {
			return err
		}
		c.Things = append(c.Things, kept{i.Kind, i.Path, i.SHA256(), len(i.Data)})
	}
	return changeRecord(ctx, g.Home, func(rec *record) error {
		old, _ := rec.of(r.Project)
		for _, k := range old.Things {
			if !slices.Contains(r.kinds, k.Kind) {
				c.Things = append(c.Things, k)
			}
		}
		raw, err := json.Marshal(c)
		rec.Folders[r.Project] = raw
		return err
	})
}

// Revoke ends the trust; a folder that is not trusted, or gone, is no error.
func (g Gate) Revoke(ctx context.Context) error {
	real, err := realPath(g.Project)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	return changeRecord(ctx, g.Home, func(rec *record) error {
		delete(rec.Folders, real)
		return nil
	})
}

// Accepts reports whether a person has accepted exactly this thing.
func (g Gate) Accepts(t Thing) (bool, error) {
	_, c, _, err := g.accepted()
	if err != nil {
		return false, err
	}
	return t.Refused == "" && slices.ContainsFunc(c.Things, func(k kept) bool {
		return k.name() == t.name() && k.SHA256 == t.SHA256()
	}), nil
}

// RecipeDigest returns the name under which a person consents to a recipe, in exactly this text.
func RecipeDigest(text string) string { return Thing{Data: []byte(text)}.SHA256() }

// AcceptsRecipe reports whether a person has consented that the recipe acts outside of runs.
func AcceptsRecipe(home, digest string) (bool, error) {
	r, err := readRecord(home)
	return slices.Contains(r.Recipes, digest), err
}

// AcceptRecipe records the consent.
func AcceptRecipe(ctx context.Context, home, digest string) error {
	return changeRecord(ctx, home, func(r *record) error {
		r.Recipes = append(r.Recipes, digest)
		return nil
	})
}
