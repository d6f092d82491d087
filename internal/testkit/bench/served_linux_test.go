package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/store"
	"ramet/internal/store/sqlite"
)

// speaker is a model's server on loopback, which speaks Anthropic's protocol and writes a word
// every 20 ms into each answer until its reader goes away.
type speaker struct {
	*httptest.Server
	began atomic.Int64 // answers that are being written, or were
	words atomic.Int64
}

func newSpeaker(b *testing.B) *speaker {
	b.Helper()
	const begin = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"bench\",\"content\":[],\"usage\":{\"input_tokens\":12,\"output_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
	s := &speaker{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, begin)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			fmt.Fprintf(w, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"word%d \"}}\n\n", n)
			w.(http.Flusher).Flush()
			if s.words.Add(1); n == 0 {
				s.began.Add(1)
			}
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
			}
		}
	}))
	b.Cleanup(s.CloseClientConnections)
	return s
}

// served is a `ramet serve`.
type served struct {
	*exec.Cmd
	base, token string
	kernel      int // the process id of the background kernel, which does the work
}

func (sh *shell) serve(b *testing.B, env ...string) *served {
	b.Helper()
	c := exec.Command(sh.binary, "serve", "--addr", "127.0.0.1:0")
	c.Dir = sh.project
	c.Env = append([]string{"HOME=" + sh.home, "RAMET_HOME=" + sh.home, "PATH=" + os.Getenv("PATH")}, env...)
	out := must[io.ReadCloser](b)(c.StdoutPipe())
	check(b, c.Start())
	b.Cleanup(func() {
		c.Process.Signal(syscall.SIGINT)
		c.Wait()
	})
	line := must[string](b)(bufio.NewReader(out).ReadString('\n'))
	go io.Copy(io.Discard, out)
	token := must[[]byte](b)(os.ReadFile(filepath.Join(sh.home, "token")))
	status := exec.Command(sh.binary, "server", "status", "--json")
	status.Dir, status.Env = c.Dir, c.Env
	var kernel struct{ PID int }
	check(b, json.Unmarshal(must[[]byte](b)(status.Output()), &kernel))
	return &served{c, strings.TrimSpace(line), strings.TrimSpace(string(token)), kernel.PID}
}

func (s *served) ask(b *testing.B, method, path, body string) *http.Response {
	b.Helper()
	r := must[*http.Request](b)(http.NewRequestWithContext(b.Context(), method, s.base+path, strings.NewReader(body)))
	r.Header.Set("Authorization", "Bearer "+s.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer := must[*http.Response](b)(http.DefaultClient.Do(r))
	if answer.StatusCode >= 300 {
		said, _ := io.ReadAll(answer.Body)
		b.Fatalf("%s %s: %s %s", method, path, answer.Status, said)
	}
	return answer
}

// reads follows all events, and counts those that tell of words.
func (s *served) reads(b *testing.B, words *atomic.Int64) {
	b.Helper()
	answer := s.ask(b, "GET", "/api/v1/events", "")
	b.Cleanup(func() { answer.Body.Close() })
	go func() {
		lines := bufio.NewReaderSize(answer.Body, 1<<20)
		for {
			line, err := lines.ReadSlice('\n')
			if err != nil {
				return
			}
			if bytes.Contains(line, []byte(`"type":"text"`)) || bytes.Contains(line, []byte(`"type":"text_delta"`)) {
				words.Add(1)
			}
		}
	}()
}

// cpu returns the processor time that the command and the kernel used so far.
func (s *served) cpu(b *testing.B) (used time.Duration) {
	b.Helper()
	for _, pid := range []int{s.Process.Pid, s.kernel} {
		stat := string(must[[]byte](b)(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))))
		f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
		var user, system int64
		fmt.Sscan(f[11], &user)
		fmt.Sscan(f[12], &system)
		used += time.Duration(user+system) * 10 * time.Millisecond // of 100 in a second
	}
	return used
}

// Two hundred agents that write fifty words a second each, and two who follow all of it, leave a core
// most of its time.
func BenchmarkServedStreams(b *testing.B) {
	sh, model := newShell(b), newSpeaker(b)
	streams := max(4, scaled(200))
	place := filepath.Join(b.TempDir(), "ramet.db")
	s := must[*store.Store](b)(sqlite.Open(b.Context(), place, sqlite.Options{Cwd: sh.project}))
	var agents []id.Agent
	for _, a := range fork(b, s, child(b, s), streams, nameless) {
		agents = append(agents, a.ID)
	}
	check(b, s.Close())
	settle(b, place)
	sh.load(b, place)
	sh.run(b, "ramet config", 0, "config", "set", "parallel", "256")
	server := sh.serve(b, "ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL="+model.URL)
	var heard atomic.Int64
	server.reads(b, &heard)
	server.reads(b, &heard)
	for _, a := range agents {
		server.ask(b, "POST", "/api/v1/agents/"+string(a)+"/prompt", `{"text": "Stream.", "model": "anthropic/bench"}`).Body.Close()
	}
	for limit := time.Now().Add(2 * time.Minute); model.began.Load() < int64(streams) || heard.Load() == 0; <-time.After(10 * time.Millisecond) {
		if time.Now().After(limit) {
			b.Fatalf("%d of %d agents write, %d words were heard", model.began.Load(), streams, heard.Load())
		}
	}
	watch := max(time.Second, time.Duration(scale*float64(10*time.Second)))
	var share, told []float64
	for b.Loop() {
		begin, used, said, read := time.Now(), server.cpu(b), model.words.Load(), heard.Load()
		<-time.After(watch)
		took := time.Since(begin)
		share = append(share, float64(server.cpu(b)-used)/float64(took))
		said, read = model.words.Load()-said, heard.Load()-read
		told = append(told, float64(said)/took.Seconds())
		if 2*read < 3*said {
			b.Errorf("%d words were said, and both readers together got %d", said, read)
		}
		b.Logf("%d words were said, %d events read, in %s", said, read, took)
	}
	atMost(b, "200 streams served, two readers: share of one core", "", middle(share), 0.35)
	shown(b, "200 streams served: words in a second", "", middle(told))
}
