package cli

import (
	"context"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/core/config"
	"ramet/internal/core/registry"
	"ramet/internal/model/catalog"
	"ramet/internal/operation"
	"ramet/internal/run/rundir"
	"ramet/internal/turn/permit"
)

// Version describes this binary. It is the output of version.
type Version struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Revision string `json:"revision,omitempty"` // the commit it was built from
	Date     string `json:"date,omitempty"`     // the commit's, RFC 3339
	Modified bool   `json:"modified"`           // the source differed from the commit
}

// Text of a version.
func (v Version) Text(w *printer.Writer) {
	w.Line("ramet %s (%s, %s)", v.Version, v.Go, v.Platform)
	if v.Revision != "" {
		w.Line("%s", v.source())
	}
}

// String returns the version and its source on one line.
func (v Version) String() string {
	out := "ramet " + v.Version + ", " + v.Go
	if source := v.source(); source != "" {
		out += ", " + source
	}
	return out
}

// source returns the commit of the build on one line; empty if it is unknown.
func (v Version) source() string {
	if v.Revision == "" {
		return ""
	}
	out := "commit " + v.Revision
	if v.Date != "" {
		out += " of " + v.Date
	}
	if v.Modified {
		out += ", modified"
	}
	return out
}

func versionCommand(l *Line, about func() Version) *cobra.Command {
	return l.command("version", "Print the version and build", "", 0, 0, func(context.Context, []string) (printer.Datum, error) { return about(), nil })
}

func authCommand() *cobra.Command {
	return parent("auth", "Store, list and remove API keys", `Keys come from the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, …) or from
credentials.toml in ramet's home, which only you can read. A key is never printed,
never stored in a history, and never in the environment of a tool.`)
}

// maxSecret limits what is read of a secret.
const maxSecret = 64 << 10

// secret asks for a secret on the terminal, or reads it from standard input.
func (l *Line) secret(question string) (string, error) {
	if l.Password != nil {
		return l.Password(question)
	}
	b, err := io.ReadAll(io.LimitReader(l.Stdin, maxSecret))
	return string(b), err
}

func keyOwners() (out []string) {
	for _, v := range catalog.Vendors() {
		if v.KeyOwner() == v.Name {
			out = append(out, v.Name)
		}
	}
	return out
}

func configCommand(l *Line) *cobra.Command {
	c := l.Command(&operation.Config)
	c.Args = UnknownCommand
	return c
}

func promptCommand() *cobra.Command {
	return parent("prompt", "Show the instructions that agents get first", `Show the prompts: the texts that every agent gets before the conversation. To replace
one, put a file of the same name, such as prompts/base.md, next to your configuration
file (ramet config path).`)
}

// ReadRules returns the rules that the user saved for a project.
func ReadRules(home, project string) ([]permit.Rule, error) {
	texts, err := config.ReadRules(home, project)
	if err != nil {
		return nil, err
	}
	out := make([]permit.Rule, len(texts))
	for i, text := range texts {
		if out[i], err = permit.Parse(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func settingKeys() (out []string) {
	for _, known := range config.Settings() {
		out = append(out, known.Key)
	}
	return out
}

// verifyStoreCommand returns the command of the operation. The command shows its progress, and uses the key of
// this home if none is given.
func verifyStoreCommand(l *Line) *cobra.Command {
	c := l.Command(&operation.Verify)
	verify := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if given := c.Flags().Lookup("checkpoint").Changed; given && !c.Flags().Lookup("key").Changed {
			own, err := l.SigningKey()
			if err != nil {
				return err
			}
			c.Flags().Set("key", own.Verifier())
		}
		told := l.Progress("entries checked")
		defer told.End()
		c.SetContext(registry.Watching(c.Context(), told.Add))
		return verify(c, args)
	}
	return c
}

func keyCommand(l *Line) *cobra.Command {
	return l.command("key", "Print the public key of our checkpoints", `Print the public key that verifies checkpoints signed in this home. The key pair is created
on first use. The private key never leaves the home folder.`, 0, 0, func(context.Context, []string) (printer.Datum, error) {
		key, err := l.SigningKey()
		if err != nil {
			return nil, err
		}
		return printer.Result{JSON: map[string]string{"key": key.Verifier()}, Write: func(w *printer.Writer) { w.Line("%s", key.Verifier()) }}, nil
	})
}

func schemaCommand(l *Line, openAPIText func() []byte) *cobra.Command {
	c := l.command("schema NAME", "Print a published JSON Schema: event, snapshot, issue, recipe or run_config; or openapi", "", 1, 1, func(_ context.Context, args []string) (printer.Datum, error) {
		if args[0] == openAPI {
			return rawJSON(openAPIText()), nil
		}
		text, err := rundir.MakeSchema(args[0])
		return rawJSON(text), err
	})
	c.ValidArgs = append(rundir.SchemaNames(), openAPI)
	return c
}

const openAPI = "openapi"

type rawJSON json.RawMessage

func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

func (r rawJSON) Text(w *printer.Writer) { w.Block("", string(r)) }
