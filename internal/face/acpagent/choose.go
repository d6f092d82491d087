package acpagent

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
	"ramet/internal/turn/permit"
)

var noModel llm.Ref

// choices lists what the editor's user can choose for a session.
type choices struct {
	modes   *sdk.SessionModeState
	models  *sdk.SessionModelState // nil: no model can be asked
	options []sdk.SessionConfigOption
}

const (
	modeOption   = "mode"
	modelOption  = "model"
	effortOption = "effort"
)

var modeAbout = map[permit.Mode]string{
	permit.Ask:      "Reads unasked; commands and changes are asked for, unless a rule permits them",
	permit.Edits:    "Changes of files in the project run unasked; commands are asked for",
	permit.Box:      "Commands run unasked in a box: they write only in the project, without network",
	permit.ReadOnly: "Nothing is changed: it looks, and plans",
}

// choices reads what can be chosen, and what is.
func (c *conversation) choices(ctx context.Context) (out choices, err error) {
	a, err := c.Store.Agent(ctx, c.agent)
	if err != nil {
		return out, err
	}
	standing, err := c.Turns().Standing(ctx, a)
	if err != nil {
		return out, err
	}
	out.modes = &sdk.SessionModeState{CurrentModeId: sdk.SessionModeId(standing.Mode)}
	var modes, models, efforts sdk.SessionConfigSelectOptionsUngrouped
	for _, m := range permit.Modes() {
		about := modeAbout[m]
		out.modes.AvailableModes = append(out.modes.AvailableModes, sdk.SessionMode{Id: sdk.SessionModeId(m), Name: m.Title(), Description: &about})
		modes = append(modes, sdk.SessionConfigSelectOption{Value: sdk.SessionConfigValueId(m), Name: m.Title(), Description: &about})
	}
	program, err := c.Programs().Program(ctx, a)
	if err != nil {
		return out, err
	}
	if program != nil { // its own modes can be chosen beside ours; which of ours it is stays in force
		for _, m := range program.Modes {
			word, title, about := program.Driver+":"+m.Word, program.Driver+": "+m.Title, m.About
			out.modes.AvailableModes = append(out.modes.AvailableModes, sdk.SessionMode{Id: sdk.SessionModeId(word), Name: title, Description: &about})
			modes = append(modes, sdk.SessionConfigSelectOption{Value: sdk.SessionConfigValueId(word), Name: title, Description: &about})
		}
	}
	out.options = append(out.options, option(modeOption, "Mode", sdk.SessionConfigOptionCategoryMode, string(standing.Mode), modes))
	c.mu.Lock()
	chosen := c.model
	c.mu.Unlock()
	if now, err := c.Models().Model(a, chosen); err == nil {
		out.models = &sdk.SessionModelState{CurrentModelId: sdk.ModelId(now.Ref.String())}
		for _, m := range c.offered(now.Ref) {
			out.models.AvailableModels = append(out.models.AvailableModels, sdk.ModelInfo{ModelId: sdk.ModelId(m.ref), Name: m.title})
			models = append(models, sdk.SessionConfigSelectOption{Value: sdk.SessionConfigValueId(m.ref), Name: m.title})
		}
		out.options = append(out.options, option(modelOption, "Model", sdk.SessionConfigOptionCategoryModel, now.Ref.String(), models))
	}
	effort, err := c.Models().Effort(ctx, a)
	if err != nil {
		return out, err
	}
	word := string(effort.Word.Or(llm.Usual))
	for _, e := range llm.Efforts() {
		efforts = append(efforts, sdk.SessionConfigSelectOption{Value: sdk.SessionConfigValueId(e), Name: e})
	}
	out.options = append(out.options, option(effortOption, "Effort", sdk.SessionConfigOptionCategoryThoughtLevel, word, efforts))
	return out, nil
}

func option(id, name string, category sdk.SessionConfigOptionCategory, now string, all sdk.SessionConfigSelectOptionsUngrouped) sdk.SessionConfigOption {
	return sdk.SessionConfigOption{Select: &sdk.SessionConfigOptionSelect{Id: sdk.SessionConfigId(id), Name: name, Category: &category,
		CurrentValue: sdk.SessionConfigValueId(now), Options: sdk.SessionConfigSelectOptions{Ungrouped: &all}, Type: "select"}}
}

// into puts models and options into the answer to a fork, whose types have other names.
func (ch choices) into(out *sdk.UnstableForkSessionResponse) error {
	raw, err := json.Marshal(map[string]any{"models": ch.models, "configOptions": ch.options})
	if err != nil {
		return err
	}
	var same sdk.UnstableForkSessionResponse
	err = json.Unmarshal(raw, &same)
	out.Models, out.ConfigOptions = same.Models, same.ConfigOptions
	return err
}

// offer is a model that can be chosen.
type offer struct{ ref, title string }

// offered are the models that can be asked, programs that drive agents among them, and the one in
// use.
func (c *conversation) offered(now llm.Ref) []offer {
	var out []offer
	has := false
	add := func(ref llm.Ref, title string) {
		has = has || ref == now
		out = append(out, offer{ref.String(), cmp.Or(title, ref.String())})
	}
	for _, m := range c.Models().Usable() {
		add(m.Ref, m.Title)
	}
	if !has {
		add(now, "")
	}
	return out
}

func (s *Server) setMode(ctx context.Context, r sdk.SetSessionModeRequest) (out sdk.SetSessionModeResponse, err error) {
	_, err = s.choose(ctx, r.SessionId, modeOption, string(r.ModeId))
	return out, err
}

func (s *Server) setModel(ctx context.Context, r sdk.UnstableSetSessionModelRequest) (out sdk.UnstableSetSessionModelResponse, err error) {
	_, err = s.choose(ctx, r.SessionId, modelOption, string(r.ModelId))
	return out, err
}

// choose sets an option of a session. A model is used from the next prompt on.
func (s *Server) choose(ctx context.Context, is sdk.SessionId, option, word string) (*conversation, error) {
	c, err := s.find(is)
	if err != nil {
		return nil, err
	}
	a, err := c.Store.Agent(ctx, c.agent)
	if err != nil {
		return nil, err
	}
	switch strings.ToLower(option) {
	case modeOption:
		err = c.Programs().ChooseMode(ctx, a, word)
	case modelOption:
		var ref llm.Ref
		if ref, err = llm.ParseRef(word); err == nil {
			_, err = c.Models().Model(a, ref)
		}
		if err == nil {
			c.mu.Lock()
			c.model = ref
			c.mu.Unlock()
		}
	case effortOption:
		var effort llm.Effort
		if effort, err = llm.ParseEffort(word); err == nil {
			err = c.Models().SetEffort(ctx, a, effort)
		}
	default:
		err = fault.New(fault.InvalidField, "there is no option %.40q", option).WithHint("the options are %s, %s and %s", modeOption, modelOption, effortOption)
	}
	return c, err
}

func (s *Server) setOption(ctx context.Context, r sdk.SetSessionConfigOptionRequest) (out sdk.SetSessionConfigOptionResponse, err error) {
	v := r.ValueId
	if v == nil {
		return out, fault.New(fault.InvalidField, "no option here is a yes or a no").WithHint("the options are %s, %s and %s", modeOption, modelOption, effortOption)
	}
	c, err := s.choose(ctx, v.SessionId, string(v.ConfigId), string(v.Value))
	if err != nil {
		return out, err
	}
	ch, err := c.choices(ctx)
	out.ConfigOptions = ch.options
	return out, err
}
