package httpapi_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ramet/internal/face/httpapi"
	"ramet/internal/testkit"
)

// People make clients of the document with generators. What it says must be something that
// they understand, down to the types of each body.
func TestGeneratorsUnderstandTheDocumentSoak(t *testing.T) {
	testkit.SoakOnly(t) // it builds one generator and downloads another
	document := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(document, httpapi.OpenAPI("test"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("oapi-codegen", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), "go", "tool", "-modfile=../../tools/go.mod", "oapi-codegen", "-generate", "types,client", "-package", "api", document)
		code, err := cmd.Output()
		if err != nil {
			if offline(err) {
				t.Skipf("oapi-codegen cannot be had here: %v", err)
			}
			t.Fatalf("%v: %s", err, stderrOf(err))
		}
		file, err := parser.ParseFile(token.NewFileSet(), "api.go", code, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"Agent", "AgentNow", "ForkInput", "PromptInput", "Killed", "RunInput", "Letter"} {
			if o := file.Scope.Lookup(name); o == nil || o.Kind != ast.Typ {
				t.Errorf("there is no type %s", name)
			}
		}
	})
	t.Run("openapi-typescript", func(t *testing.T) {
		npx, err := exec.LookPath("npx")
		if err != nil {
			t.Skip("npx is not installed")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		out := filepath.Join(t.TempDir(), "api.ts")
		cmd := exec.CommandContext(ctx, npx, "--yes", "openapi-typescript@7.13.0", document, "-o", out)
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), "npm_config_prefer_offline=true", "npm_config_fetch_retries=0")
		printed, err := cmd.CombinedOutput()
		if ctx.Err() != nil || err != nil && strings.Contains(string(printed), "npm error") {
			t.Skipf("openapi-typescript cannot be had here: %s", printed)
		}
		if err != nil {
			t.Fatalf("%v: %s", err, printed)
		}
		code, err := os.ReadFile(out)
		if err != nil || !strings.Contains(string(code), "ForkInput: {") {
			t.Errorf("%v: there is no ForkInput", err)
		}
	})
}

// offline says whether a Go tool failed for the network alone.
func offline(err error) bool {
	said := stderrOf(err)
	return strings.Contains(said, "dial tcp") || strings.Contains(said, "no such host") || strings.Contains(said, "proxyconnect")
}

func stderrOf(err error) string {
	if exit, ok := err.(*exec.ExitError); ok {
		return string(exit.Stderr)
	}
	return ""
}
