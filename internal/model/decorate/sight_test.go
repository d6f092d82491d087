package decorate

import (
	"context"
	"iter"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
)

// vendor refuses requests with parts that it does not like, and remembers what it was sent.
type vendor struct {
	refuses func(llm.Part) bool
	saw     []llm.Request
}

func (v *vendor) Stream(_ context.Context, r llm.Request) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		v.saw = append(v.saw, r)
		if !yield(llm.Event{Type: llm.Sent}) {
			return
		}
		for _, m := range r.Messages {
			for _, p := range m.Parts {
				if v.refuses(p) {
					yield(llm.Fail(fault.New(fault.ProviderBadRequest, "could not process %s", p.MediaType)))
					return
				}
			}
		}
		_ = yield(llm.Event{Type: llm.TextDelta, Text: "ok"}) &&
			yield(llm.Event{Type: llm.Done, Part: &llm.Part{Type: llm.Text, Text: "ok"}}) &&
			yield(llm.Event{Type: llm.Finished, Finish: llm.Finish{Reason: llm.Stop}})
	}
}

func (v *vendor) last() string {
	var out []string
	for _, m := range v.saw[len(v.saw)-1].Messages {
		for _, p := range m.Parts {
			if p.Type == llm.Text {
				out = append(out, p.Text)
			} else {
				out = append(out, "<"+string(p.Type)+" "+p.Name+">")
			}
		}
	}
	return strings.Join(out, "|")
}

func image(name string) llm.Part {
	return llm.Part{Type: llm.Image, Name: name, MediaType: "image/png", Data: []byte("data of " + name)}
}

var paper = llm.Part{Type: llm.Document, Name: "a.pdf", MediaType: "application/pdf", Data: []byte("%PDF-")}

func said(parts ...llm.Part) llm.Request {
	return llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.User, Parts: append([]llm.Part{{Type: llm.Text, Text: "look"}}, parts...)}}}
}

func askSight(t *testing.T, p llm.Provider, r llm.Request) error {
	t.Helper()
	m, _, _, err := llm.Collect(p.Stream(t.Context(), r))
	if err == nil && m.Text() != "ok" {
		t.Error(m)
	}
	return err
}

func TestABlindModelIsToldSo(t *testing.T) {
	for name, c := range map[string]struct {
		model llm.Model
		want  string
	}{
		"blind":    {llm.Model{Known: true}, "look|[a.png, image/png of 13 bytes, which the model that you are cannot see]|[a.pdf, application/pdf of 5 bytes, which the model that you are cannot read]"},
		"sees":     {llm.Model{Known: true, Images: true}, "look|<image a.png>|[a.pdf, application/pdf of 5 bytes, which the model that you are cannot read]"},
		"reads":    {llm.Model{Known: true, Images: true, PDF: true}, "look|<image a.png>|<document a.pdf>"},
		"stranger": {llm.Model{}, "look|<image a.png>|[a.pdf, application/pdf of 5 bytes, which the model that you are cannot read]"},
	} {
		v := &vendor{refuses: func(llm.Part) bool { return false }}
		r := said(image("a.png"), paper)
		if err := askSight(t, WithSight(v, func(string) llm.Model { return c.model }), r); err != nil || v.last() != c.want || len(v.saw) != 1 {
			t.Errorf("%s: %v %s", name, err, v.last())
		}
		if r.Messages[0].Parts[1].Type != llm.Image {
			t.Error("the request was changed")
		}
	}
}

// One bad image does not end the conversation, and good ones stay.
func TestWhatAVendorRefusesIsLeftOut(t *testing.T) {
	v := &vendor{refuses: func(p llm.Part) bool { return p.Name == "bad.png" }}
	p := WithSight(v, func(string) llm.Model { return llm.Model{Known: true, Images: true} })
	testkit.OK(t, askSight(t, p, said(image("good.png"))))
	want := "look|<image good.png>|[bad.png, image/png of 15 bytes, which your vendor did not take]"
	if err := askSight(t, p, said(image("good.png"), image("bad.png"))); err != nil || v.last() != want || len(v.saw) != 3 {
		t.Fatal(err, v.last(), len(v.saw))
	}
	if err := askSight(t, p, said(image("good.png"), image("bad.png"))); err != nil || v.last() != want || len(v.saw) != 4 {
		t.Fatal(err, v.last(), len(v.saw))
	}
}

func TestOtherRefusalsArePassedOn(t *testing.T) {
	v := &vendor{refuses: func(p llm.Part) bool { return p.Type == llm.Text }}
	p := WithSight(v, func(string) llm.Model { return llm.Model{Known: true, Images: true} })
	if err := askSight(t, p, said(image("a.png"))); !fault.Is(err, fault.ProviderBadRequest) || len(v.saw) != 2 {
		t.Fatal(err, len(v.saw))
	}
	if err := askSight(t, p, said()); !fault.Is(err, fault.ProviderBadRequest) || len(v.saw) != 3 {
		t.Fatal(err, len(v.saw))
	}
}

func TestWhoBreaksOffIsLeftAlone(t *testing.T) {
	v := &vendor{refuses: func(llm.Part) bool { return true }}
	p := WithSight(v, func(string) llm.Model { return llm.Model{} })
	for range p.Stream(t.Context(), said(image("a.png"))) {
		break
	}
	if len(v.saw) != 1 {
		t.Error(len(v.saw))
	}
}
