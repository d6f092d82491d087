package app

import (
	"context"
	"net/http"
	"sync"

	"ramet/internal/base/id"
	"ramet/internal/face/mcpserver"
)

// ownTools answers what the programs of a kernel's agents ask of ramet: each is its agent, as the
// door through which it came tells. nil: there is no command line to ask.
func ownTools(life context.Context, r request) func(http.ResponseWriter, *http.Request, id.Agent) {
	if r.Workspace.Command == nil {
		return nil
	}
	serve := sync.OnceValues(func() (*mcpserver.Server, error) {
		runs, err := r.Workspace.RunStore()
		if err != nil {
			return nil, err
		}
		return mcpserver.New(life, mcpserver.Options{Version: version, Workspace: r.Workspace, Command: r.Workspace.Command, Runs: runs}), nil
	})
	return func(w http.ResponseWriter, q *http.Request, by id.Agent) {
		server, err := serve()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		server.ServeMCP(w, q, by)
	}
}
