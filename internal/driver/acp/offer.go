package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/driver"
)

// begun is what a program says of a session that it began. The four methods answer alike.
type begun struct {
	SessionID string `json:"sessionId"`
	Modes     *struct {
		Current   string  `json:"currentModeId"`
		Available []named `json:"availableModes"`
	} `json:"modes"`
	Models *struct {
		Current   string  `json:"currentModelId"`
		Available []named `json:"availableModels"`
	} `json:"models"`
	Options []option `json:"configOptions"`
}

// named is one of several that can be chosen; which of the ids it has depends on what it is.
type named struct {
	ID          string `json:"id"`
	ModelID     string `json:"modelId"`
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Input       *struct {
		Hint string `json:"hint"`
	} `json:"input"`
	Options []named `json:"options"` // of a group
}

// choices are those of a list, and of the groups in it.
func choices(all []named) []driver.Choice {
	var out []driver.Choice
	for _, n := range all {
		if len(n.Options) > 0 {
			out = append(out, choices(n.Options)...)
			continue
		}
		c := driver.Choice{Word: cmp.Or(n.ID, n.ModelID, n.Value, n.Name), Title: n.Name, About: n.Description}
		if n.Input != nil {
			c.Hint = cmp.Or(n.Input.Hint, "…")
		}
		out = append(out, c)
	}
	return out
}

// option is a setting of a session. Its value is a word, or a yes or no.
type option struct {
	ID       string          `json:"id"`
	Category string          `json:"category"`
	Current  json.RawMessage `json:"currentValue"`
	Options  json.RawMessage `json:"options"`
}

// is says whether the option is the one for modes, models or efforts.
func (o option) is(what string) bool { return o.Category == what || o.ID == what }

func (o option) offer() (now string, all []driver.Choice) {
	var list []named
	if json.Unmarshal(o.Current, &now) != nil || json.Unmarshal(o.Options, &list) != nil {
		return "", nil
	}
	return now, choices(list)
}

// What can be chosen, as categories of options name it.
const (
	aMode    = "mode"
	aModel   = "model"
	anEffort = "thought_level"
)

// offer is what can be chosen in a session that began.
func (b begun) offer(version string) driver.Offer {
	out := driver.Offer{Version: version}
	if b.Modes != nil {
		out.Mode, out.Modes = b.Modes.Current, choices(b.Modes.Available)
	}
	if b.Models != nil {
		out.Model, out.Models = b.Models.Current, choices(b.Models.Available)
	}
	for _, o := range b.Options {
		now, all := o.offer()
		switch {
		case o.is(aMode) && b.Modes == nil:
			out.Mode, out.Modes = now, all
		case o.is(aModel) && b.Models == nil:
			out.Model, out.Models = now, all
		case o.is(anEffort):
			out.Effort, out.Efforts = now, all
		}
	}
	return out
}

// Offer implements driver.Session.
func (s *session) Offer() driver.Offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offer
}

// Choose implements driver.Session. A mode in which the program asks less, or more, needs another box
// around it.
func (s *session) Choose(ctx context.Context, w driver.Wish) (bool, error) {
	was := s.About().Wish
	if s.program.Asks(w.Mode) != s.program.Asks(was.Mode) || w.Model == "" && was.Model != "" || w.Effort == "" && was.Effort != "" ||
		w.Mode == "" && was.Mode != "" && s.program.Mode == "" {
		return false, nil
	}
	s.mu.Lock()
	s.about.Wish = w
	s.mu.Unlock()
	return true, s.work(ctx, w)
}

// work puts the session into a mode, and chooses a model and an effort.
func (s *session) work(ctx context.Context, w driver.Wish) error {
	if mode := cmp.Or(w.Mode, s.program.Mode); mode != "" {
		if err := s.set(ctx, aMode, mode); err != nil {
			return err
		}
	}
	if w.Model != "" {
		if err := s.set(ctx, aModel, w.Model); err != nil {
			return err
		}
	}
	if w.Effort != "" && driver.Has(s.Offer().Efforts, w.Effort) { // who has no such word thinks as it likes
		return s.set(ctx, anEffort, w.Effort)
	}
	return nil
}

// set chooses a mode, a model or an effort, in whichever way the program offers.
func (s *session) set(ctx context.Context, what, value string) error {
	s.mu.Lock()
	id, made := sdk.SessionId(s.about.Session), s.made
	now := map[string]*string{aMode: &s.offer.Mode, aModel: &s.offer.Model, anEffort: &s.offer.Effort}[what]
	same := *now == value
	s.mu.Unlock()
	if same {
		return nil
	}
	at := slices.IndexFunc(made.Options, func(o option) bool { return o.is(what) })
	var err error
	switch {
	case at >= 0 && !(what == aMode && made.Modes != nil) && !(what == aModel && made.Models != nil):
		req := sdk.SetSessionConfigOptionRequest{ValueId: &sdk.SetSessionConfigOptionValueId{ConfigId: sdk.SessionConfigId(made.Options[at].ID), SessionId: id, Value: sdk.SessionConfigValueId(value)}}
		err = s.conn.Call(ctx, sdk.AgentMethodSessionSetConfigOption, req, nil)
	case what == aModel:
		err = s.conn.Call(ctx, sdk.AgentMethodSessionSetModel, sdk.UnstableSetSessionModelRequest{ModelId: sdk.UnstableModelId(value), SessionId: id}, nil)
	default:
		err = s.conn.Call(ctx, sdk.AgentMethodSessionSetMode, sdk.SetSessionModeRequest{ModeId: sdk.SessionModeId(value), SessionId: id}, nil)
	}
	if err != nil {
		return s.refused(what, value, err)
	}
	s.mu.Lock()
	*now = value
	s.mu.Unlock()
	return nil
}

// offers takes what a program tells of its session: what can be chosen, and what it chose itself.
func (s *session) offers(kind string, raw json.RawMessage) bool {
	var u struct {
		Commands []named  `json:"availableCommands"`
		Mode     string   `json:"currentModeId"`
		Options  []option `json:"configOptions"`
	}
	if json.Unmarshal(raw, &u) != nil {
		return false
	}
	s.mu.Lock()
	was := s.offer.Mode
	switch kind {
	case "available_commands_update":
		s.offer.Commands = choices(u.Commands)
	case "current_mode_update":
		s.offer.Mode = u.Mode
	case "config_option_update":
		now := begun{Modes: s.made.Modes, Models: s.made.Models, Options: u.Options}.offer(s.offer.Version)
		if s.made.Modes != nil { // those tell themselves
			now.Mode = was
		}
		if s.made.Models != nil {
			now.Model = s.offer.Model
		}
		s.offer = now.Or(s.offer)
	}
	mode, settled := s.offer.Mode, s.on != nil
	s.mu.Unlock()
	if settled && mode != was && mode != "" {
		s.moved(mode)
	}
	return true
}

// moved takes that the program went into another mode by itself. Outside of the box it stays in
// those in which it asks.
func (s *session) moved(mode string) {
	about := s.About()
	if s.program.Asks(mode) || about.Boxed || !about.Asks {
		s.mu.Lock()
		s.about.Wish.Mode = mode
		s.mu.Unlock()
		s.tell(driver.Update{Type: driver.Moved, Text: mode})
		return
	}
	back := cmp.Or(about.Wish.Mode, s.program.Mode)
	s.odd("it went into its mode " + mode + ", in which it does not ask, and is put back")
	if back == "" {
		return
	}
	go func() { // who reads cannot wait for an answer
		ctx, cancel := context.WithTimeout(context.Background(), startTime)
		defer cancel()
		s.set(ctx, aMode, back) // a program that does not take it is as before
	}()
}
