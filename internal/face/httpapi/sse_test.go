package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/turn/loop"
)

func note(n int) loop.Event { return loop.Event{Type: loop.Note, Text: fmt.Sprint("note ", n)} }

// told are the texts of notes.
func told(all []received) (out []string) {
	for _, e := range all {
		if e.line.Type == loop.Note {
			out = append(out, e.line.Text)
		}
	}
	return out
}

func numbered(from, to int) (out []string) {
	for n := from; n <= to; n++ {
		out = append(out, note(n).Text)
	}
	return out
}

func isNote(n int) func(EventLine) bool {
	return func(l EventLine) bool { return l.Type == loop.Note && l.Text == note(n).Text }
}

// A reader whose connection is cut again and again, wherever, misses nothing and gets
// nothing twice.
func TestAStreamGoesOnWhereItWasCut(t *testing.T) {
	f := newFloor(t, ``)
	s := opened(t, f)
	w := s.watch(t, "", "")
	first, err := w.next() // a place to go on from, before anything happens
	if err != nil || first.data != "" || first.id == "" {
		t.Fatalf("%+v %v", first, err)
	}
	w.close()
	const last = 300
	var writing sync.WaitGroup
	writing.Go(func() {
		for n := 1; n <= last; n++ {
			f.Kernel.Events.Publish(note(n))
			if n%10 == 0 {
				f.say(t, f.zero.ID, fmt.Sprint(n))
			}
		}
	})
	var got []received
	cursor := first.id
	for cut := 1; ; cut++ {
		query, header := "?cursor="+cursor, ""
		if cut%2 == 0 { // the header counts, whatever the address says
			query, header = "?cursor="+first.id, cursor
		}
		w := s.watch(t, query, header)
		over := false
		for range cut % 13 {
			e := testkit.Must(w.next())(t)
			if e.data == "" {
				continue
			}
			got = append(got, e)
			if over = len(told(got)) == last && entries(got) == last/10; over {
				break
			}
		}
		if w.id != "" {
			cursor = w.id
		}
		w.close()
		if over {
			break
		}
	}
	writing.Wait()
	if texts := told(got); !slices.Equal(texts, numbered(1, last)) {
		t.Errorf("%q", texts)
	}
	seen := map[id.Message]bool{}
	var newest id.Message
	for _, e := range got {
		if m := e.line.Message; m != nil {
			if seen[m.ID] || m.ID < newest {
				t.Errorf("entry %d again, or late", m.ID)
			}
			seen[m.ID], newest = true, m.ID
		}
	}
}

func entries(all []received) (n int) {
	for _, e := range all {
		if e.line.Type == loop.Recorded {
			n++
		}
	}
	return n
}

// say writes behind the kernel's back, as another process would.
func (f *floor) say(t testing.TB, who id.Agent, text string) {
	d, err := history.Say(history.User, text)
	if err == nil {
		_, err = f.store.Append(context.Background(), who, agent.Passing(), d)
	}
	if err != nil {
		t.Error(err)
	}
}

func TestWhatIsGoneIsSaidToBe(t *testing.T) {
	f := newFloor(t, ``, func(o *EventsOptions) { o.Most = 10 })
	s := opened(t, f)
	w := s.watch(t, "", "")
	w.next()
	old := w.id
	w.close()
	for n := range 100 {
		f.Events.Publish(note(n))
	}
	newest := f.Events.cursor(100)
	for name, cursor := range map[string]string{"too old": old, "of another process": "0123456789ab-5", "from the future": f.Events.cursor(1 << 40)} {
		t.Run(name, func(t *testing.T) {
			w := s.watch(t, "?cursor="+cursor, "")
			e, err := w.next()
			var lost Lost
			if err != nil || e.name != "lost" || json.Unmarshal([]byte(e.data), &lost) != nil || lost.Type != "lost" || lost.Cursor != newest || e.id != newest {
				t.Fatalf("%+v %v", e, err)
			}
			if lost.Oldest != f.Events.cursor(90) {
				t.Errorf("%+v", lost)
			}
			// What is still kept can be had.
			again := s.watch(t, "?cursor="+lost.Oldest, "")
			if _, all := again.until(isNote(99)); !slices.Equal(told(all), numbered(90, 99)) {
				t.Errorf("%q", told(all))
			}
		})
	}
	// One that was told goes on with what happens then.
	w = s.watch(t, "?cursor="+old, "")
	if e, _ := w.next(); e.name != "lost" {
		t.Fatal(e)
	}
	f.Events.Publish(note(100))
	if _, all := w.until(isNote(100)); len(all) != 1 {
		t.Errorf("%+v", all)
	}
}

// Large events push out more of the old ones: bytes are bounded too.
func TestWhatIsKeptIsBounded(t *testing.T) {
	f := newFloor(t, ``, func(o *EventsOptions) { o.Bytes = 1 << 20 })
	for range 100 {
		f.Events.Publish(loop.Event{Type: loop.CallOutput, Text: strings.Repeat("x", 100<<10)})
	}
	f.Events.mu.Lock()
	defer f.Events.mu.Unlock()
	if n := f.Events.next - f.Events.first; f.Events.bytes > 1<<20 || n < 8 || n > 10 {
		t.Errorf("%d bytes in %d events", f.Events.bytes, n)
	}
}

func TestAnEventIsNeverHuge(t *testing.T) {
	f := newFloor(t, ``)
	s := opened(t, f)
	w := s.watch(t, "", "")
	huge := strings.Repeat("ü", 5<<20)
	args := testkit.Must(json.Marshal(map[string]string{"content": huge}))(t)
	d := history.Draft{Kind: history.Assistant, Parts: []history.Part{{Type: history.ToolCall, CallID: "1", Name: "write", Args: args}}}
	e := testkit.Must(f.store.Append(t.Context(), f.zero.ID, agent.Passing(), d))(t)
	f.Events.Publish(loop.Event{Type: loop.TurnEnded, Agent: f.zero.ID, Outcome: &loop.Outcome{Text: huge}})
	for range 2 {
		_, all := w.until(func(l EventLine) bool { return l.Type == loop.TurnEnded || l.Type == loop.Recorded })
		one := all[len(all)-1]
		if len(one.data) > maxLine || !one.line.Cut {
			t.Errorf("%s has %d bytes", one.line.Type, len(one.data))
		}
	}
	var page MessagePage
	s.good(t, "GET", "/api/v1/agents/0/messages", nil, 200, &page)
	if last := page.Messages[len(page.Messages)-1]; len(last.Parts) > maxLine || !strings.Contains(string(last.Parts), `"cut":true`) {
		t.Errorf("%.200s", last.Parts)
	}
	var got strings.Builder
	for offset := int64(0); ; {
		var part PartContent
		s.good(t, "GET", fmt.Sprintf("/api/v1/agents/0/messages/%d/parts/0?offset=%d", e[0].ID, offset), nil, 200, &part)
		got.WriteString(part.Text)
		if part.Next == nil {
			break
		}
		offset = *part.Next
	}
	if got.String() != string(args) {
		t.Errorf("%d bytes", got.Len())
	}
}

func TestOnlyWhoIsWatchedIsTold(t *testing.T) {
	f := newFloor(t, ``)
	s := opened(t, f)
	ada := f.child(t, f.zero.ID, "ada")
	bob := f.child(t, f.zero.ID, "bob")
	kid := f.child(t, ada, "kid")
	one, tree := s.watch(t, "?agent=ada", ""), s.watch(t, "?agent=ada&subtree=1", "")
	one.next()
	tree.next()
	late := f.child(t, kid, "late")
	for _, who := range []id.Agent{bob, late, kid, f.zero.ID, ada} {
		f.Kernel.Events.Publish(loop.Event{Type: loop.TextDelta, Agent: who, Text: "x"})
	}
	f.Kernel.Events.Publish(note(1)) // of the kernel: for everybody
	spoke := func(w *listener) (out []id.Agent) {
		_, all := w.until(isNote(1))
		for _, e := range all {
			if e.line.Type == loop.TextDelta {
				out = append(out, e.line.Agent)
			}
		}
		return out
	}
	if got := spoke(one); !slices.Equal(got, []id.Agent{ada}) {
		t.Errorf("%v", got)
	}
	if got := spoke(tree); !slices.Equal(got, []id.Agent{late, kid, ada}) {
		t.Errorf("%v", got)
	}
}

// A reader that wants little still knows how far it is, so that it is not said to have
// lost what it did not want.
func TestASilentStreamMoves(t *testing.T) {
	f := newFloor(t, ``, func(o *EventsOptions) { o.Most, o.Beat = 10, 5*time.Millisecond })
	s := opened(t, f)
	f.child(t, f.zero.ID, "kid")
	w := s.watch(t, "?agent=kid", "")
	for range 20 {
		for n := range 5 {
			f.Events.Publish(loop.Event{Type: loop.TextDelta, Agent: f.zero.ID, Text: fmt.Sprint(n)})
		}
		_, newest := f.Events.bounds()
		for at := int64(-1); at < newest; at, _, _ = f.Events.place(w.id) {
			e, err := w.next()
			if err != nil || e.name == "lost" {
				t.Fatalf("%+v %v", e, err)
			}
		}
	}
}

// What another process writes is told too, and what both tell only once.
func TestOtherProcessesAreTold(t *testing.T) {
	f := newFloor(t, `{"repeat": true, "steps": [{"text": "yes"}]}`)
	s := opened(t, f)
	w := s.watch(t, "", "")
	other := testkit.Must(sqlite.Open(t.Context(), f.db, sqlite.Options{Cwd: "/"}))(t)
	defer other.Close()
	kid := id.NewAgent()
	testkit.Must(other.Fork(t.Context(), registry.Fork{Parent: f.zero.ID, Claim: agent.Passing(), Children: []registry.Child{{ID: kid, Name: "kid"}}}))(t)
	testkit.Must(other.Send(t.Context(), registry.Send{To: kid, Body: "dear"}))(t)
	for range 20 {
		turn := testkit.Must(f.Kernel.Exec(t.Context(), f.zero.ID, promptOf("again")))(t)
		testkit.Must(turn.Wait())(t)
	}
	testkit.Must(other.Kill(t.Context(), registry.Kill{Agent: kid, Reason: "over"}))(t)
	_, all := w.until(func(l EventLine) bool { return l.Message != nil && l.Message.Kind == history.Killed })
	kinds := map[id.Agent]string{}
	seen := map[id.Message]bool{}
	letters := 0
	for _, e := range all {
		if m := e.line.Message; m != nil {
			if seen[m.ID] {
				t.Errorf("entry %d twice", m.ID)
			}
			seen[m.ID] = true
			kinds[m.Agent] += string(m.Kind) + " "
		}
		if e.line.Type == loop.Mailed {
			letters++
		}
	}
	// What another process wrote comes by the feed, and may come after our own.
	if kinds[kid] != "fork killed " || strings.Count(kinds[f.zero.ID], "fork ") != 1 ||
		strings.Replace(kinds[f.zero.ID], "fork ", "", 1) != strings.Repeat("user assistant usage ", 20) || letters != 1 {
		t.Errorf("%q, %d letters", kinds, letters)
	}
}

func TestEventsEndWithTheirReaders(t *testing.T) {
	f := newFloor(t, ``)
	s := opened(t, f)
	var all []*listener
	for range 20 {
		all = append(all, s.watch(t, "", ""))
	}
	for _, w := range all[:10] {
		w.close()
	}
	f.Events.Stop() // and the rest ends by itself
	for _, w := range all[10:] {
		for {
			if _, err := w.next(); err != nil {
				break
			}
		}
	}
} // goleak looks whether something is left

// deaf opens a stream and does not read it.
func (s *site) deaf(t testing.TB) net.Conn {
	c := s.raw(t)
	fmt.Fprintf(c, "GET /api/v1/events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", s.host, s.token)
	return c
}

// One that does not read is cut with a word, when it reads again in time; nobody waits
// for it.
func TestASlowReaderIsCut(t *testing.T) {
	f := newFloor(t, ``, func(o *EventsOptions) { o.Most = 100 })
	s := opened(t, f)
	c := s.deaf(t)
	quick := s.watch(t, "", "")
	quick.next()
	s.streams(t, 2)
	big := strings.Repeat("x", 64<<10)
	for n := range 300 { // 19 MB: more than sockets hold
		f.Events.Publish(loop.Event{Type: loop.CallOutput, Agent: f.zero.ID, Text: big, CallID: fmt.Sprint(n)})
		quick.until(func(l EventLine) bool { return l.CallID == fmt.Sprint(n) })
	}
	c.SetReadDeadline(time.Now().Add(patience))
	text, err := readUntil(c, "\r\n0\r\n\r\n") // the end of the answer
	if end := text[max(0, len(text)-400):]; err != nil || !strings.Contains(end, "event: lost\nid: "+f.Events.cursor(300)+"\n") {
		t.Errorf("%v %q", err, end)
	}
}

// streams waits until so many are open.
func (s *site) streams(t testing.TB, n int64) {
	testkit.WaitUntil(t, fmt.Sprint(n, " streams are open"), func() bool { return s.counts.streams.Load() == n })
}

func readUntil(in io.Reader, mark string) (string, error) {
	var all strings.Builder
	buffer := make([]byte, 64<<10)
	for {
		n, err := in.Read(buffer)
		all.Write(buffer[:n])
		text := all.String()
		tail := text[max(0, len(text)-n-len(mark)):]
		if strings.Contains(tail, mark) || err != nil {
			return text, err
		}
		if all.Len() > 4<<20 { // only the end matters
			all.Reset()
			all.WriteString(tail)
		}
	}
}

func FuzzCursor(f *testing.F) {
	for _, seed := range []string{"", "x", "0123456789ab-1", "0123456789ab--1", "-", "0123456789ab-01", "0123456789ab-9223372036854775808", "é-1"} {
		f.Add(seed)
	}
	e := &Events{epoch: "0123456789ab", kept: make([]happening, 4), first: 3, next: 6, box: new(loop.EventBus).Box(f.Context())}
	f.Fuzz(func(t *testing.T, cursor string) {
		at, late, err := e.place(cursor)
		if err != nil {
			return
		}
		if at < 2 || at > 5 || !late && cursor != "" && e.cursor(at) != cursor {
			t.Errorf("%q is %d, %v", cursor, at, late)
		}
		if _, _, late, _ := e.after(at); late {
			t.Errorf("%q cannot be gone on from", cursor)
		}
	})
}

// feedOf is a feed in which nothing stands.
type feedOf struct{}

func (feedOf) Changes(_ context.Context, c registry.Cursor, _ int) ([]registry.Change, registry.Cursor, error) {
	return nil, c, nil
}
func (feedOf) Latest(context.Context) (registry.Cursor, error) { return "", nil }

func TestAFeedThatFailsIsToldOnce(t *testing.T) {
	var b loop.EventBus
	broken := &brokenFeed{left: 5, over: make(chan struct{})}
	e := testkit.Must(StartEvents(t.Context(), EventsOptions{Bus: &b, Feed: broken, Look: time.Millisecond}))(t)
	<-broken.over
	e.Stop()
	if _, newest := e.bounds(); newest != 1 {
		t.Errorf("%d events", newest)
	}
}

type brokenFeed struct {
	feedOf
	left int
	over chan struct{}
}

func (f *brokenFeed) Changes(_ context.Context, c registry.Cursor, _ int) ([]registry.Change, registry.Cursor, error) {
	if f.left--; f.left == 0 {
		close(f.over)
	}
	return nil, c, http.ErrServerClosed
}

// Nobody is woken for each word, and yet no word is late: whoever looks is told of all that was
// published, and whoever waits is woken by the next, however long nobody looked.
func TestWhatIsPublishedIsThereForWhoLooks(t *testing.T) {
	var here loop.EventBus
	e := testkit.Must(StartEvents(t.Context(), EventsOptions{Bus: &here, Feed: feedOf{}, Look: time.Hour, Pace: time.Hour}))(t)
	defer e.Stop()
	at := int64(0)
	for range 200 {
		word := loop.Event{Type: loop.TextDelta, Agent: "a", Text: "word "}
		here.Publish(word)
		here.Publish(word)
		batch, last, _, _ := e.after(at)
		if len(batch) != 2 || !strings.Contains(string(batch[1].text), "word") {
			t.Fatalf("%d of two events are there", len(batch))
		}
		_, _, _, wake := e.after(last)
		here.Publish(word)
		<-wake
		if batch, at, _, _ = e.after(last); len(batch) != 1 {
			t.Fatalf("%d of one event are there", len(batch))
		}
	}
}

// A reader that names no place begins behind what was published before it came.
func TestANewReaderBeginsBehindWhatWasPublished(t *testing.T) {
	var b loop.EventBus
	e := testkit.Must(StartEvents(t.Context(), EventsOptions{Bus: &b, Feed: feedOf{}, Look: time.Hour, Pace: time.Hour}))(t)
	defer e.Stop()
	for n := range int64(100) {
		b.Publish(note(1))
		if at, _, _ := e.place(""); at != n+1 {
			t.Fatalf("it begins behind event %d of %d", at, n+1)
		}
	}
}

// So many readers watch and no more; who leaves makes room.
func TestSoManyStreamsAndNoMore(t *testing.T) {
	f := newFloor(t, ``, func(o *EventsOptions) { o.Readers = 2 })
	s := opened(t, f)
	first, _ := s.watch(t, "", ""), s.watch(t, "", "")
	s.streams(t, 2)
	s.ask(t, "GET", "/api/v1/events", nil).refused(t, 429, "CONFLICT")
	first.close()
	s.streams(t, 1)
	s.watch(t, "", "")
}
