package httpapi

import (
	"encoding/json"
	"net/http"

	"ramet/internal/operation"
	"ramet/internal/run"
)

// runLogs are the routes of runs; without their logs they find nothing.
type runLogs struct {
	logs  operation.RunLogs
	verbs RunVerbs
}

func (l runLogs) routes() []Route {
	const one = "/api/v1/run-logs/{run_id}"
	doc := func(id, summary string, query ...Param) Doc {
		return Doc{ID: id, Tag: "run logs", Summary: summary, Query: query}
	}
	get := func(path string, d Doc) Route { return Route{Method: http.MethodGet, Path: path, Doc: d} }
	return []Route{
		Does(get("/api/v1/run-logs", doc("listRunLogs", "List orchestrated runs")), http.StatusOK, l.list),
		Does(get(one, doc("getRunLog", "Get the snapshot of a run")), http.StatusOK, l.snapshot),
		Does(get(one+"/snapshot", doc("getSnapshot", "Get the snapshot of a run")), http.StatusOK, l.snapshot),
		Does(get(one+"/events", doc("getEvents", "Get events of a run, in order",
			Param{Name: "after", Form: "integer", About: "how many to leave out; next of the page before"},
			Param{Name: "limit", Form: "integer", About: "1 to 1000; 100 if absent"})), http.StatusOK, l.events),
		Does(get(one+"/verify", doc("verifyRunLog", "Check the log of a run: links, hashes, meaning, checkpoints")), http.StatusOK, l.verify),
		Does(Route{Method: http.MethodPost, Path: "/api/v1/run-logs", Limit: recordBody, Doc: doc("startRun", "Start a run of a recipe; it goes on in a process of its own")},
			http.StatusAccepted, l.start),
		Does(Route{Method: http.MethodPost, Path: one + "/resume", Doc: doc("resumeRun", "Go on with a run where its log ends, in a process of its own")},
			http.StatusAccepted, l.resume),
		Does(Route{Method: http.MethodPost, Path: one + "/cancel", Doc: doc("cancelRun", "End a run for good, wherever it is carried out")},
			http.StatusOK, l.cancel),
		Does(Route{Method: http.MethodPost, Path: one + "/fork", Doc: doc("forkRun", "Make a run that continues another from one of its events")},
			http.StatusCreated, l.fork),
	}
}

// find checks the id before anything is done with it: it becomes a path.
func (l runLogs) find(c *Call) (operation.RunLogs, string, error) {
	if l.logs == nil {
		return nil, "", notHere("run logs")
	}
	runID := c.Param("run_id")
	return l.logs, runID, run.CheckRunID(runID)
}

func (l runLogs) list(c *Call, _ None) (operation.RunList, error) {
	if l.logs == nil {
		return operation.RunList{}, notHere("run logs")
	}
	runs, err := l.logs.List(c.Context())
	if runs == nil {
		runs = []operation.RunLog{}
	}
	return operation.RunList{Runs: runs}, err
}

func (l runLogs) snapshot(c *Call, _ None) (json.RawMessage, error) {
	logs, runID, err := l.find(c)
	if err != nil {
		return nil, err
	}
	return logs.Snapshot(c.Context(), runID)
}

func (l runLogs) events(c *Call, _ None) (operation.EventPage, error) {
	logs, runID, err := l.find(c)
	if err != nil {
		return operation.EventPage{}, err
	}
	after, err := c.Number("after", 0, 1<<53, 0)
	if err != nil {
		return operation.EventPage{}, err
	}
	limit, err := c.Number("limit", 1, 1000, 100)
	if err != nil {
		return operation.EventPage{}, err
	}
	events, err := logs.Events(c.Context(), runID, after, limit)
	if events == nil {
		events = []json.RawMessage{}
	}
	return operation.EventPage{Events: events, Next: after + int64(len(events))}, err
}

func (l runLogs) verify(c *Call, _ None) (operation.RunProof, error) {
	logs, runID, err := l.find(c)
	if err != nil {
		return operation.RunProof{}, err
	}
	return logs.Verify(c.Context(), runID)
}
