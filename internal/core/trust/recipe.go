package trust

import (
	"context"
	"slices"
)

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
