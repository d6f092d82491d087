package app_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"ramet/internal/base/text"
	"ramet/internal/testkit/llmtest"
)

// A model server speaks the wire format of a vendor on loopback. It refuses, as
// the vendor would, every request that is not acceptable (see llmtest.CheckRequest),
// and answers the others from a file of replies, which are separated by lines of
// "--":
//
//	when TEXT            only for a request whose newest message holds it
//	think SIGNATURE TEXT thinks; the signature must come back with the rest
//	say TEXT             one piece of a text, with the escapes of Go
//	call ID NAME ARGS    calls a tool; ARGS need not be JSON
//	search ID QUERY      searches the web by itself; that must come back with the rest
//	look ID QUERY        begins such a search; found ID ends it, in the reply after a pause
//	cite URL TITLE       a page that the text before rests on
//	stop WORD            the vendor's word, if not the usual one
//	usage IN OUT         tokens
//	cut, hang            the stream ends here, or goes on for ever, without an end
//	raw TEXT             these bytes, and the stream ends
//	status N, header NAME: VALUE, body TEXT
//	always               it is not used up
type modelServer struct {
	wire wireFormat
	name string // of the vendor
	key  string

	mu       sync.Mutex
	replies  []*reply
	requests []string // bodies, of whose tools only the names are left
	whole    []string // bodies as they came
	wrong    []string
	cache    promptCache
	debts    map[string]string // a call or text that we said to what must come with it
}

type reply struct {
	when   string
	parts  []said
	stop   string
	in     int
	out    int
	ending string // "", cut, hang or raw
	raw    string
	status int
	header http.Header
	body   string
	always bool
	used   bool
}

// said is one part of a reply.
type said struct {
	kind      string // think, say, call
	text      string // or arguments
	pieces    []string
	signature string
	id, name  string
	pages     [][2]string // url, title
}

func init() {
	commands["cached"] = cached                // cached PERCENT
	commands["modelserver"] = startModelServer // modelserver VENDOR FILE
	commands["asked"] = asked                  // asked N|last|any TEXT: request N holds it
	commands["requests"] = requestsAre         // requests N: so many came
	commands["json-last"] = jsonLast           // json-last PATH VALUE: of the last line
	commands["plainly"] = printedPlainly       // plainly: nothing that was printed drives a terminal
}

var modelServers sync.Map // *testscript.TestScript to its newest *modelServer

func serverOf(ts *testscript.TestScript) *modelServer {
	s, ok := modelServers.Load(ts)
	if !ok {
		ts.Fatalf("there is no model server")
	}
	return s.(*modelServer)
}

func startModelServer(ts *testscript.TestScript, _ bool, args []string) {
	vendor := args[0]
	format, ok := wireFormats[vendor]
	if !ok {
		ts.Fatalf("%s is not a vendor of model servers", vendor)
	}
	s := &modelServer{wire: format, name: vendor, key: "sk-" + vendor + "-0123456789abcdef0123456789",
		debts: map[string]string{}, cache: promptCache{marked: vendor != "openai"}}
	s.replies = parseReplies(ts, ts.ReadFile(args[1]))
	server := httptest.NewServer(s)
	modelServers.Store(ts, s)
	ts.Defer(func() {
		server.CloseClientConnections()
		server.Close()
		modelServers.Delete(ts)
	})
	owner := strings.ToUpper(strings.TrimSuffix(vendor, "-chat"))
	ts.Setenv("MODEL_URL", server.URL)
	ts.Setenv("MODEL_KEY", s.key)
	ts.Setenv("MODEL_HOST", strings.TrimPrefix(server.URL, "http://"))
	switch {
	case strings.HasPrefix(vendor, "vertex"): // tokens come from elsewhere
		ts.Setenv("VERTEX_BASE_URL", server.URL)
	case vendor == "acme": // a configuration says where it is
	default:
		ts.Setenv(owner+"_BASE_URL", server.URL)
		ts.Setenv(owner+"_API_KEY", s.key)
	}
}

func parseReplies(ts *testscript.TestScript, file string) []*reply {
	one := &reply{in: 12, out: 5, header: http.Header{}}
	all := []*reply{one}
	for line := range strings.Lines(file) {
		line = strings.TrimSuffix(line, "\n")
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "", "#":
		case "--":
			one = &reply{in: 12, out: 5, header: http.Header{}}
			all = append(all, one)
		case "when":
			one.when = rest
		case "think":
			signature, text, _ := strings.Cut(rest, " ")
			one.parts = append(one.parts, said{kind: "think", text: text, signature: signature})
		case "say":
			text := unquote(ts, rest)
			if n := len(one.parts); n > 0 && one.parts[n-1].kind == "say" {
				one.parts[n-1].text += text
				one.parts[n-1].pieces = append(one.parts[n-1].pieces, text)
				continue
			}
			one.parts = append(one.parts, said{kind: "say", text: text, pieces: []string{text}})
		case "call":
			f := strings.SplitN(rest, " ", 3)
			one.parts = append(one.parts, said{kind: "call", id: f[0], name: f[1], text: f[2]})
		case "search", "look", "found":
			id, query, _ := strings.Cut(rest, " ")
			one.parts = append(one.parts, said{kind: word, id: id, text: query})
		case "cite":
			url, title, _ := strings.Cut(rest, " ")
			last := &one.parts[len(one.parts)-1]
			last.pages = append(last.pages, [2]string{url, title})
		case "stop":
			one.stop = rest
		case "usage":
			_, err := fmt.Sscan(rest, &one.in, &one.out)
			ts.Check(err)
		case "cut", "hang":
			one.ending = word
		case "raw":
			one.ending, one.raw = word, unquote(ts, rest)
		case "status":
			n, err := strconv.Atoi(rest)
			ts.Check(err)
			one.status = n
		case "header":
			name, value, _ := strings.Cut(rest, ": ")
			one.header.Set(name, value)
		case "body":
			one.body += unquote(ts, rest)
		case "always":
			one.always = true
		default:
			ts.Fatalf("a reply cannot hold %q", line)
		}
	}
	return all
}

func (s *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet { // what models it has, for those with its key
		s.list(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	one, wrong := s.take(r, body)
	if wrong != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(400)
		fmt.Fprintf(w, `{"error":{"type":"invalid_request_error","message":%q}}`, "NOT ACCEPTABLE: "+wrong)
		return
	}
	if one.status != 0 {
		for name, values := range one.header {
			w.Header()[name] = values
		}
		w.WriteHeader(one.status)
		io.WriteString(w, one.body)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range s.wire.stream(s.name, one) {
		io.WriteString(w, event)
		w.(http.Flusher).Flush()
	}
	if one.ending == "hang" {
		<-r.Context().Done()
	}
}

// list answers what a server is asked without cost.
func (s *modelServer) list(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if strings.HasPrefix(r.URL.Path, "/computeMetadata/v1/instance/service-accounts/default/token") && r.Header.Get("Metadata-Flavor") == "Google" {
		fmt.Fprintf(w, `{"access_token":%q,"expires_in":3599,"token_type":"Bearer"}`, s.key)
		return
	}
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + r.Header.Get("X-Api-Key") + r.Header.Get("X-Goog-Api-Key")
	switch {
	case key != s.key:
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"error":{"type":"authentication_error","message":"invalid key"}}`)
	case !strings.HasSuffix(r.URL.Path, "/models") && !strings.HasSuffix(r.URL.Path, "/key"):
		http.NotFound(w, r)
	default:
		io.WriteString(w, `{"object":"list","data":[{"id":"an-embedding-model"},{"id":"first:8b","max_model_len":9000},{"id":"second"}]}`)
	}
}

// take checks a request and finds the reply to it.
func (s *modelServer) take(r *http.Request, body []byte) (*reply, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.whole = append(s.requests, brief(body)), append(s.whole, string(body))
	s.cache.take(body)
	newest, err := s.check(r, body)
	if err != nil {
		s.wrong = append(s.wrong, err.Error())
		return nil, err.Error()
	}
	for _, one := range s.replies {
		if one.used || one.when != "" && !strings.Contains(newest, one.when) {
			continue
		}
		one.used = !one.always
		if one.status == 0 && one.ending == "" {
			s.owe(one)
		}
		return one, ""
	}
	return nil, "no reply is left for " + newest
}

// check refuses what the vendor would refuse. newest is the last message.
func (s *modelServer) check(r *http.Request, body []byte) (newest string, err error) {
	if r.Method != "POST" || !matches(s.wire.path, r.URL.Path) {
		return "", fmt.Errorf("%s %s", r.Method, r.URL.Path)
	}
	if got := r.Header.Get(s.wire.header); got != s.wire.prefix+s.key {
		return "", fmt.Errorf("%s is %q", s.wire.header, got)
	}
	if strings.Contains(string(body)+r.URL.String(), s.key) {
		return "", errors.New("the key is in the request")
	}
	if newest, err = llmtest.CheckRequest(s.name, body); err != nil {
		return "", err
	}
	for what, signature := range s.debts {
		if strings.Contains(string(body), quoted(what)) && !strings.Contains(string(body), quoted(signature)) {
			return "", fmt.Errorf("%s came back without its signature %s", what, signature)
		}
	}
	return newest, nil
}

var toolName = regexp.MustCompile(`"name":"(\w+)"`)

// brief is a request of whose tools only the names are left, as offered: their
// descriptions hold many words that one may look for.
func brief(body []byte) string {
	var q map[string]json.RawMessage
	if json.Unmarshal(body, &q) != nil {
		return string(body)
	}
	var names []string
	for _, m := range toolName.FindAllSubmatch(q["tools"], -1) {
		names = append(names, string(m[1]))
	}
	delete(q, "tools")
	q["offered"], _ = json.Marshal(names)
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(q); err != nil {
		return string(body)
	}
	return out.String()
}

// owe remembers which signatures must come back with which words of ours.
func (s *modelServer) owe(one *reply) {
	if !s.wire.signs {
		return
	}
	signature := ""
	for _, p := range one.parts {
		switch {
		case p.kind == "think":
			signature = p.signature
		case p.kind == "call" && signature != "":
			s.debts[p.id] = signature
		case p.kind == "say" && len(p.pages) > 0 && s.wire.searches: // what was looked up comes back with what was said of it
			for _, other := range one.parts {
				if other.kind == "search" {
					s.debts[p.text] = other.id
				}
			}
		}
	}
}

// asked demands a text in a request, as it stands there.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	s := serverOf(ts)
	s.mu.Lock()
	defer s.mu.Unlock()
	found := false
	for i, body := range s.requests {
		if args[0] == "any" || args[0] == "last" && i == len(s.requests)-1 || args[0] == strconv.Itoa(i+1) {
			found = found || strings.Contains(body, args[1])
		}
	}
	if len(s.requests) == 0 {
		ts.Fatalf("nothing was asked")
	}
	if n, err := strconv.Atoi(args[0]); err == nil && n > len(s.requests) {
		ts.Fatalf("there were only %d requests", len(s.requests))
	}
	if found == neg {
		var all bytes.Buffer
		for i, body := range s.requests {
			fmt.Fprintf(&all, "%d: %.1500s\n", i+1, body)
		}
		ts.Fatalf("%q in request %s: %v, of\n%s", args[1], args[0], found, all.Bytes())
	}
}

// requestsAre demands how many requests came, and that all were acceptable.
func requestsAre(ts *testscript.TestScript, _ bool, args []string) {
	s := serverOf(ts)
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := strconv.Itoa(len(s.requests)); got != args[0] {
		ts.Fatalf("%s requests came", got)
	}
	for _, w := range s.wrong {
		ts.Fatalf("a request was not acceptable: %s", w)
	}
}

// printedPlainly demands that neither output of the last command holds anything
// that a terminal would obey.
func printedPlainly(ts *testscript.TestScript, _ bool, _ []string) {
	for _, name := range []string{"stdout", "stderr"} {
		if out := ts.ReadFile(name); text.Safe(out) != out {
			ts.Fatalf("%s would drive a terminal: %q", name, out)
		}
	}
}

// jsonLast is json for the last of several lines, each of which must be JSON.
func jsonLast(ts *testscript.TestScript, neg bool, args []string) {
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		if !json.Valid([]byte(line)) {
			ts.Fatalf("a line is not JSON: %s", line)
		}
	}
	all := lines(ts)
	if len(all) == 0 {
		ts.Fatalf("nothing was printed")
	}
	compare(ts, neg, all[len(all)-1], args)
}

func init() {
	commands["fixed"] = fixed // fixed TEXT NAME BYTES: what stands before every conversation, in the newest request with that text
}

// fixed demands that what a request holds before its conversation, the words of the system
// and the tools, is what testdata/fixed/NAME.txt shows, and takes no more than so many
// bytes. It reads the chat protocol, which has the most brackets of all.
func fixed(ts *testscript.TestScript, _ bool, args []string) {
	s := serverOf(ts)
	s.mu.Lock()
	requests := slices.Clone(s.whole)
	s.mu.Unlock()
	slices.Reverse(requests)
	i := slices.IndexFunc(requests, func(body string) bool { return strings.Contains(body, args[0]) })
	if i < 0 {
		ts.Fatalf("no request holds %q", args[0])
	}
	var q struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		Tools []json.RawMessage
	}
	ts.Check(json.Unmarshal([]byte(requests[i]), &q))
	var shown bytes.Buffer
	size := 0
	for _, m := range q.Messages {
		var words string
		if m.Role == "system" && json.Unmarshal(m.Content, &words) == nil {
			size += len(words)
			fmt.Fprintln(&shown, words)
		}
	}
	for _, t := range q.Tools {
		size += len(t) + len(",")
		var one struct {
			Function struct {
				Name, Description string
				Parameters        json.RawMessage
			}
		}
		ts.Check(json.Unmarshal(t, &one))
		fmt.Fprintf(&shown, "\n%s %s\n%s\n", one.Function.Name, one.Function.Parameters, one.Function.Description)
	}
	most, err := strconv.Atoi(args[2])
	ts.Check(err)
	if size > most {
		ts.Fatalf("%s: %d bytes stand before every conversation, over %d", args[1], size, most)
	}
	file := filepath.Join(fixedTexts, args[1]+".txt")
	if os.Getenv("RAMET_UPDATE") != "" {
		ts.Check(os.WriteFile(file, shown.Bytes(), 0o644))
	}
	want, err := os.ReadFile(file)
	ts.Check(err)
	if string(want) != shown.String() {
		ts.Fatalf("%s is told another text than %s shows; RAMET_UPDATE=1 writes it:\n%s", args[1], file, shown.String())
	}
}

// fixedTexts is where those texts lie; scripts run elsewhere.
var fixedTexts = func() string {
	dir, err := filepath.Abs(filepath.Join("testdata", "fixed"))
	if err != nil {
		panic(err)
	}
	return dir
}()
