package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/config"
	"ramet/internal/operation/public"
)

func mcpCommand(l *Line, p MCPPorts) *cobra.Command {
	return parent("mcp", "Add MCP servers for agents, or serve ramet over MCP", `MCP servers are programs and services whose tools agents can use, as server__tool. Yours
stand in your configuration ([mcp.NAME]); those of a project in its .mcp.json, which
counts once you accepted it (ramet trust). They start when a tool of theirs is called.
A call is asked for like a command; the rules mcp(SERVER) and mcp(SERVER__TOOL) permit it,
as long as your server describes the tool as it did when it was first asked. What is saved
for a tool, and any rule for a project's server, names the tool's digest:
mcp(SERVER__TOOL@DIGEST).

ramet is a server too: other people's agents fork, prompt, mail and kill agents here with
the tools of "ramet mcp serve"; "ramet mcp install" says how they are told of it.`,
		listMCPCommand(l), addCommand(l), removeCommand(l), toolsCommand(l), acceptCommand(l), callCommand(l), loginCommand(l), logoutCommand(l),
		serveMCPCommand(l, p), installMCPCommand(l), tokenCommand(l))
}

func listMCPCommand(l *Line) *cobra.Command {
	return l.command("list", "List the MCP servers; nothing is started", "", 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		ws, err := l.Open(ctx)
		if err != nil {
			return nil, err
		}
		shape, err := ws.Servers().List()
		return servers{shape}, err
	})
}

type servers struct{ public.Servers }

func (d servers) Text(w *printer.Writer) {
	rows := [][]string{{"NAME", "WHOSE", "STATE", "TOOLS", "WHAT"}}
	for _, s := range d.Servers.Servers {
		what, tools := strings.Join(s.Command, " "), "-"
		if s.URL != nil {
			what = *s.URL
		}
		if s.Tools != nil {
			tools = text.Count(*s.Tools, "tool")
		}
		if s.Why != nil {
			what = *s.Why
		}
		rows = append(rows, []string{s.Name, s.Scope, s.State, tools, text.Line(what, 100)})
	}
	if len(d.Servers.Servers) == 0 {
		w.Line("no MCP servers; ramet mcp add NAME -- COMMAND… adds one")
	} else {
		w.Table(rows)
	}
	for _, s := range d.Servers.Servers {
		for _, n := range s.Notes {
			w.Line("note: %s: %s", s.Name, n)
		}
	}
	if d.Note != nil {
		w.Line("note: %s", *d.Note)
	}
}

func addCommand(l *Line) *cobra.Command {
	var s config.Server
	var env, headers []string
	c := l.command("add NAME -- COMMAND [ARG]…", "Add an MCP server to your configuration", `Add an MCP server to your configuration: a program with its arguments, or with --url a
service. A program runs with the network, and writes a cache of its own and the folders
that --root names. Of the environment it gets the usual variables and those of --env; a
value can name another variable (--env 'TOKEN=$MY_TOKEN'), so that no secret stands in
the file. ramet mcp tools NAME asks it for its tools.`, 1, 1<<10, func(ctx context.Context, args []string) (printer.Datum, error) {
		s.Name = args[0]
		if len(args) > 1 {
			s.Command, s.Args = args[1], args[2:]
		}
		var err error
		if s.Env, err = parsePairs("--env", env); err != nil {
			return nil, err
		}
		if s.Headers, err = parsePairs("--header", headers); err != nil {
			return nil, err
		}
		path, err := config.Path(l.Getenv)
		if err != nil {
			return nil, err
		}
		return mcpWritten{s.Name, path, "is in"}, config.AddServer(ctx, path, s)
	})
	c.Flags().StringVar(&s.URL, "url", "", "the address of a service")
	c.Flags().StringArrayVar(&env, "env", nil, "NAME=VALUE for a program; repeats")
	c.Flags().StringArrayVar(&headers, "header", nil, "NAME=VALUE for a service; repeats")
	c.Flags().StringArrayVar(&s.Roots, "root", nil, "a folder that a program may write; repeats")
	c.Flags().StringVar(&s.ClientID, "client-id", "", "how ramet is known at a service that registers no clients by itself")
	c.Flags().StringVar(&s.ClientSecret, "client-secret", "", "the secret of such a client: name a variable, '$NAME'")
	c.Flags().IntVar(&s.CallbackPort, "callback-port", 0, "the loopback port of such a client's redirect (default any)")
	c.Flags().StringVar(&s.Timeout, "timeout", "", "the longest that a call may take, such as 90s (default 5m)")
	return c
}

// parsePairs reads NAME=VALUE.
func parsePairs(flag string, given []string) (map[string]string, error) {
	if len(given) == 0 {
		return nil, nil
	}
	out := map[string]string{}
	for _, g := range given {
		name, value, ok := strings.Cut(g, "=")
		if !ok || name == "" {
			return nil, fault.New(fault.Usage, "%s %.40q is not a NAME=VALUE", flag, g)
		}
		out[name] = value
	}
	return out, nil
}

func removeCommand(l *Line) *cobra.Command {
	return l.command("rm NAME", "Take an MCP server out of your configuration", "", 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		path, err := config.Path(l.Getenv)
		if err != nil {
			return nil, err
		}
		return mcpWritten{args[0], path, "is no longer in"}, config.RemoveServer(ctx, path, args[0])
	})
}

// mcpWritten is the datum of add and rm.
type mcpWritten struct {
	Name string `json:"name"`
	Path string `json:"path"`
	how  string
}

func (d mcpWritten) Text(w *printer.Writer) { w.Line("MCP server %s %s %s", d.Name, d.how, d.Path) }

func toolsCommand(l *Line) *cobra.Command {
	return l.command("tools [SERVER]", "Ask MCP servers for their tools", "", 0, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		ws, err := l.Open(ctx)
		if err != nil {
			return nil, err
		}
		shape, err := ws.Servers().ServerTools(ctx, strings.Join(args, ""))
		return tools{shape}, err
	})
}

func acceptCommand(l *Line) *cobra.Command {
	return l.command("accept SERVER", "Accept the tools of an MCP server as they are now", `Rules that name your MCP server or one of its tools do not permit a tool that the server
added or described otherwise since it was first asked. This accepts all its tools as they
are now, and lists them: read their descriptions ("ramet mcp tools SERVER --json") first.`, 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		ws, err := l.Open(ctx)
		if err != nil {
			return nil, err
		}
		shape, err := ws.Servers().AcceptServer(ctx, args[0])
		return tools{shape}, err
	})
}

type tools struct{ public.ServerTools }

func (d tools) Text(w *printer.Writer) {
	rows := [][]string{{"TOOL", "WHAT IT DOES, AS ITS SERVER SAYS"}}
	for _, t := range d.Tools {
		what := text.Line(t.Description, 100)
		if t.Changed != nil {
			what = "[" + *t.Changed + "] " + what
		}
		rows = append(rows, []string{t.Name, what})
	}
	if len(d.Tools) == 0 {
		w.Line("no tools")
	} else {
		w.Table(rows)
	}
	for _, n := range d.Notes {
		w.Line("note: %s", n)
	}
}

func callCommand(l *Line) *cobra.Command {
	return &cobra.Command{
		Use:   "call SERVER TOOL [JSON|-]",
		Short: "Call a tool of an MCP server yourself",
		Long:  "Call a tool of an MCP server with arguments in JSON ({} if none are given; - reads\nstandard input), and print what it answers. Exit 1 if it says that it failed.",
		Args:  CheckArguments(2, 3),
		RunE: func(c *cobra.Command, args []string) error {
			given := "{}"
			if len(args) == 3 {
				var err error
				if given, err = l.Text(args[2]); err != nil {
					return err
				}
			}
			var object map[string]any
			if err := json.Unmarshal([]byte(given), &object); err != nil {
				return fault.New(fault.Usage, "the arguments are no JSON object: %v", err).WithHint(`write them like {"path": "a.txt"}`)
			}
			ws, err := l.Open(c.Context())
			if err != nil {
				return err
			}
			shape, err := ws.Servers().CallServer(c.Context(), args[0], args[1], json.RawMessage(given))
			if err != nil {
				return err
			}
			if err := l.Print(called{shape}); err != nil {
				return err
			}
			if shape.Outcome != "done" {
				return Exited(1)
			}
			return nil
		},
	}
}

type called struct{ public.ServerCall }

func (d called) Text(w *printer.Writer) {
	for one := range strings.Lines(d.ServerCall.Text) {
		w.Line("%s", strings.TrimRight(one, "\r\n"))
	}
}

func loginCommand(l *Line) *cobra.Command {
	return l.command("login SERVER", "Log in at an MCP server that is a service", `Log in at a service (OAuth, with PKCE). ramet prints an address: open it in your browser, on
this machine, and log in there; the browser comes back to ramet on the loopback. What the
service gives is kept in ramet's home, for this address of this server alone, and is
renewed as long as the service does so. "ramet mcp logout" forgets it.`, 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		ws, err := l.Open(ctx)
		if err != nil {
			return nil, err
		}
		shape, err := ws.Servers().LoginServer(ctx, args[0], func(address string) {
			fmt.Fprintf(l.Stderr, "open this address in your browser:\n%s\n", address)
		})
		return login{shape}, err
	})
}

func logoutCommand(l *Line) *cobra.Command {
	return l.command("logout SERVER", "Forget a login at an MCP server", "", 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		ws, err := l.Open(ctx)
		if err != nil {
			return nil, err
		}
		shape, err := ws.Servers().LogoutServer(args[0])
		return login{shape}, err
	})
}

// login is the datum of both.
type login struct{ public.ServerLogin }

func (d login) Text(w *printer.Writer) {
	w.Line("%s: %s", d.Server, d.Outcome)
}
