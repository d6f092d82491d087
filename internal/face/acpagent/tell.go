package acpagent

import (
	"context"

	sdk "github.com/coder/acp-go-sdk"
)

// tellCommands tells which commands the user and the project define, and the program that drives
// the agent.
func (c *conversation) tellCommands(ctx context.Context) {
	all := []sdk.AvailableCommand{}
	defined := c.Prompts().Defined()
	if a, err := c.Store.Agent(ctx, c.agent); err == nil {
		defined = append(defined[:len(defined):len(defined)], c.Programs().ProgramCommands(a)...)
	}
	for _, d := range defined {
		one := sdk.AvailableCommand{Name: d.Name, Description: d.Description}
		if d.Hint != "" {
			one.Input = &sdk.AvailableCommandInput{Unstructured: &sdk.UnstructuredCommandInput{Hint: d.Hint}}
		}
		all = append(all, one)
	}
	if len(all) > 0 {
		c.tell(sdk.SessionUpdate{AvailableCommandsUpdate: &sdk.SessionAvailableCommandsUpdate{SessionUpdate: "available_commands_update", AvailableCommands: all}})
	}
}

func (c *conversation) tellTitle(ctx context.Context) {
	a, err := c.Store.Agent(ctx, c.agent)
	if err != nil {
		return
	}
	if one, err := c.info(ctx, a); err == nil {
		c.tell(sdk.SessionUpdate{SessionInfoUpdate: &sdk.SessionSessionInfoUpdate{SessionUpdate: "session_info_update", Title: one.Title, UpdatedAt: one.UpdatedAt}})
	}
}
