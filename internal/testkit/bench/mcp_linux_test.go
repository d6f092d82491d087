package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// `ramet exec` that uses no MCP server pays nothing for those who do: what the packages cost every
// process at its start, and a command beside one that has a server named, whose tools are
// remembered and which nobody asks. All of it in turns, in one run.
func BenchmarkExecWithoutMCP(b *testing.B) {
	sh, vendor := newShell(b), newVendor(b)
	place := sh.past(b, 10, false)
	var asked atomic.Int64
	server := sdk.NewServer(&sdk.Implementation{Name: "bench"}, nil)
	for i := range 20 {
		sdk.AddTool(server, &sdk.Tool{Name: fmt.Sprintf("tool%d", i), Description: "Does something."}, func(context.Context, *sdk.CallToolRequest, struct{ Text string }) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{}, nil, nil
		})
	}
	answers := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		answers.ServeHTTP(w, r)
	}))
	defer far.Close()
	env := func(config string) []string {
		return []string{"HOME=" + sh.home, "RAMET_HOME=" + sh.home, "XDG_CONFIG_HOME=" + config, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL=" + vendor.URL}
	}
	none, named := b.TempDir(), b.TempDir()
	check(b, os.MkdirAll(filepath.Join(named, "ramet"), 0o700))
	check(b, os.WriteFile(filepath.Join(named, "ramet", "config.toml"), fmt.Appendf(nil, "[mcp.far]\nurl = %q\n", far.URL), 0o600))
	sh.load(b, place)
	list := exec.CommandContext(b.Context(), sh.binary, "mcp", "tools", "far")
	list.Dir, list.Env = sh.project, env(named)
	if out, err := list.CombinedOutput(); err != nil || !strings.Contains(string(out), "tool19") {
		b.Fatalf("%v\n%s", err, out)
	}
	before := asked.Load()
	cpu, wall := map[string][]float64{}, map[string][]float64{}
	run := func(config string) {
		sh.load(b, place)
		vendor.read()
		got := apart[used](b, errands, errand{Path: sh.binary, Args: []string{"exec", "one", "Go on.", "--model", "anthropic/bench"}, Dir: sh.project, Env: env(config), Want: "Hello, world.\n"})
		_, theirs := vendor.read()
		cpu[config] = append(cpu[config], float64(got.CPU)/1e6)
		wall[config] = append(wall[config], float64(got.Wall-theirs)/1e6)
	}
	var inits []float64
	for b.Loop() {
		for range max(3, scaled(20)) {
			run(none)
			run(named)
			inits = append(inits, sh.inits(b, regexp.MustCompile(`modelcontextprotocol|google/jsonschema-go|ramet/internal/tools/mcp|ramet/internal/face/mcpserver`)))
		}
	}
	if n := asked.Load(); n != before {
		b.Errorf("the server was asked %d times by turns that used none of its tools", n-before)
	}
	atMost(b, "`ramet exec` without MCP: what its packages cost at the start", "ms", middle(inits), 1)
	shown(b, "`ramet exec` with a server of 20 tools named and not used / without: CPU", "", middle(cpu[named])/middle(cpu[none]))
	shown(b, "`ramet exec` with a server of 20 tools named and not used - without: CPU", "ms", middle(cpu[named])-middle(cpu[none]))
	shown(b, "`ramet exec` with a server of 20 tools named and not used - without: wall", "ms", middle(wall[named])-middle(wall[none]))
}

var initLine = regexp.MustCompile(`(?m)^init (\S+) @\S+ ms, ([0-9.]+) ms clock`)

// inits is what packages take to be ready when the command starts, in ms.
func (s *shell) inits(b *testing.B, which *regexp.Regexp) (ms float64) {
	b.Helper()
	c := exec.CommandContext(b.Context(), s.binary, "version")
	c.Env = []string{"HOME=" + s.home, "GODEBUG=inittrace=1"}
	out, err := c.CombinedOutput()
	check(b, err)
	seen := initLine.FindAllStringSubmatch(string(out), -1)
	if len(seen) == 0 {
		b.Fatalf("no package tells of its start: %s", out)
	}
	for _, m := range seen {
		if which.MatchString(m[1]) {
			took, err := strconv.ParseFloat(m[2], 64)
			check(b, err)
			ms += took
		}
	}
	return ms
}
