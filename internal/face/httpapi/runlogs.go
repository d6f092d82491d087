package httpapi

import "net/http"

// runLogs are the routes that carry out runs.
type runLogs struct{ verbs RunVerbs }

func (l runLogs) routes() []Route {
	const one = "/api/v1/run-logs/{run_id}"
	doc := func(id, summary string) Doc { return Doc{ID: id, Tag: "run logs", Summary: summary} }
	return []Route{
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
