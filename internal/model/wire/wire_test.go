package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

func TestScanReadsServerSentEvents(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain":           {"event: a\ndata: 1\n\ndata: 2\n\n", "[a|1] [|2]"},
		"CR LF":           {"event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", "[a|1] [|2]"},
		"CR":              {"event: a\rdata: 1\r\rdata: 2\r\r", "[a|1] [|2]"},
		"byte order mark": {"\ufeffdata: 1\n\n", "[|1]"},
		"comments":        {": hi\n\n:\ndata: 1\nid: 7\nretry: 3\n\n", "[|1]"},
		"several lines":   {"data: a\ndata:b\ndata\n\n", "[|a\nb\n]"},
		"no data":         {"event: a\n\ndata: 1\n\n", "[|1]"},
		"empty data":      {"data:\n\nevent: ping\ndata: \n\ndata: 1\n\ndata\n\n", "[|1]"},
		"not ended":       {"data: 1\n\ndata: 2\n", "[|1]"},
		"nothing":         {"", ""},
		"one space only":  {"data:  a \n\n", "[| a ]"},
	} {
		for _, in := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
			var err error
			var got []string
			for event, data := range scanEvents(in, &err) {
				got = append(got, fmt.Sprintf("[%s|%s]", event, data))
			}
			if s := strings.Join(got, " "); s != c.want || err != nil {
				t.Errorf("%s: %q %v, want %q", name, s, err, c.want)
			}
		}
	}
	var err error
	for range scanEvents(iotest.ErrReader(io.ErrUnexpectedEOF), &err) {
		t.Error("an event of nothing")
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

// endless is a stream that never ends a line, or never ends.
type endless string

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e[i%len(e)]
	}
	return len(p), nil
}

type answers func() io.Reader

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(a())}, nil
}

// deaf passes over everything.
type deaf struct{}

func (deaf) Next(string, []byte) ([]llm.Event, bool, error) { return nil, false, nil }
func (deaf) Close() (_ []llm.Event, _ llm.Finish, ok bool)  { return }

func TestMemoryIsBounded(t *testing.T) {
	for name, in := range map[string]io.Reader{
		"a line without end":      endless("x"),
		"an event without end":    endless("data: " + strings.Repeat("x", 1018) + "\n"),
		"an answer without end":   endless(":" + strings.Repeat("x", 1021) + "\n\n"),
		"an answer of line feeds": endless("\n"),
	} {
		most := int64(MaxEvent + 1<<20)
		if strings.HasPrefix(name, "an answer") {
			most = 1 << 20
		}
		c := &Client{Options: Options{Vendor: "v", Base: "http://h", HTTP: answers(func() io.Reader { return in })}, most: most}
		events := slices.Collect(c.Stream(t.Context(), llm.Bytes{}, deaf{}))
		if last := events[len(events)-1]; !fault.Is(last.Err, fault.ProviderProtocol) || !strings.Contains(last.Err.Error(), "more than") {
			t.Errorf("%s: %v", name, last.Err)
		}
	}
}

func TestPartsKeepTheirOrder(t *testing.T) {
	p := Parts{Origin: "o"}
	a, b := p.OpenCall("1", "x"), p.OpenCall("2", "y")
	empty, text := p.Open(llm.Text), p.Open(llm.Text)
	p.Add(b, "{")
	p.Add(a, `{"a":1}`)
	p.Add(b, "}")
	p.Done(b)
	p.Add(b, "too late")
	p.Add(text, "hi")
	p.Done(empty)
	if got := done(p.Take()); len(got) != 0 {
		t.Errorf("done before the first: %v", got)
	}
	p.Done(a)
	p.DoneAll()
	got := done(p.Take())
	if len(got) != 3 || got[0].CallID != "1" || got[1].CallID != "2" || string(got[1].Args) != "{}" || got[2].Text != "hi" {
		t.Errorf("%+v", got)
	}
	p.DoneAll()
	if got := p.Take(); len(got) != 0 {
		t.Errorf("done twice: %+v", got)
	}
}

func done(events []llm.Event) []llm.Part {
	var out []llm.Part
	for _, e := range events {
		if e.Type == llm.Done {
			out = append(out, *e.Part)
		}
	}
	return out
}

func TestCallIDsFitEverybody(t *testing.T) {
	for _, same := range []string{"call_a", "toolu_01A-b", NewCallID()} {
		if CallID(same) != same {
			t.Errorf("%s became %s", same, CallID(same))
		}
	}
	for _, odd := range []string{"", "functions.read:0", strings.Repeat("x", 41), "ü"} {
		if id := CallID(odd); id == odd || CallID(id) != id || CallID(odd) != id {
			t.Errorf("%q became %q", odd, id)
		}
	}
	one, two := NewCallID(), NewCallID()
	if !IsDrawn(one) || one == two || IsDrawn("call_a") {
		t.Error("drawn ids")
	}
}

// A count that cannot be one is the vendor's fault, and told as such: else the store refuses it, when the
// answer is there.
func TestImpossibleCountsAreRefused(t *testing.T) {
	for _, c := range []struct {
		n  int64
		ok bool
	}{{0, true}, {1 << 32, true}, {-1, false}, {1<<32 + 1, false}, {1 << 62, false}} {
		var last llm.Event
		yield := (&Client{Options: Options{Vendor: "v", Base: "http://x"}}).counted(func(e llm.Event) bool { last = e; return true })
		if yield(llm.Event{Type: llm.Used, Usage: &llm.Usage{Output: c.n}}); (last.Type == llm.Used) != c.ok || !c.ok && !fault.Is(last.Err, fault.ProviderProtocol) {
			t.Errorf("%d: %+v", c.n, last)
		}
	}
}

// inFrame writes a frame as Amazon does.
func inFrame(headers [][2]string, payload string) []byte {
	var head []byte
	for _, h := range headers {
		head = append(append(append(head, byte(len(h[0]))), h[0]...), 7)
		head = append(binary.BigEndian.AppendUint16(head, uint16(len(h[1]))), h[1]...)
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(16+len(head)+len(payload)))
	out = binary.BigEndian.AppendUint32(out, uint32(len(head)))
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
	out = append(append(out, head...), payload...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}

func chunkOf(event string) []byte {
	payload, _ := json.Marshal(map[string]string{"bytes": base64.StdEncoding.EncodeToString([]byte(event))})
	return inFrame([][2]string{{":event-type", "chunk"}, {":message-type", "event"}}, string(payload))
}

// words ends with the event END.
type words struct{ said string }

func (w *words) Next(_ string, data []byte) ([]llm.Event, bool, error) {
	w.said += string(data)
	return nil, false, nil
}

func (w *words) Close() ([]llm.Event, llm.Finish, bool) {
	return nil, llm.Finish{Reason: llm.Stop, Raw: "END"}, strings.HasSuffix(w.said, "END")
}

type recorded []byte

func (a recorded) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {framed}}, Body: io.NopCloser(bytes.NewReader(a))}, nil
}

func hearFrames(t *testing.T, text []byte) (string, error) {
	t.Helper()
	c := &Client{Options: Options{Vendor: "v", Base: "http://h", HTTP: recorded(text)}}
	w := &words{}
	_, _, _, err := llm.Collect(c.Stream(t.Context(), llm.Bytes{Path: "/"}, w))
	return w.said, err
}

func TestFrames(t *testing.T) {
	whole := append(append(chunkOf("a"), inFrame([][2]string{{":event-type", "ping"}}, "{}")...), chunkOf("END")...)
	if said, err := hearFrames(t, whole); err != nil || said != "aEND" {
		t.Fatalf("%q %v", said, err)
	}
	for n := range whole {
		if _, err := hearFrames(t, whole[:n]); !fault.Is(err, fault.StreamCut) {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
	}
	for i := range whole {
		broken := bytes.Clone(whole)
		broken[i] ^= 0x10
		if _, err := hearFrames(t, broken); !fault.Is(err, fault.ProviderProtocol) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
}

func TestExceptionsInFrames(t *testing.T) {
	for name, code := range map[string]fault.Code{
		"throttlingException": fault.ProviderRateLimit, "serviceUnavailableException": fault.ProviderOverloaded,
		"validationException": fault.ProviderBadRequest, "internalServerException": fault.ProviderOverloaded,
	} {
		text := append(chunkOf("a"), inFrame([][2]string{{":message-type", "exception"}, {":exception-type", name}}, `{"message":"no more"}`)...)
		if _, err := hearFrames(t, text); !fault.Is(err, code) || !strings.Contains(err.Error(), "no more") {
			t.Errorf("%s: %s %v", name, fault.CodeOf(err), err)
		}
	}
}
