package recipe_test

import (
	"os"
	"strings"
	"testing"

	"ramet/internal/run/recipe"
	"ramet/internal/testkit"
)

// The recipe that the documentation shows is one.
func TestTheRecipeInTheDocumentationIsOne(t *testing.T) {
	page := testkit.Must(os.ReadFile("../../../docs/recipes.md"))(t)
	_, text, _ := strings.Cut(string(page), "```yaml\n")
	text, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatal("there is none")
	}
	testkit.Must(recipe.Parse([]byte(text)))(t)
}
