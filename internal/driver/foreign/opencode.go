package foreign

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"net/url"
	"os"
	"time"

	_ "modernc.org/sqlite" // the database that opencode keeps

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
	"ramet/internal/model/catalog"
	"ramet/internal/store/database"
)

// opencode is opencode: rows of a database, which are written as lines first: one for each
// step of an answer, and one for the results of its calls. Of its tables session, message
// and part are read, and no other.
type opencode struct{ reader int }

type openLine struct {
	Type    string            `json:"type"` // session, user, assistant, results, compact
	Session *openSession      `json:"session,omitempty"`
	ID      string            `json:"id,omitempty"`
	Time    int64             `json:"time,omitempty"`
	Model   string            `json:"model,omitempty"`
	Parts   []json.RawMessage `json:"parts,omitempty"`
}

type openSession struct {
	ID, Parent, Directory, Title, Version string
	Created                               int64
}

func openDB(path string) (*sql.DB, error) {
	uri := url.URL{Scheme: "file", Path: path, RawQuery: "mode=ro&_pragma=busy_timeout(5000)&_pragma=query_only(1)"}
	database.StartSQLite()
	db, err := sql.Open("sqlite", uri.String())
	if err != nil {
		return nil, fault.New(fault.StorageIO, "open %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

func strange(path string, err error) error {
	return fault.New(fault.StorageForeign, "read %s: %w", path, err).
		WithHint("is it the database of opencode, and of a version that has the tables session, message and part?")
}

// rows lists the sessions of a database, parents first.
func rows(ctx context.Context, path string) ([]Found, error) {
	db, err := openDB(path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var out []Found
	err = eachRow(ctx, db, `SELECT id FROM session ORDER BY parent_id IS NOT NULL, time_created, id`, nil, func(scan func(...any) error) error {
		f := Found{Program: Opencode, Path: path}
		err := scan(&f.Session)
		out = append(out, f)
		return err
	})
	if err != nil {
		return nil, strange(path, err)
	}
	return out, nil
}

// eachRow calls each for every row of a query.
func eachRow(ctx context.Context, db interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, query string, args []any, each func(scan func(...any) error) error) error {
	list, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer list.Close()
	for list.Next() {
		if err := each(list.Scan); err != nil {
			return err
		}
	}
	return list.Err()
}

// written writes a session as lines into a file that goes when it is closed.
func written(ctx context.Context, f Found) (*os.File, error) {
	db, err := openDB(f.Path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}) // one moment of it
	if err != nil {
		return nil, strange(f.Path, err)
	}
	defer tx.Rollback()
	file, err := os.CreateTemp("", "ramet-import-*")
	if err != nil {
		return nil, fault.New(fault.StorageIO, "make a file for the rows: %w", err)
	}
	os.Remove(file.Name())
	out := bufio.NewWriter(file)
	if err = writeRows(ctx, tx, f, out); err == nil {
		err = out.Flush()
	}
	if err == nil {
		_, err = file.Seek(0, 0)
	}
	if err != nil {
		file.Close()
		return nil, strange(f.Path, err)
	}
	return file, nil
}

func writeRows(ctx context.Context, tx *sql.Tx, f Found, out *bufio.Writer) error {
	s := openSession{ID: f.Session}
	var parent, title, version sql.NullString
	err := tx.QueryRowContext(ctx, `SELECT parent_id, directory, title, version, time_created FROM session WHERE id = ?`, f.Session).
		Scan(&parent, &s.Directory, &title, &version, &s.Created)
	if err != nil {
		return err
	}
	s.Parent, s.Title, s.Version = parent.String, title.String, version.String
	if err := writeLine(out, openLine{Type: "session", Session: &s}); err != nil {
		return err
	}
	type message struct {
		id, data string
		at       int64
	}
	var all []message
	err = eachRow(ctx, tx, `SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created, id`, []any{f.Session}, func(scan func(...any) error) error {
		var m message
		err := scan(&m.id, &m.at, &m.data)
		all = append(all, m)
		return err
	})
	if err != nil {
		return err
	}
	for _, m := range all {
		parts, err := partsOf(ctx, tx, m.id)
		if err != nil {
			return err
		}
		done, err := writeMessage(out, m.id, m.at, m.data, parts)
		if err != nil || !done {
			return err
		}
	}
	return nil
}

func partsOf(ctx context.Context, tx *sql.Tx, message string) ([]json.RawMessage, error) {
	var out []json.RawMessage
	err := eachRow(ctx, tx, `SELECT data FROM part WHERE message_id = ? ORDER BY id`, []any{message}, func(scan func(...any) error) error {
		var data string
		err := scan(&data)
		out = append(out, asJSON(data))
		return err
	})
	return out, err
}

// asJSON is what a row holds, as a text where it is no JSON.
func asJSON(data string) json.RawMessage {
	if json.Valid([]byte(data)) {
		return json.RawMessage(data)
	}
	out, _ := json.Marshal(plain(data)) // texts always can be
	return out
}

type openMessage struct {
	Role     string `json:"role"`
	Provider string `json:"providerID"`
	Model    string `json:"modelID"`
	Summary  any    `json:"summary"`
	Time     struct {
		Completed int64 `json:"completed"`
	} `json:"time"`
	Error json.RawMessage `json:"error"`
}

type openPart struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	CallID string `json:"callID"`
	Tool   string `json:"tool"`
	Mime   string `json:"mime"`
	URL    string `json:"url"`
	Meta   struct {
		Anthropic struct {
			Signature string `json:"signature"`
		} `json:"anthropic"`
		OpenAI struct {
			ID        string `json:"itemId"`
			Encrypted string `json:"reasoningEncryptedContent"`
		} `json:"openai"`
	} `json:"metadata"`
	Cost   float64 `json:"cost"`
	Tokens struct {
		Input   int64 `json:"input"`
		Output  int64 `json:"output"`
		Thought int64 `json:"reasoning"`
		Cache   struct {
			Read  int64 `json:"read"`
			Write int64 `json:"write"`
		} `json:"cache"`
	} `json:"tokens"`
	State struct {
		Status string          `json:"status"`
		Input  json.RawMessage `json:"input"`
		Output string          `json:"output"`
		Error  string          `json:"error"`
	} `json:"state"`
}

// writeMessage writes a message; done is false where the model still writes it: what comes
// is for the next time.
func writeMessage(out *bufio.Writer, id string, at int64, data string, parts []json.RawMessage) (done bool, err error) {
	var m openMessage
	if err := decode([]byte(data), &m); err != nil {
		return true, writeLine(out, openLine{Type: "unknown", ID: id, Parts: []json.RawMessage{asJSON(data)}})
	}
	if m.Role != "assistant" {
		return true, writeLine(out, openLine{Type: "user", ID: id, Time: at, Parts: parts})
	}
	if m.Time.Completed == 0 && len(m.Error) == 0 {
		return false, nil
	}
	kind := "assistant"
	if m.Summary == true {
		kind = "compact"
	}
	line := openLine{Type: kind, ID: id, Time: at, Model: m.Provider + "/" + m.Model}
	var results []json.RawMessage
	flush := func() error {
		if len(line.Parts) > 0 {
			if err := writeLine(out, line); err != nil {
				return err
			}
		}
		if len(results) > 0 {
			if err := writeLine(out, openLine{Type: "results", Time: at, Parts: results}); err != nil {
				return err
			}
		}
		line.ID, line.Parts, results = "", nil, nil
		return nil
	}
	for _, raw := range parts {
		var p openPart
		decode(raw, &p) // what is none is of no type
		if p.Type == "step-start" {
			if err := flush(); err != nil {
				return true, err
			}
			continue
		}
		if p.Type == "tool" {
			results = append(results, raw)
		}
		line.Parts = append(line.Parts, raw)
	}
	return true, flush()
}

func writeLine(out *bufio.Writer, l openLine) error {
	line, err := json.Marshal(l)
	if err != nil {
		return err
	}
	out.Write(line)
	return out.WriteByte('\n')
}

func (o opencode) index(line []byte, s *Session) (record, names) {
	var l openLine
	if decode(line, &l) != nil {
		return record{role: broken}, names{}
	}
	r := record{role: raw}
	switch l.Type {
	case "session":
		r.role = silent
		if t := l.Session; t != nil {
			s.ID, s.Of, s.Cwd, s.Title, s.Version = t.ID, t.Parent, t.Directory, t.Title, t.Version
			s.Started = time.UnixMilli(t.Created).UTC()
		}
	case "user":
		r.role = user
	case "assistant":
		r.role = answer
		if l.Model != "/" {
			s.Model = l.Model
		}
	case "results":
		r.role = result
	case "compact":
		r.role = shape
	}
	if said, err := o.read(line); r.role == user && s.begins == "" && err == nil {
		s.begins = history.Plain(said.Parts)
	}
	return r, names{id: l.ID, kind: l.Type}
}

func (o opencode) read(line []byte) (Said, error) {
	var l openLine
	if err := decode(line, &l); err != nil {
		return Said{}, err
	}
	kinds := map[string]history.Kind{"user": history.User, "assistant": history.Assistant, "results": history.ToolResult, "compact": history.Compact}
	out := Said{Kind: kinds[l.Type]}
	if out.Kind == "" {
		return Said{Kind: history.Note, Parts: words(string(line))}, nil
	}
	if l.Time > 0 {
		out.Time = time.UnixMilli(l.Time).UTC().Format(time.RFC3339Nano)
	}
	for _, one := range l.Parts {
		out.Parts = append(out.Parts, o.parts(out.Kind, one)...)
		if out.Kind == history.Assistant || out.Kind == history.Compact {
			if u := openUsed(l.Model, one); u != nil {
				out.Used = u
			}
		}
	}
	return out, nil
}

// openUsed is what a step used, where a part tells that it ended.
func openUsed(model string, part json.RawMessage) *history.Used {
	var p openPart
	if decode(part, &p) != nil || p.Type != "step-finish" {
		return nil
	}
	out := used(model, p.Tokens.Input, p.Tokens.Output+p.Tokens.Thought, p.Tokens.Cache.Read, p.Tokens.Cache.Write, p.Tokens.Thought)
	if out != nil {
		out.Cost = dollars(p.Cost)
	}
	return out
}

func (o opencode) parts(kind history.Kind, one json.RawMessage) []history.Part {
	var p openPart
	if decode(one, &p) != nil {
		return words(string(one))
	}
	switch {
	case p.Type == "text":
		return words(p.Text)
	case p.Type == "reasoning":
		out := history.Part{Type: history.Thinking, Text: p.Text}
		if sig := p.Meta.Anthropic.Signature; sig != "" {
			out.Signature, out.Origin = sig, string(catalog.Anthropic)
		} else if t := p.Meta.OpenAI; t.Encrypted != "" {
			out.Opaque, out.Origin = codexThought(codexItem{ID: t.ID, Encrypted: t.Encrypted}), string(catalog.Responses)
		}
		return []history.Part{out}
	case p.Type == "file":
		return []history.Part{linked(p.URL)}
	case p.Type == "tool" && kind == history.ToolResult:
		out := history.Part{Type: history.Result, CallID: p.CallID, Name: p.Tool, Text: p.State.Output}
		switch p.State.Status {
		case "completed":
		case "error":
			out.Text, out.IsError = p.State.Error, true
		default:
			out.Text, out.IsError = "it was not finished", true
		}
		return []history.Part{out}
	case p.Type == "tool":
		return []history.Part{call(p.CallID, p.Tool, p.State.Input)}
	case o.reader >= 4 && !openSilent[p.Type]:
		return words(string(one))
	}
	return nil
}

// openSilent are the parts that tell of the program, not of the conversation.
var openSilent = map[string]bool{"step-start": true, "step-finish": true, "snapshot": true, "patch": true, "agent": true, "retry": true, "compaction": true, "subtask": true, "tool": true}
