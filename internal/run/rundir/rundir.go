// Package rundir keeps a run's folder (the event log, and next to it what follows from the log or was given at the
// start) and publishes the JSON Schemas of runs.
//
//	runs/<run_id>/
//	  run_config.yaml    copied at the start; later edits of the original do not count
//	  events.ndjson      the log: the truth (or events.sqlite, or a PostgreSQL table)
//	  log                which of these it is
//	  snapshot.json      a cache: the replay of its first event_count events
//	  checkpoints        signed heads of the log, one note after the other
//	  agent              uuid of the run's own agent: its workers are forked from it
//
// An event is durable before anything follows from it. After each transition of the run's state the snapshot is
// replaced and a checkpoint is added; being older than the log is normal for both, differing from it is damage. A
// writer compares the checkpoints before it writes, and writes nothing that cannot have happened (see run.AppendGuard).
// Folders are 0700 and files 0600.
//
// The schemas (`ramet schema NAME`, and the folder schemas of the repository) are generated from the shapes with
// which package run checks payloads. No schema can express that total_tokens is a sum; run.CheckPayload checks it.
package rundir

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/seal"
	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/core/trust"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
)

// Kind is the place of a log: ndjson, sqlite, or a postgres:// URL.
type Kind string

// The kinds of logs in the folder itself.
const (
	NDJSON Kind = "ndjson"
	SQLite Kind = "sqlite"
)

// Remote reports whether the log is on a server.
func (k Kind) Remote() bool { return strings.Contains(string(k), "://") }

// Logs opens logs.
type Logs interface {
	// Open opens the log of a run for reading.
	Open(ctx context.Context, kind Kind, dir, runID string) (run.Log, error)
	// OpenWriter opens it for appending, makes it if it is not there, repairs a
	// torn tail, and describes the repair.
	OpenWriter(ctx context.Context, kind Kind, dir, runID string) (run.Writer, string, error)
}

// Store is the folder of all runs.
type Store struct {
	Root string
	// Project is the folder of strangers' files that Root must not lead out of; empty:
	// Root is the location that the user chose.
	Project string
	// Server is the server that a run's folder may name for its log without the user's
	// saying so, as the user works there; empty: none.
	Server string
	Logs   Logs
	// Owner returns the living process, other than this one, that carries out the run of an agent, or "". It is asked
	// where the log is in a server: a connection can be lost, and with it the lock, while its owner lives.
	// nil: the owner is unknown.
	Owner func(ctx context.Context, agent string) (string, error)
	Key   func() (*seal.Key, error) // signs checkpoints; asked for when needed
	Now   func() time.Time
}

const (
	configFile     = "run_config.yaml"
	snapshotFile   = "snapshot.json"
	checkpointFile = "checkpoints"
	kindFile       = "log"
	agentFile      = "agent"
)

// Dir returns the folder of a run.
func (s *Store) Dir(runID string) string { return filepath.Join(s.Root, runID) }

// Has reports whether a run has a folder.
func (s *Store) Has(runID string) bool {
	_, err := os.Lstat(s.Dir(runID))
	return err == nil
}

// NewID returns a run id for a configuration: sorted by time, and different for different content.
func (s *Store) NewID(config []byte) string {
	sum := sha256.Sum256(config)
	stamp := strings.Replace(s.Now().UTC().Format("20060102T150405.000Z"), ".", "", 1)
	return stamp + "-" + hex.EncodeToString(sum[:4])
}

// create makes the folder of a new run with its configuration.
func (s *Store) create(runID string, kind Kind, config []byte) error {
	dir := s.Dir(runID)
	if err := durable.MakeFolder(dir, 0o700); err != nil {
		return err
	}
	if err := durable.WriteFile(filepath.Join(dir, configFile), config, 0o600); err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, kindFile), []byte(withoutPassword(kind)+"\n"), 0o600)
}

// withoutPassword returns the part of a server's address that the folder may hold: PGPASSWORD, a pass
// file or the flag supply the rest.
func withoutPassword(kind Kind) string {
	u, err := url.Parse(string(kind))
	if err != nil || !kind.Remote() {
		return string(kind)
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	q.Del("password")
	u.RawQuery = q.Encode()
	return u.String()
}

// kind finds the place of a log. said is the place that the user gave, if any.
func (s *Store) kind(runID string, said Kind) (Kind, error) {
	if err := run.CheckRunID(runID); err != nil {
		return "", err
	}
	dir := s.Dir(runID)
	if err := closeAdmitted(s.enter(runID)); err != nil {
		return "", err
	}
	if said.Remote() {
		return said, nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", s.gone(runID)
	}
	text, err := os.ReadFile(filepath.Join(dir, kindFile))
	kind := Kind(strings.TrimSpace(string(text)))
	switch {
	case said != "":
		return said, nil
	case err == nil && kind.Remote() && withoutPassword(kind) != withoutPassword(Kind(s.Server)):
		return "", fault.New(fault.Untrusted, "the folder of run %s says that its log is at %.200q, where you do not work", runID, withoutPassword(kind)).
			WithHint("it was not contacted; give the address with --log if it is right")
	case err == nil && kind.Remote():
		return Kind(s.Server), nil // the same, with the password that the folder does not have
	case err == nil && (kind == NDJSON || kind == SQLite):
		return kind, nil
	}
	// A folder from elsewhere: look.
	if _, err := os.Stat(filepath.Join(dir, "events.sqlite")); err == nil {
		return SQLite, nil
	}
	return NDJSON, nil
}

// Agent returns the run's own agent; ok is false if it has none yet.
func (s *Store) Agent(runID string) (uuid string, ok bool, err error) {
	path := filepath.Join(s.Dir(runID), agentFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, durable.Failure("read", path, err)
	}
	return strings.TrimSpace(string(text)), true, nil
}

// PutAgent stores the run's own agent.
func (s *Store) PutAgent(runID, uuid string) error {
	return durable.WriteFile(filepath.Join(s.Dir(runID), agentFile), []byte(uuid+"\n"), 0o600)
}

// List returns the ids of the runs, the oldest first.
func (s *Store) List() ([]string, error) {
	if err := s.admitAll(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(s.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.StorageIO, "read %s: %w", s.Root, err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() && run.IsRunID(e.Name()) {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out, nil
}

// Disk returns a function that hashes files of a run, by paths relative to its folder. Each file is read once.
func (s *Store) Disk(runID string) run.Disk {
	files, err := s.OpenFiles(runID)
	type answer struct {
		sum string
		ok  bool
	}
	known := map[string]answer{}
	return func(path string) (string, bool) {
		if err != nil {
			return "", false
		}
		a, seen := known[path]
		if !seen {
			a.sum, a.ok = files.Hash(filepath.ToSlash(filepath.Clean(path)))
			known[path] = a
		}
		return a.sum, a.ok
	}
}

func runExists(runID string) error {
	return fault.New(fault.Conflict, "run %s exists already", runID).
		WithHint("nothing was changed; choose another --run-id, or continue that run")
}

func tooFar(place string, snapshot, log int64) error {
	return fault.New(fault.EventChainBroken, "%s has %d events, its snapshot was made of %d", place, log, snapshot).
		WithHint("the log was cut; restore it from a copy")
}

func notLastOfSnapshot(runID string, e run.Entry) error {
	return run.ChainBroken(runPlace(runID), e.Line, e.Offset, "it is not the event that the snapshot ends with")
}

func runPlace(runID string) string { return fmt.Sprintf("run %s", runID) }

// enter opens the folder of a run, below the project if it lies in one. A folder that is
// reached over a link out of the project, or that has a link among its own files, is
// DENIED: its maker chose what is read and written elsewhere. One that is not there
// is fs.ErrNotExist.
func (s *Store) enter(runID string) (*os.Root, error) {
	return s.folder().Plain(nil, runID)
}

// closeAdmitted closes a folder that was opened only to be checked, for callers that then open files by their paths. One
// that does not exist is fine.
func closeAdmitted(root *os.Root, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return root.Close()
}

// admitAll checks the folder of all runs.
func (s *Store) admitAll() error { return closeAdmitted(s.folder().Open()) }

func (s *Store) folder() trust.Folder {
	return trust.Folder{Project: s.Project, Dir: s.Root, Hint: "give the folder itself with --runs-dir or RAMET_RUNS"}
}

// gone returns the NOT_FOUND fault of a run, with the run of the nearest name.
func (s *Store) gone(runID string) error {
	runs, _ := s.List() // where they cannot be listed, none is near
	return fault.New(fault.NotFound, "no run %s in %s", runID, s.Root).WithHint("%s", text.NearestHint(runID, runs, "`ramet run list` lists the runs"))
}

// CheckConfig refuses a configuration that is not YAML or not of the published
// form.
func CheckConfig(text []byte) error {
	var value map[string]any
	if err := yaml.Unmarshal(text, &value); err != nil {
		return fault.New(fault.InvalidConfig, "the run's configuration is not YAML: %w", err).
			WithHint("`ramet schema run_config` prints the form")
	}
	if value == nil {
		value = map[string]any{} // an empty file
	}
	doc, err := json.Marshal(value)
	if err != nil {
		return fault.New(fault.InvalidConfig, "the run's configuration: %w", err)
	}
	return checkForm("run_config", runConfig, fault.InvalidConfig, doc)
}

// Config holds the settings that a run was started with and that the engine needs. The file may contain
// others.
type Config struct {
	Recipe  string             `yaml:"recipe"`                // its name
	Text    string             `yaml:"recipe_text,omitempty"` // the recipe itself, as it was at the start
	Model   string             `yaml:"model,omitempty"`       // vendor/name; empty: the configured one
	Set     map[string]string  `yaml:"set,omitempty"`
	NoCache bool               `yaml:"no_cache,omitempty"` // models are asked anew, also when it is resumed
	Limits  map[string]float64 `yaml:"limits,omitempty"`   // instead of the recipe's
}

// Format gives the text of run_config.yaml.
func (c Config) Format() ([]byte, error) {
	text, err := yaml.Marshal(c)
	if err != nil {
		return nil, fault.New(fault.InvalidConfig, "write the run's configuration: %w", err)
	}
	return text, CheckConfig(text)
}

// Config reads the configuration of a run.
func (s *Store) Config(runID string) (Config, error) {
	files, err := s.OpenFiles(runID)
	if err != nil {
		return Config{}, err
	}
	defer files.Close()
	text, err := files.Read(configFile)
	if err != nil {
		return Config{}, err
	}
	c, err := ParseConfig(text)
	if f, ok := fault.Of(err); ok {
		return c, fault.New(f.Code, "run %s: %s", runID, f.Message).WithHint("%s", f.Hint)
	}
	return c, err
}

// ParseConfig reads the text of run_config.yaml.
func ParseConfig(text []byte) (Config, error) {
	var c Config
	if err := yaml.Unmarshal(text, &c); err != nil {
		return Config{}, fault.New(fault.InvalidConfig, "read the run's configuration: %w", err)
	}
	if c.Text == "" {
		return Config{}, fault.New(fault.InvalidConfig, "it contains no recipe: it was made by `ramet run init`").
			WithHint("only runs of `ramet run start` can be carried out; this one belongs to the program that appends to it")
	}
	return c, nil
}

// Status is the status of a run in one word, on every face.
type Status string

// The statuses.
const (
	Running   Status = "running"   // a process carries it out
	Stopped   Status = "stopped"   // no process does, and it is not over: a resume continues it
	Done      Status = "done"      //
	Failed    Status = "failed"    // reopened with --from-failed
	Cancelled Status = "cancelled" //
	Kept      Status = "kept"      // the log of another program, which carries out itself what it says
)

// RunStatus is the status of a run, in addition to its state.
type RunStatus struct {
	Status Status
	Reason string // why it failed or stopped, CODE: message; empty: unknown
}

// StatusOf finds the status of a run from its snapshot. It is running if it cannot be opened for
// appending because a process carries it out.
func (s *Store) StatusOf(ctx context.Context, n run.Snapshot) RunStatus {
	switch n.RunState {
	case run.Done:
		return RunStatus{Status: Done}
	case run.Cancelled:
		return RunStatus{Status: Cancelled}
	case run.Failed:
		if n.Failure != nil {
			return RunStatus{Failed, n.Failure.Code + ": " + n.Failure.Message}
		}
		return RunStatus{Status: Failed}
	}
	if s.isCarriedOut(ctx, n.RunID) {
		return RunStatus{Status: Running}
	}
	if _, err := s.Config(n.RunID); err != nil {
		return RunStatus{Status: Kept}
	}
	out := RunStatus{Status: Stopped}
	for _, item := range run.LatestAttempts(n.WorkItems) {
		if item.Status == run.ItemFailed && item.Error != nil {
			out.Reason = item.Error.Code + ": " + item.Error.Message
		}
	}
	return out
}

// isCarriedOut reports whether a process holds the lock of a run's log, or lives and lost it.
func (s *Store) isCarriedOut(ctx context.Context, runID string) bool {
	kind, err := s.kind(runID, "")
	if err != nil {
		return false
	}
	if err := s.needOrphan(ctx, runID, kind); err != nil {
		return fault.Is(err, fault.Locked)
	}
	w, _, err := s.Logs.OpenWriter(ctx, kind, s.Dir(runID), runID)
	if err == nil {
		w.Close() // nothing was written
	}
	return fault.Is(err, fault.Locked)
}

// published is one schema, and how it is made.
type published struct {
	name, title, description string

	body func() map[string]any
}

var all = sync.OnceValue(func() []published {
	return []published{
		{"event", "Event of a run", "One line of events.ndjson. Lines are in RFC 8785 form; event_hash is the SHA-256 of " +
			"event_id, ts, type, payload and prev_hash, one after the other. Types that are not listed here have any payload.", eventSchema},
		{"issue", "Issue of a run", "Something that a gate found, as the snapshot keeps it.", func() map[string]any { return run.IssueShape().Schema() }},
		{"recipe", "Recipe of a run", "What a run does in each of its states, for editors: YAML that is read as JSON. `ramet run recipe FILE` " +
			"looks at more: who makes which input, circles, templates.", func() map[string]any { return recipe.Shape().Schema() }},
		{"run_config", "Configuration of a run", "What a run is asked to do. It is copied when the run is made; members that " +
			"are not listed here belong to the recipe.", runConfig.Schema},
		{"snapshot", "Snapshot of a run", "What the first event_count events of a run amount to: a cache, always equal to their replay.", func() map[string]any { return run.SnapshotShape().Schema() }},
	}
})

// SchemaNames lists the schemas, sorted.
func SchemaNames() []string {
	names := make([]string, len(all()))
	for i, p := range all() {
		names[i] = p.name
	}
	return names
}

// MakeSchema returns the text of a schema: two spaces, sorted keys, a line feed at the end.
func MakeSchema(name string) ([]byte, error) {
	at := slices.Index(SchemaNames(), name)
	if at < 0 {
		return nil, fault.New(fault.NotFound, "no schema %.60q", name).
			WithHint("%s", text.NearestHint(name, SchemaNames(), "there are "+strings.Join(SchemaNames(), ", ")))
	}
	p := all()[at]
	doc := p.body()
	doc["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	// The number of the $id grows when documents that were good are not good any more.
	doc["$id"], doc["title"], doc["description"] = "urn:ramet:schema:"+p.name+":1", p.title, p.description
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return nil, fmt.Errorf("encode schema %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// eventSchema returns the form of all events, and for each type the form of its payload.
func eventSchema() map[string]any {
	doc := run.EventShape().Schema()
	var rules []any
	for _, t := range run.Types() {
		payload, known := run.PayloadShape(t)
		if !known {
			continue
		}
		rules = append(rules, map[string]any{
			"if":   map[string]any{"properties": map[string]any{"type": map[string]any{"const": string(t)}}, "required": []string{"type"}},
			"then": map[string]any{"properties": map[string]any{"payload": payload.Schema()}},
		})
	}
	doc["allOf"] = rules
	return doc
}

// runConfig is the part of a run's configuration that every recipe understands.
var runConfig = shape.Open(
	shape.May("recipe", shape.Text(1).With("The name of a recipe, or the path of its file.")),
	shape.May("inputs", shape.List(shape.Open(
		shape.Must("name", shape.Text(1)),
		shape.Must("url", shape.Text(1)),
		shape.May("commit", shape.Text(1).With("Pins the input; without it, the newest commit when the run begins."))))),
	shape.May("limits", shape.Map(shape.Number(0, 1<<53-1)).With("Budgets by name.")),
	shape.May("set", shape.Map(shape.Text(0)).With("Values for the recipe.")),
)

// CheckSnapshot refuses a JSON document that is no snapshot of the published form. A refusal wraps a
// *shape.Error with the place.
func CheckSnapshot(doc []byte) error {
	return checkForm("snapshot", run.SnapshotShape(), fault.InvalidEvent, doc)
}

func checkForm(name string, form *shape.Shape, code fault.Code, doc []byte) error {
	if err := form.Check(doc); err != nil {
		return fault.New(code, "%s: %w", name, err).WithHint("`ramet schema %s` prints the form", name)
	}
	return nil
}
