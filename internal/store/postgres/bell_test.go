package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/store"
	"ramet/internal/store/database"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
	"ramet/internal/testkit/storetest"
)

// listener is somebody who listens at another handle of a workspace.
type listener struct {
	t     *testing.T
	rings chan registry.Ring
}

func listen(t *testing.T, s *store.Store) *listener {
	t.Helper()
	l := &listener{t, make(chan registry.Ring, 64)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Listen(ctx, func(r registry.Ring) { l.rings <- r }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("listen: %v", err)
		}
	})
	l.wants(registry.Ring{})
	return l
}

// wants waits for exactly these rings, in this order.
func (l *listener) wants(rings ...registry.Ring) {
	l.t.Helper()
	for _, want := range rings {
		select {
		case got := <-l.rings:
			if got != want {
				l.t.Fatalf("rang %+v, want %+v", got, want)
			}
		case <-l.t.Context().Done():
			l.t.Fatalf("no ring, want %+v", want)
		}
	}
}

func mailFor(a id.Agent) registry.Ring    { return registry.Ring{Agent: a, What: registry.RingMail} }
func killedRing(a id.Agent) registry.Ring { return registry.Ring{Agent: a, What: registry.RingKilled} }

func TestTheBellRingsForMailAndKills(t *testing.T) {
	w := fresh(t)
	here := testkit.Must(w.Open())(t)
	defer here.Close()
	there := testkit.Must(w.Open())(t)
	defer there.Close()
	elsewhere, _, _ := openFresh(t) // another schema of the same database
	strangers := listen(t, elsewhere)
	l := listen(t, there)

	zero := testkit.Must(here.Zero(t.Context()))(t)
	kid := fork(t, here, zero.ID)
	send := func(s registry.Send) error {
		_, err := here.Send(t.Context(), s)
		return err
	}
	testkit.OK(t, send(registry.Send{To: kid.ID, Body: "from the user"}))
	l.wants(mailFor(kid.ID))
	testkit.OK(t, send(registry.Send{From: kid.ID, To: zero.ID, Body: "from an agent"}))
	l.wants(mailFor(zero.ID))
	// What is refused rings for nobody: the next ring is the next letter's.
	if err := send(registry.Send{From: zero.ID, Claim: agent.Held("x", 9), To: kid.ID, Body: "refused"}); err == nil {
		t.Fatal("a stale claim was taken")
	}
	testkit.OK(t, send(registry.Send{From: kid.ID, To: kid.ID, Body: "to itself"}))
	l.wants(mailFor(kid.ID))
	// Other verbs do not ring.
	testkit.Must(here.Append(t.Context(), kid.ID, agent.Passing(), history.Draft{Kind: history.Note}))(t)
	testkit.Must(here.Kill(t.Context(), registry.Kill{Agent: kid.ID}))(t)
	l.wants(killedRing(kid.ID))
	if again, err := here.Kill(t.Context(), registry.Kill{Agent: kid.ID}); err != nil || !again.Before {
		t.Fatal(again, err)
	}

	// A cascade of more than one payload holds.
	top := fork(t, here, zero.ID)
	kids := make([]registry.Child, 2*maxRung+1)
	for i := range kids {
		kids[i].ID = id.NewAgent()
	}
	testkit.Must(here.Fork(t.Context(), registry.Fork{Parent: top.ID, Children: kids}))(t)
	killed := make(chan registry.Killed, 1)
	go func() {
		k, err := here.Kill(context.Background(), registry.Kill{Agent: top.ID, Cascade: true})
		if err != nil {
			t.Error(err)
		}
		killed <- k
	}()
	want := []id.Agent{top.ID}
	for _, k := range kids {
		want = append(want, k.ID)
	}
	var got []id.Agent
	for range want {
		r := <-l.rings
		if r.What != registry.RingKilled {
			t.Fatalf("%+v", r)
		}
		got = append(got, r.Agent)
	}
	if k := <-killed; len(k.Victims) != len(want) {
		t.Errorf("%d victims", len(k.Victims))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the bell named %d victims of %d", len(got), len(want))
	}
	// Nobody else heard anything.
	other := testkit.Must(elsewhere.Zero(t.Context()))(t)
	testkit.Must(elsewhere.Send(t.Context(), registry.Send{To: other.ID, Body: "hello"}))(t)
	strangers.wants(mailFor(other.ID))
}

func TestTheBellSurvivesALostConnection(t *testing.T) {
	s, raw, zero := openFresh(t)
	l := listen(t, s)
	for range 3 {
		var cut int
		if err := raw.QueryRow(`SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = $1) AS cut`,
			`LISTEN "`+channelOf(schemaOf(t, s))+`"`).Scan(&cut); err != nil || cut < 1 { // one that was cut before may still be going
			t.Fatalf("%d connections cut, %v", cut, err)
		}
		l.wants(registry.Ring{}) // look yourself: it may have missed something
		testkit.Must(s.Send(t.Context(), registry.Send{To: zero, Body: "after"}))(t)
		l.wants(mailFor(zero))
	}
}

// schemaOf reads the schema's name off the description of a store.
func schemaOf(t *testing.T, s *store.Store) string {
	t.Helper()
	d := testkit.Must(s.Describe(t.Context()))(t)
	_, schema, ok := strings.Cut(d.Place, ", schema ")
	if !ok {
		t.Fatalf("no schema in %q", d.Place)
	}
	return schema
}

func TestABellThatCannotBeginSaysSo(t *testing.T) {
	pg := testkit.Must(database.ParsePostgres("postgres://127.0.0.1:1/nowhere"))(t)
	s := store.New(nil, nil, &dialect{config: pg.Config, schema: pg.Schema, place: pg.Place}, nil)
	err := s.Listen(t.Context(), func(r registry.Ring) { t.Errorf("rang %+v", r) })
	if !fault.Is(err, fault.StorageUnreachable) {
		t.Errorf("%v", err)
	}
}

func TestPayloadsFitAndComeBack(t *testing.T) {
	for _, n := range []int{0, 1, 2, maxRung, maxRung + 1, 3*maxRung + 5} {
		agents := make([]id.Agent, n)
		var want []registry.Ring
		for i := range agents {
			agents[i] = id.NewAgent()
			want = append(want, killedRing(agents[i]))
		}
		var got []registry.Ring
		for _, p := range ringPayloads(registry.RingKilled, agents) {
			if len(p) >= 8000 {
				t.Errorf("a payload of %d bytes", len(p))
			}
			got = append(got, parseRings(p)...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d agents came back as %d", n, len(got))
		}
	}
	for _, schema := range []string{"ramet", strings.Repeat("s", 63), `a"b`} {
		if c := channelOf(schema); len(c) > 63 || c == channelOf(schema+"x") {
			t.Errorf("channel %s", c)
		}
	}
}

// Anybody may notify; nothing but our own payloads names agents.
func FuzzRings(f *testing.F) {
	a := id.NewAgent()
	for _, seed := range []string{"", " ", "mail", "mail ", "mail " + string(a), "killed " + string(a) + " " + string(a),
		"born " + string(a), "mail  " + string(a), "mail " + string(a) + " ", "mail\n" + string(a), "mail x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, payload string) {
		got := parseRings(payload)
		if len(got) == 1 && got[0] == (registry.Ring{}) {
			return
		}
		back := []string{got[0].What}
		for _, r := range got {
			if _, err := id.ParseAgent(string(r.Agent)); err != nil || r.What != got[0].What {
				t.Fatalf("%q rings %+v", payload, r)
			}
			back = append(back, string(r.Agent))
		}
		if again := strings.Join(back, " "); again != payload || !slices.Contains([]string{registry.RingMail, registry.RingKilled}, got[0].What) {
			t.Fatalf("%q is read as %q", payload, again)
		}
	})
}

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func fresh(tb testing.TB) *storetest.Workspace {
	address := pgtest.URL(tb)
	return &storetest.Workspace{
		Open: func() (*store.Store, error) {
			return Open(context.Background(), address, Options{Cwd: "/where/it/began", Export: sqlite.Export})
		},
		OpenFile: func(path string) (*store.Store, error) {
			return sqlite.Open(context.Background(), path, sqlite.Options{})
		},
		Raw: func(tb testing.TB) *sql.DB {
			pg := testkit.Must(database.ParsePostgres(address))(tb)
			pg.Config.RuntimeParams["synchronous_commit"] = "off"
			db := stdlib.OpenDB(*pg.Config)
			tb.Cleanup(func() { db.Close() })
			return db
		},
		Loosen: []string{loosen},
	}
}

// loosen takes away everything that keeps an owner of the tables from writing
// nonsense into them.
const loosen = `DO $$
DECLARE r record;
BEGIN
	FOR r IN SELECT c.conname, c.conrelid::regclass AS tab FROM pg_constraint c
		WHERE c.connamespace = current_schema()::regnamespace ORDER BY c.contype LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I CASCADE', r.tab, r.conname);
	END LOOP;
	FOR r IN SELECT table_name, column_name FROM information_schema.columns
		WHERE table_schema = current_schema() AND is_nullable = 'NO' LOOP
		EXECUTE format('ALTER TABLE %I ALTER COLUMN %I DROP NOT NULL', r.table_name, r.column_name);
	END LOOP;
	DROP INDEX agents_living_name;
	DROP INDEX agents_zero;
END $$`

func TestConformance(t *testing.T) { storetest.Run(t, fresh) }

func TestConformanceSoak(t *testing.T) {
	testkit.SoakOnly(t)
	TestConformance(t)
}

// A schema of format 1: the tables as the first migration makes them, with the
// rows of the file that ramet wrote then.
func TestAWorkspaceOfFormat1(t *testing.T) {
	address := pgtest.URL(t)
	pg := testkit.Must(database.ParsePostgres(address))(t)
	db := stdlib.OpenDB(*pg.Config)
	defer db.Close()
	steps := testkit.Must(store.Migrations(migrations))(t)
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	exec(`CREATE SCHEMA ` + pgx.Identifier{pg.Schema}.Sanitize())
	exec(steps[0])
	exec(`CREATE TABLE ramet_schema (version BIGINT NOT NULL)`)
	exec(`INSERT INTO ramet_schema VALUES (1)`)

	file := testkit.Must(sql.Open("sqlite", storetest.Format1(t)))(t)
	defer file.Close()
	for _, table := range []string{"agents", "messages", "mail", "blobs", "blob_refs"} {
		rows := testkit.Must(file.QueryContext(t.Context(), `SELECT * FROM `+table+` ORDER BY 1`))(t)
		columns := testkit.Must(rows.Columns())(t)
		row, into, marks := make([]any, len(columns)), make([]any, len(columns)), make([]string, len(columns))
		for i := range row {
			into[i], marks[i] = &row[i], fmt.Sprintf("$%d", i+1)
		}
		for rows.Next() {
			testkit.OK(t, rows.Scan(into...))
			exec(`INSERT INTO `+table+` (`+strings.Join(columns, ", ")+`) VALUES (`+strings.Join(marks, ", ")+`)`, row...)
		}
		testkit.OK(t, rows.Err())
		rows.Close()
	}
	exec(`UPDATE messages SET content = '' WHERE salt IS NOT NULL AND content IS NULL`) // empty: the driver says NULL for both
	exec(`SELECT setval('message_ids', (SELECT max(id) FROM messages)), setval('letter_ids', (SELECT max(id) FROM mail))`)
	storetest.RunFormat1(t, &storetest.Workspace{Open: func() (*store.Store, error) {
		return Open(context.Background(), address, Options{})
	}})
}
